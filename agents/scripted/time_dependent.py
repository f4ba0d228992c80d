"""Time-dependent strategies: the target falls with the turns used, whatever the other side does.

Boulware, linear and conceder are one formula (Faratin, Sierra and Jennings 1998) with other
exponents. The last turn gets no special treatment: it is hidden unless the tournament announces it.
"""

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal, get_args

from agents.agent import Brief, Negotiator, Reply, View, accept, propose
from agents.scripted.aspiration import check_positive, check_share, time_dependent_target, whole
from agents.scripted.ladder import ladder
from scenarios.scenario import SCALE, Preferences, Role

Acceptance = Literal["next", "target"]
"""When to accept: at least as good as the package to be sent next (AC_next), or as the target."""


@dataclass(frozen=True)
class TimeDependent:
    """`exponent` e > 0; `floor` is the final aspiration as a share of the way from the walk-away value
    to the best package; `margin` in [0, 1] is how much utility an offer may fall short and still be
    accepted (never below the walk-away value)."""

    exponent: float
    floor: float
    acceptance: Acceptance
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for a parameter out of its range."""
        check_positive("exponent", self.exponent)
        check_share("floor", self.floor)
        check_share("margin", self.margin)
        if self.acceptance not in get_args(Acceptance):
            raise ValueError(f'acceptance must be "next" or "target", not {self.acceptance!r}')

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator."""
        proposals, least = _schedule(self, brief.preferences, brief.most_turns)
        return _Negotiator(brief, proposals, least)


@lru_cache(maxsize=64)
def _schedule(
    strategy: TimeDependent, preferences: Preferences, most_turns: int
) -> tuple[tuple[Reply, ...], tuple[int, ...]]:
    """Return for every turn the proposal and the fewest points to accept."""
    rungs = ladder(preferences)
    proposals, least = [], []
    for turn in range(most_turns):
        target = time_dependent_target(preferences, strategy.exponent, strategy.floor, turn / most_turns)
        offer = rungs.at_least(whole(target))
        wanted = preferences.points(offer) if strategy.acceptance == "next" else target
        wanted -= strategy.margin * SCALE
        proposals.append(propose(offer))
        least.append(max(whole(wanted), preferences.walk_away_points))
    return tuple(proposals), tuple(least)


class _Negotiator:
    __slots__ = ("_least", "_other", "_points", "_proposals")

    def __init__(self, brief: Brief, proposals: tuple[Reply, ...], least: tuple[int, ...]) -> None:
        self._proposals, self._least = proposals, least
        self._points = brief.preferences.points
        self._other: Role = brief.role.other

    def reply(self, view: View) -> Reply:
        turn, standing = view.turn, view.standing
        if (
            standing is not None
            and view.standing_by is self._other
            and self._points(standing) >= self._least[turn]
        ):
            return accept()
        return self._proposals[turn]
