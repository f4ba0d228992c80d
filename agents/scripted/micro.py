"""MiCRO (de Jonge, JAAMAS 2024, doi 10.1007/s10458-024-09678-1) and its version for large spaces.

Packages are sorted by own utility. A side gives way by one package whenever it has sent no more
distinct packages than it has received, else it repeats one sent before. It accepts what is at least
as good as the next package it would send when it is ready to give way, else as the worst it has sent.

On a large space that deadlocks within any sensible number of turns, so `micro` refuses spaces above
500 packages, and `micro_quantile` walks the concession ladder in equal steps instead.
"""

from dataclasses import dataclass
from functools import lru_cache
from random import Random

from agents.agent import Brief, Negotiator, Reply, View, accept, propose
from agents.scripted.ladder import ladder, space_size
from scenarios.scenario import Package, Preferences

MOST_PACKAGES = 500


@dataclass(frozen=True)
class Micro:
    """The exact strategy: one package at a time."""

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator. Raises ValueError for a space above 500 packages."""
        size = space_size(brief.preferences)
        if size > MOST_PACKAGES:
            raise ValueError(
                f"micro plays domains of up to {MOST_PACKAGES} packages, and {brief.domain} has "
                f"{size:,}; use micro_quantile there"
            )
        return _Negotiator(brief, ladder(brief.preferences).packages[::-1])


@dataclass(frozen=True)
class MicroQuantile:
    """`steps` concessions of equal size (in packages of the ladder) lead from the best package to the
    last one no worse than the walk-away value."""

    steps: int

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter out of its range."""
        if self.steps < 1:
            raise ValueError(f"steps must be 1 or more, not {self.steps}")

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Negotiator(brief, quantiles(brief.preferences, self.steps))


@lru_cache(maxsize=64)
def quantiles(preferences: Preferences, steps: int) -> tuple[Package, ...]:
    """Return up to steps + 1 different packages of the ladder, the best first, equally far apart."""
    descending = ladder(preferences).packages[::-1]
    last = len(descending) - 1
    return tuple(dict.fromkeys(descending[step * last // steps] for step in range(steps + 1)))


class _Negotiator:
    __slots__ = ("_brief", "_packages", "_received", "_sent", "_turns")

    def __init__(self, brief: Brief, packages: tuple[Package, ...]) -> None:
        self._brief, self._packages = brief, packages
        self._sent = 0
        self._turns = 0
        self._received: set[Package] = set()

    def reply(self, view: View) -> Reply:
        points = self._brief.preferences.points
        theirs = view.theirs
        if theirs is not None:
            self._received.add(theirs)
        ready = self._sent <= len(self._received) and self._sent < len(self._packages)
        worst = self._packages[self._sent if ready else self._sent - 1]
        if theirs is not None and points(theirs) >= points(worst):
            return accept()
        if ready:
            self._sent += 1
            return propose(worst)
        # The paper repeats a random one; taking them in turn keeps the strategy deterministic.
        self._turns += 1
        return propose(self._packages[self._turns % self._sent])
