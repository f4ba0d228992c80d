"""Anchors and fixed policies: strategies that say what a score is worth, and probes of a buyer."""

from dataclasses import dataclass
from random import Random

from agents.agent import Brief, Negotiator, Reply, View, accept, propose, walk_away
from agents.scripted.aspiration import check_share, level, whole
from agents.scripted.ladder import best_package, ladder
from scenarios.scenario import SCALE


@dataclass(frozen=True)
class AcceptFirst:
    """Takes the first offer there is, whatever it is; until then proposes its own best package."""

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Insistent(brief, [0] * brief.most_turns)


@dataclass(frozen=True)
class Hardliner:
    """Proposes its own best package on every turn and accepts nothing worse."""

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Insistent(brief, [SCALE] * brief.most_turns)


@dataclass(frozen=True)
class Stall:
    """Proposes its own best package, and from the turn on that may be the last accepts whatever is no
    worse than its walk-away value."""

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        sure = brief.least_turns - 1
        late = brief.most_turns - sure
        return _Insistent(brief, [SCALE] * sure + [brief.preferences.walk_away_points] * late)


class _Insistent:
    """Own best package every turn; accepts from so many points on, turn by turn."""

    __slots__ = ("_best", "_least", "_points")

    def __init__(self, brief: Brief, least: list[int]) -> None:
        self._best, self._least = best_package(brief.preferences), least
        self._points = brief.preferences.points

    def reply(self, view: View) -> Reply:
        theirs = view.theirs
        if theirs is not None and self._points(theirs) >= self._least[view.turn]:
            return accept()
        return propose(self._best)


@dataclass(frozen=True)
class WalkAway:
    """Leaves on its first turn: scores the walk-away value."""

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Leaver()


class _Leaver:
    __slots__ = ()

    def reply(self, view: View) -> Reply:
        return walk_away()


@dataclass(frozen=True)
class Fixed:
    """Asks for one share of the way from its walk-away value to its best package, from first to last:
    accepts that and more, and proposes a different package at about that level on every turn."""

    aspiration: float

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter out of its range."""
        check_share("aspiration", self.aspiration)

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Steady(brief, whole(level(brief.preferences, self.aspiration)))


class _Steady:
    __slots__ = ("_least", "_offers", "_points")

    def __init__(self, brief: Brief, least: int) -> None:
        rungs = ladder(brief.preferences)
        first = min(rungs.packages.index(rungs.at_least(least)), len(rungs.packages) - 1)
        self._offers, self._least = rungs.packages[first : first + brief.most_turns], least
        self._points = brief.preferences.points

    def reply(self, view: View) -> Reply:
        theirs = view.theirs
        if theirs is not None and self._points(theirs) >= self._least:
            return accept()
        return propose(self._offers[view.turn % len(self._offers)])


@dataclass(frozen=True)
class RandomOffers:
    """Proposes packages drawn at random and accepts what is on the table with a fixed probability,
    whatever it is worth."""

    accept_probability: float

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter out of its range."""
        check_share("accept_probability", self.accept_probability)

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Gambler(brief, rng, self.accept_probability)


class _Gambler:
    __slots__ = ("_draw", "_probability", "_sizes")

    def __init__(self, brief: Brief, rng: Random, probability: float) -> None:
        self._sizes, self._draw, self._probability = brief.sizes, rng.random, probability

    def reply(self, view: View) -> Reply:
        draw = self._draw
        if view.theirs is not None and draw() < self._probability:
            return accept()
        return propose(tuple([int(draw() * size) for size in self._sizes]))
