"""The weights hash: what it depends on, and what it does not."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from agents.local import weights
from agents.local.weights import WeightsError, downloaded, found_weights, is_id, weights_hash


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "checkpoint"
    found.mkdir()
    (found / "model-00001-of-00002.safetensors").write_bytes(b"abc" * 1000)
    (found / "model-00002-of-00002.safetensors").write_bytes(b"")
    (found / "config.json").write_text('{"model_type": "gemma4_text"}')
    (found / "tokenizer_config.json").write_text("{}")
    (found / "chat_template.jinja").write_text("{{ messages }}")
    (found / "optimizer.pt").write_bytes(b"state")
    return found


def test_the_hash_is_what_its_documentation_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PIECE", 1024)
    listed = []
    for name in sorted(os.listdir(folder)):
        if name != "optimizer.pt":
            content = (folder / name).read_bytes()
            pieces = [content[start : start + 1024] for start in range(0, len(content), 1024)] or [b""]
            listed.append([name, len(content), [hashlib.sha256(p).hexdigest() for p in pieces]])
    text = json.dumps(listed, separators=(",", ":"))
    assert weights_hash(folder) == hashlib.sha256(text.encode()).hexdigest()[:12]


def test_neither_place_nor_dates_nor_optimizer_count(folder: Path, tmp_path: Path) -> None:
    before = weights_hash(folder)
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    os.utime(moved / "config.json", (0, 0))
    (moved / "optimizer.pt").write_bytes(b"another state")
    (moved / "trainer_state.json").write_text("{}")
    assert weights_hash(moved) == before


@pytest.mark.parametrize("name", ["model-00001-of-00002.safetensors", "chat_template.jinja"])
def test_one_byte_counts(folder: Path, name: str) -> None:
    before = weights_hash(folder)
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    assert weights_hash(folder) != before


def test_unchanged_files_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = weights_hash(folder)
    monkeypatch.setattr(weights, "_piece", None)
    assert weights_hash(folder) == before


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("config.json", "has no config.json"),
        ("tokenizer_config.json", "has no tokenizer_config.json"),
        ("chat_template.jinja", "no chat template"),
    ],
)
def test_what_is_missing_is_named(folder: Path, missing: str, says: str) -> None:
    assert found_weights(str(folder)) == folder
    (folder / missing).unlink()
    with pytest.raises(WeightsError, match=says):
        found_weights(str(folder))


def test_no_folder_and_no_weights(tmp_path: Path) -> None:
    for gone in (tmp_path / "gone", Path("gone")):
        with pytest.raises(WeightsError, match=rf"no folder {gone}: check the path; if .*registered"):
            found_weights(str(gone))
    with pytest.raises(WeightsError, match="safetensors"):
        weights_hash(tmp_path)
    with pytest.raises(WeightsError, match="hf download nobody/nothing"):
        found_weights("nobody/nothing")


def test_an_id_is_the_folder_that_it_was_downloaded_to(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    kept = tmp_path / "cache" / "models--nobody--nothing"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("a1")
    snapshot = Path(shutil.copytree(folder, kept / "snapshots" / "a1"))
    assert downloaded("nobody/nothing") == snapshot == found_weights("nobody/nothing")
    for tensors in snapshot.glob("*.safetensors"):  # as where only its tokenizer was ever asked for
        tensors.unlink()
    for absent in ("nobody/nothing", "nobody/at-all", "nobody/not--a--name"):
        assert downloaded(absent) is None
        with pytest.raises(WeightsError, match=f"was not downloaded: hf download {absent}"):
            found_weights(absent)


def test_ids(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_id("google/gemma-4-E4B-it")
    monkeypatch.chdir(folder.parent.parent)
    for path in (str(folder), "./a/b", "~/a", "a/b/c", "model", f"{folder.parent.name}/checkpoint"):
        assert not is_id(path)
