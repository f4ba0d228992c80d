"""A real run that leaves a trace of what it played and what its KL divergence was measured from.

As a program it trains in a process of its own, which may be killed:
``python -m tests.trainers.watched OUT BASE NAME STEPS [TRAP]``. A TRAP is how a file's name begins: when
a checkpoint after the first is being saved and comes to that file, the process kills itself.
"""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from arena.store import Registration, Store
from tests.trainers.small_run import CPU, prepared_for, recipe_for
from trainers.prepare import Prepared
from trainers.run import Finished, train
from trainers.run import Run as Training
from trainers.run_folder import resumed
from trainers.telling import Tell, silent

TRACE, DATABASE = "trace.jsonl", "arena.db"


class Run:
    """A run as it stands, on disk and in the record."""

    def __init__(self, out: Path, name: str) -> None:
        self.out, self.folder = out, out / name
        with Store.open(str(out / DATABASE)) as store:
            self.agents = store.registrations()
            self.record = {run.name: run for run in store.training_runs()}[name]
            self.steps = store.training_steps(name)

    def agent(self, name: str) -> Registration:
        """Return the one agent of this name."""
        (found,) = [agent for agent in self.agents if agent.name == name]
        return found

    def measured(self) -> list[tuple[int, dict[str, float]]]:
        """Return the steps without what depends on the clock."""
        timed = ("seconds",)
        return [(n, {k: v for k, v in step.items() if k not in timed}) for n, step in self.steps]

    def trace(self) -> list[dict[str, Any]]:
        """Return what :func:`run` wrote of every step."""
        path = self.folder / TRACE
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def digest(model: Any) -> str:
    """Return a hash of a model's weights in memory."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode() + tensor.cpu().numpy().tobytes())
    return found.hexdigest()


def run(
    out: Path,
    name: str,
    prepared: Prepared | None = None,
    progress: Tell = silent,
) -> Finished:
    """Train `prepared`, or go on with the run where it is None.

    Every step adds a line to the run's trace: the numbers of its cells, the hash of the reference's
    weights before it, and what was answered.
    """
    import torch

    import trainers.grpo
    import trainers.run

    torch.set_num_threads(1)
    folder, made = out / name, []
    trainer_of, roll_out = trainers.run.trainer_of, trainers.grpo.roll_out

    def kept(*args: Any) -> Any:
        made[:] = [trainer_of(*args)]
        return made[0]

    def traced(cells: Any, *args: Any) -> Any:
        episodes = roll_out(cells, *args)
        ids = json.dumps([episode.completion_ids for episode in episodes])
        line = {
            "cells": [cell.number for cell in cells],
            "anchor": digest(made[0][0].ref_model),
            "answers": hashlib.sha256(ids.encode()).hexdigest(),
        }
        with (folder / TRACE).open("a") as file:
            print(json.dumps(line), file=file)
        return episodes

    resume = prepared is None
    with (
        patch("trainers.run.trainer_of", kept),
        patch("trainers.grpo.roll_out", traced),
        Store.open(str(out / DATABASE)) as store,
    ):
        found = resumed(folder) if prepared is None else prepared
        return train(Training(found, CPU, out, name, store, progress), resume=resume)


def _set(trap: str) -> None:
    """Kill this process when a checkpoint after the first comes to the file `trap`."""
    seen: set[str] = set()

    def opened(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and f"/{trap}" in str(args[0]) and "checkpoint-" in str(args[0]):
            seen.add(str(args[0]))
            if len(seen) > 1:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(opened)


if __name__ == "__main__":
    out, base, name, steps, *traps = sys.argv[1:]
    for found in traps:
        _set(found)
    run(Path(out), name, prepared_for(recipe_for(base, steps=int(steps))))
