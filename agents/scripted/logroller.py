"""The logroller: models the other side and trades across terms, giving what it values most."""

from dataclasses import dataclass
from random import Random

from agents.agent import Brief, Negotiator, Reply, View, accept, propose
from agents.scripted.aspiration import check_positive, check_share, time_dependent_target, whole
from agents.scripted.opponent import FrequencyModel, best_for_other
from scenarios.scenario import Package


@dataclass(frozen=True)
class Logroller:
    """Asks for a falling target, and among packages that reach it proposes the one that the frequency
    model thinks best for the other side, or the other side's best past offer where that reaches it.

    `exponent` and `floor` set the pace as for the time-dependent strategies. It accepts what is worth
    at least its next proposal, or at least what going on is worth when the match may end at any turn:
    the next target times the chance of another turn, the walk-away value otherwise.
    """

    exponent: float
    floor: float

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter out of its range."""
        check_positive("exponent", self.exponent)
        check_share("floor", self.floor)

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Negotiator(self, brief)


def chance_of_another_turn(turn: int, least: int, most: int) -> float:
    """Return the chance that a side on its turn number `turn` (from 0) gets another one.

    The limit is taken as uniform from `least` to `most`, and given that it has not passed yet.
    """
    used = turn + 1
    return 1.0 if used < least else max(most - used, 0) / (most - used + 1)


class _Negotiator:
    __slots__ = ("_best_offer", "_best_points", "_brief", "_model", "_strategy")

    def __init__(self, strategy: Logroller, brief: Brief) -> None:
        self._strategy, self._brief = strategy, brief
        self._model = FrequencyModel(brief)
        self._best_offer: Package | None = None
        self._best_points = -1

    def reply(self, view: View) -> Reply:
        brief, theirs = self._brief, view.theirs
        mine = brief.preferences
        target = whole(self._target(view.turn))
        worth = -1
        if theirs is not None:
            worth = mine.points(theirs)
            if view.fault is None:
                self._model.learn(theirs)
            if worth > self._best_points:
                self._best_points, self._best_offer = worth, theirs
        if self._best_offer is not None and self._best_points >= target:
            offer = self._best_offer
        else:
            offer = best_for_other(mine.table, self._model.table(), target)
        if worth >= min(mine.points(offer), self._going_on(view.turn)):
            return accept()
        return propose(offer)

    def _target(self, turn: int) -> float:
        time = min(turn / max(self._brief.most_turns - 1, 1), 1.0)
        exponent, floor = self._strategy.exponent, self._strategy.floor
        return time_dependent_target(self._brief.preferences, exponent, floor, time)

    def _going_on(self, turn: int) -> float:
        """What going on is worth in points: never below the walk-away value."""
        brief = self._brief
        chance = chance_of_another_turn(turn, brief.least_turns, brief.most_turns)
        r = brief.preferences.walk_away_points
        return r + chance * (self._target(turn + 1) - r)
