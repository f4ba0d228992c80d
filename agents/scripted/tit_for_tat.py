"""Relative tit-for-tat (Faratin, Sierra and Jennings 1998): give way in proportion to the other side."""

from dataclasses import dataclass
from random import Random

from agents.agent import Brief, Negotiator, Reply, View, accept, propose
from agents.scripted.aspiration import check_share, level, whole
from agents.scripted.ladder import ladder
from scenarios.scenario import SCALE


@dataclass(frozen=True)
class TitForTat:
    """`floor`: final aspiration, as a share of the way from the walk-away value to the best package."""

    floor: float

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter out of its range."""
        check_share("floor", self.floor)

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        return _Negotiator(brief, self.floor)


def next_target(mine: float, before: int, now: int, least: float) -> float:
    """Return the next target in points: `mine` times `before` / `now`, clamped to [least, SCALE].

    `mine` is what my last proposal is worth to me, `before` and `now` what the other side's last two
    offers are. An offer worth nothing gives no ratio: the target stays, or rises to the best where the
    other side took back all it had given.
    """
    if now == 0:
        return SCALE if before > 0 else mine
    return min(max(mine * before / now, least), SCALE)


class _Negotiator:
    __slots__ = ("_before", "_least", "_mine", "_points", "_rungs")

    def __init__(self, brief: Brief, floor: float) -> None:
        self._points = brief.preferences.points
        self._rungs = ladder(brief.preferences)
        self._least = level(brief.preferences, floor)
        self._mine: float = SCALE
        self._before: int | None = None

    def reply(self, view: View) -> Reply:
        theirs = view.theirs
        target = self._mine
        now = -1 if theirs is None else self._points(theirs)
        if theirs is not None and view.fault is None:
            if self._before is not None:
                target = next_target(self._mine, self._before, now, self._least)
            self._before = now
        rung = self._rungs.rung(whole(target))
        worth = self._rungs.points[rung]
        if now >= worth:
            return accept()
        self._mine = worth
        return propose(self._rungs.packages[rung])
