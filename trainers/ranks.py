"""Several processes train one model, each with its share of a step's dialogues: what keeps them in step.

`most`, `any` and `all_of` are collectives: all processes call them, in the same order. With one process
they return what they were given.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def launched() -> bool:
    """Return whether a launcher started this process, among others."""
    return "WORLD_SIZE" in os.environ


def processes() -> int:
    """Return how many processes were started together with this one, itself included."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def leads() -> bool:
    """Return whether this process, the first or the only one, speaks and writes for all."""
    return int(os.environ.get("RANK", "0")) == 0


class Ranks:
    """The processes of a run, by their `accelerate.Accelerator`."""

    def __init__(self, accelerator: Any) -> None:
        self._accelerator = accelerator

    def most(self, count: int) -> int:
        """Return the largest of the processes' counts."""
        if self._accelerator.num_processes == 1:
            return count
        import torch

        counts = self._accelerator.gather(torch.tensor([count], device=self._accelerator.device))
        return int(counts.max())

    def any(self, live: bool) -> bool:
        """Return whether it is so in any process."""
        return self.most(int(live)) > 0

    def all_of(self, items: Sequence[T]) -> list[T]:
        """Return the items of all processes, in the order of their ranks. They travel pickled."""
        from accelerate.utils import gather_object

        return list(gather_object(list(items)))

    def share_of(self, items: Sequence[T]) -> list[T]:
        """Return this process's share of the items of all, as :meth:`all_of` returns them; every process
        has as many."""
        share = len(items) // self._accelerator.num_processes
        start = self._accelerator.process_index * share
        return list(items[start : start + share])
