"""Randomness that is the same on every machine and in every Python version.

Only :meth:`random.Random.random` promises a stable stream, so every other draw here is built on it.
"""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from scenarios.canonical import digest

T = TypeVar("T")


class Stream:
    """Random integers, picks and shuffles, seeded by JSON-ready content. No global seed is touched."""

    def __init__(self, content: Any) -> None:
        self._random = random.Random(int(digest(content), 16)).random

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return low + int(self._random() * (high - low + 1))

    def several(self, count: int, low: int, high: int) -> list[int]:
        """Return `count` integers, each from `low` to `high`, both included."""
        draw, span = self._random, high - low + 1
        return [low + int(draw() * span) for _ in range(count)]

    def coin(self) -> bool:
        """Return True or False, equally likely."""
        return self._random() < 0.5

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items, each equally likely."""
        return items[int(self._random() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order, every order equally likely."""
        shuffled, draw = list(items), self._random
        for last in range(len(shuffled) - 1, 0, -1):
            other = int(draw() * (last + 1))
            shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
        return shuffled
