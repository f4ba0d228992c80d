"""Several processes train one model, each with its share of a step's dialogues: what keeps them in step.

Every method is a collective: all processes call it, in the same order. With one process it returns what
it was given.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


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
