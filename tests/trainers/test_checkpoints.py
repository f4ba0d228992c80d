"""Checkpoints on disk: what counts as whole, what is passed over, and what is deleted."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from agents.local.weights import WeightsError, weights_hash
from arena.errors import UserError
from trainers.checkpoints import (
    MARK,
    Checkpoint,
    clear,
    last_step,
    mark,
    newest,
    prune,
    saved,
    write_json,
)

LIGHT = {"config.json": b"{}", "tokenizer.json": b'{"t": 1}', "model.safetensors": b"w" * 4000}
STATE = {"optimizer.pt": b"o" * 900, "rng_state.pth": b"r" * 80, "scheduler.pt": b"s" * 8}


def write(run: Path, step: int, *, whole: bool = True, log: str = '{"log_history": []}') -> Path:
    """Write a checkpoint as the trainer does, with a mark where it is whole."""
    folder = run / f"checkpoint-{step}"
    (folder / "global_step").mkdir(parents=True)
    for name, content in (LIGHT | STATE | {"global_step/rank_0.pt": b"z" * 70}).items():
        (folder / name).write_bytes(content + str(step).encode())
    (folder / "trainer_state.json").write_text(log)
    if whole:
        mark(folder)
    return folder


def test_only_marked_checkpoints_count_and_steps_are_numbers(tmp_path: Path) -> None:
    for step in (100, 20, 9):
        write(tmp_path, step)
    write(tmp_path, 120, whole=False)
    (tmp_path / "checkpoint-best").mkdir()
    (tmp_path / "checkpoint-7").write_text("a file")
    assert [found.step for found in saved(tmp_path)] == [9, 20, 100]
    assert last_step(tmp_path) == 100
    assert newest(tmp_path) == Checkpoint(100, tmp_path / "checkpoint-100")


def test_a_run_without_checkpoints_goes_on_from_the_beginning(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    assert last_step(tmp_path) == 0
    assert clear(tmp_path, ()) == []
    assert saved(tmp_path / "nowhere") == []


def test_half_written_checkpoints_are_cleared_and_others_are_not(tmp_path: Path) -> None:
    whole, half = write(tmp_path, 4), write(tmp_path, 6, whole=False)
    other = tmp_path / "checkpoint-best"
    other.mkdir()
    assert clear(tmp_path, ()) == [6]
    assert not half.exists()
    assert other.exists()
    assert newest(tmp_path) == Checkpoint(4, whole)


def test_weights_of_an_agent_are_never_deleted(tmp_path: Path) -> None:
    """A folder that was whole when its agent was registered, and has lost its mark since."""
    lost, half = write(tmp_path, 4, whole=False), write(tmp_path, 2, whole=False)
    with pytest.raises(UserError, match=f"checkpoint-4 was whole when {tmp_path.name}-4 was registered"):
        clear(tmp_path, {f"{tmp_path.name}-4"})
    assert lost.is_dir()
    assert half.is_dir()


@pytest.mark.parametrize("content", ["", "{", "{}", "[]"])
def test_a_damaged_mark_is_a_mistake_with_a_remedy(content: str, tmp_path: Path) -> None:
    folder = write(tmp_path, 4)
    (folder / MARK).write_text(content)
    with pytest.raises(UserError, match=r"put it back, or move .*checkpoint-4 away"):
        newest(tmp_path)
    with pytest.raises(UserError, match="put it back"):
        _ = Checkpoint(4, folder).weights


def test_a_draft_of_the_mark_is_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, 4, whole=False)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trainers.checkpoints.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        mark(folder)
    assert saved(tmp_path) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("name", [*LIGHT, *STATE, "global_step/rank_0.pt"])
def test_a_file_that_is_gone_or_shorter_is_noticed(tmp_path: Path, name: str) -> None:
    write(tmp_path, 2)
    folder = write(tmp_path, 4)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(UserError, match=r"checkpoint-4 is not as it was saved.*move the folder away"):
        newest(tmp_path)
    (folder / name).unlink()
    with pytest.raises(UserError):
        newest(tmp_path)
    (folder / name).write_bytes(content)
    assert newest(tmp_path) == Checkpoint(4, folder)
    shutil.rmtree(folder)
    assert newest(tmp_path) == Checkpoint(2, tmp_path / "checkpoint-2")


def test_one_changed_byte_of_the_weights_is_noticed(tmp_path: Path) -> None:
    folder = write(tmp_path, 4)
    before, weights = weights_hash(folder), folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[Random(1).randrange(len(content))] ^= 1
    weights.write_bytes(content)
    assert weights_hash(folder) != before
    assert Checkpoint(4, folder).weights == before
    with pytest.raises(UserError):
        newest(tmp_path)


def test_a_copied_folder_holds_the_same_weights(tmp_path: Path) -> None:
    folder = write(tmp_path / "here", 4)
    copy = Path(shutil.copytree(folder, tmp_path / "there" / "checkpoint-4"))
    assert weights_hash(copy) == weights_hash(folder)
    assert Checkpoint(4, copy).resumable


def test_what_cannot_be_played_is_not_marked(tmp_path: Path) -> None:
    folder = write(tmp_path, 4, whole=False)
    (folder / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="safetensors"):
        mark(folder)
    assert saved(tmp_path) == []


def test_pruning_keeps_all_weights_and_the_newest_two_states(tmp_path: Path) -> None:
    folders = [write(tmp_path, step) for step in (2, 4, 6, 8)]
    hashes = [weights_hash(folder) for folder in folders]
    prune(tmp_path)
    prune(tmp_path)
    assert [weights_hash(folder) for folder in folders] == hashes
    assert [found.weights for found in saved(tmp_path)] == hashes
    assert [found.resumable for found in saved(tmp_path)] == [False, False, True, True]
    kept = {path.name for path in folders[0].iterdir()}
    assert kept == {*LIGHT, "trainer_state.json", MARK}
    assert newest(tmp_path) == Checkpoint(8, folders[-1])


def test_the_log_of_a_checkpoint_is_its_steps(tmp_path: Path) -> None:
    history = [{"loss": 0.1, "step": 1}, {"loss": 0.2, "step": 2}, {"train_runtime": 3.0, "step": 2}]
    folder = write(tmp_path, 2, log=json.dumps({"log_history": history}))
    assert Checkpoint(2, folder).logged() == history[:2]


def test_json_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    write_json(path, {"price": "1 €"})
    with pytest.raises(TypeError):
        write_json(path, {"price": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == {"price": "1 €"}
    assert [found.name for found in tmp_path.iterdir()] == ["recipe.json"]
