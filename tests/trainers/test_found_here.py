"""What a machine tells of itself: GPUs by the driver's tool, models by their files."""

import json
from pathlib import Path

import pytest

from trainers.gpus import Gpu, gpus_found
from trainers.on_disk import described, here, offline


def answering(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put an `nvidia-smi` first on the path that runs `script`."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


TWO = "echo 'NVIDIA H200, 143771'; echo 'NVIDIA H100 80GB HBM3, 81559'"


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (None, ["NVIDIA H200", "NVIDIA H100 80GB HBM3"]),
        ("1", ["NVIDIA H100 80GB HBM3"]),
        ("1,0", ["NVIDIA H100 80GB HBM3", "NVIDIA H200"]),
        ("", []),
        ("-1", []),
        ("0,7,1", ["NVIDIA H200"]),
        ("GPU-8932f937", ["NVIDIA H200"]),
    ],
)
def test_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None, names: list[str]
) -> None:
    answering(tmp_path, monkeypatch, TWO)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert [gpu.name for gpu in gpus_found()] == names


def test_memory_is_in_gb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """81,559 MiB are 85.5 GB."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    answering(tmp_path, monkeypatch, "echo 'X, Y, 81559'; echo 'Z, [N/A]'")
    assert gpus_found() == [Gpu("X, Y", pytest.approx(85.52, abs=0.01))]


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'", "echo"])
def test_a_driver_that_does_not_answer_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    answering(tmp_path, monkeypatch, script)
    assert gpus_found() == []
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert gpus_found() == []


@pytest.fixture(params=["E-series", "conventional"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, object]:
    """A tiny model on disk with what a conversation needs, and the model itself."""
    pytest.importorskip("transformers")
    from trainers.tiny import model_of

    model = model_of(request.param, 64, 0)
    model.save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    return tmp_path, model


def test_a_model_is_described_as_transformers_counts_it(saved: tuple[Path, object]) -> None:
    folder, model = saved
    found = described(str(folder))
    assert found is not None
    config = model.config  # type: ignore[attr-defined]
    # Beside its parameters a layer stores one scale.
    stored = model.num_parameters() + config.num_hidden_layers  # type: ignore[attr-defined]
    assert found.total_params == found.trainable_params == stored
    assert (found.layers, found.hidden) == (config.num_hidden_layers, config.hidden_size)
    assert found.vocabulary == 64
    assert found.model_class == "Gemma4ForCausalLM"
    series = found.architecture == "E-series"
    assert series == bool(config.hidden_size_per_layer_input)
    assert (found.effective_params < found.total_params) == series
    assert here(str(folder))


def test_encoders_are_not_trained(saved: tuple[Path, object]) -> None:
    from safetensors.numpy import load_file, save_file

    folder, _ = saved
    weights = load_file(folder / "model.safetensors")
    whole = described(str(folder))
    renamed = {
        ("model.vision_tower.x" if name.endswith("0.mlp.up_proj.weight") else name): value
        for name, value in weights.items()
    }
    save_file(renamed, folder / "model.safetensors")
    found = described(str(folder))
    assert found is not None
    assert whole is not None
    assert found.total_params == whole.total_params
    assert 0 < found.trainable_params < found.total_params


@pytest.mark.parametrize("broken", ["config.json", "model.safetensors"])
def test_what_cannot_be_read_is_not_described(saved: tuple[Path, object], broken: str) -> None:
    folder, _ = saved
    (folder / broken).write_bytes(b"\x05\0\0\0\0\0\0\0notjs")
    assert described(str(folder)) is None


def test_nothing_is_described_that_is_not_here(tmp_path: Path) -> None:
    assert described(str(tmp_path)) is None
    assert described("nobody/nothing-of-the-kind") is None
    assert not here("nobody/nothing-of-the-kind")
    assert isinstance(offline(), bool)
