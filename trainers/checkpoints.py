"""The checkpoints of a run on disk: which are whole, which can be gone on from, and what may go.

A run's folder holds one folder a checkpoint, as the Hugging Face trainer writes them. A mark is written
into it last, once everything else is safely on disk: a folder without one was left half-written, by a
kill or a full disk, and counts for nothing. Weights are never deleted; optimizer and random states are
kept for the newest checkpoints only, because they take three times the room of the weights.
"""

import json
import os
import re
import shutil
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

from agents.local.weights import BESIDE, weights_hash
from arena.errors import UserError

MARK = "complete.json"
STATE = "trainer_state.json"
RESUMABLE = 2
"""Checkpoints whose optimizer state is kept: the newest, and one to fall back to."""
_FOLDER = re.compile(r"checkpoint-(\d+)")


class Checkpoint(NamedTuple):
    """A checkpoint that was written to its end."""

    step: int
    folder: Path

    @property
    def weights(self) -> str:
        """The hash of its weights, as they were saved."""
        return str(_read(self.folder / MARK, "weights")["weights"])

    @property
    def resumable(self) -> bool:
        """Whether a run can go on from here: all that was saved is there, the weights unchanged."""
        mark = _read(self.folder / MARK, "weights", "files")
        found = {path: path.stat().st_size for path in self.folder.rglob("*") if path.is_file()}
        whole = all(found.get(self.folder / name) == size for name, size in mark["files"].items())
        return whole and weights_hash(self.folder) == mark["weights"]

    def logged(self) -> list[dict[str, Any]]:
        """Return the metrics of all steps up to this one, as TRL logged them."""
        log = _read(self.folder / STATE, "log_history")["log_history"]
        return [entry for entry in log if "loss" in entry]


def saved(run: Path) -> list[Checkpoint]:
    """Return the checkpoints in a run's folder that were written to their end, in order of steps."""
    return sorted(
        Checkpoint(step, folder) for step, folder in _folders(run) if (folder / MARK).is_file()
    )


def last_step(run: Path) -> int:
    """Return the step of the newest checkpoint, 0 where there is none."""
    return max((checkpoint.step for checkpoint in saved(run)), default=0)


def newest(run: Path) -> Checkpoint | None:
    """Return the checkpoint that the run goes on from; None: from the beginning.

    Raises UserError where it was changed since it was saved: it is not for us to throw it away.
    """
    found = saved(run)
    if found and not found[-1].resumable:
        raise UserError(
            f"{found[-1].folder} is not as it was saved: a file is missing or was changed. Put it back, "
            "or move the folder away, and the run goes on from an earlier step"
        )
    return found[-1] if found else None


def mark(folder: Path) -> None:
    """Note that a checkpoint is complete, once all that is in it has reached the disk.

    Raises OSError where it does not, and WeightsError where there are no safetensors, which others could
    play with.
    """
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MARK]
    for path in paths:
        _sync(path)
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    write_json(folder / MARK, {"weights": weights_hash(folder), "files": files})


def clear(run: Path, registered: Container[str]) -> list[int]:
    """Delete what was left half-written; return the steps, in order.

    Raises UserError, and deletes nothing, where one of them is among the `registered` agents' names: it
    was whole once, and has lost its mark since.
    """
    broken = sorted(found for found in _folders(run) if not (found[1] / MARK).is_file())
    for step, folder in broken:
        if (name := f"{run.name}-{step}") in registered:
            raise UserError(
                f"{folder} was whole when {name} was registered and has lost its {MARK} since: put that "
                "back, or move the folder away"
            )
    for _, folder in broken:
        shutil.rmtree(folder)
    return [step for step, _ in broken]


def prune(run: Path) -> None:
    """Delete all but weights, log and mark of the checkpoints that are not among the newest."""
    for checkpoint in saved(run)[:-RESUMABLE]:
        for path in checkpoint.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif not (".safetensors" in path.name or path.name in (*BESIDE, STATE, MARK)):
                path.unlink()


def write_json(path: Path, content: Any) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        _sync(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _folders(run: Path) -> list[tuple[int, Path]]:
    found = [(_FOLDER.fullmatch(path.name), path) for path in run.glob("checkpoint-*")]
    return [(int(match[1]), path) for match, path in found if match and path.is_dir()]


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _read(path: Path, *keys: str) -> Any:
    """Return the JSON object in a file. Raises UserError where it is not whole, or lacks a key."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if lacking := [key for key in keys if key not in found]:
            raise ValueError(f"no {lacking[0]}")
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            f"{path} is missing or damaged ({error}): put it back, or move {path.parent} away"
        ) from error
    return found
