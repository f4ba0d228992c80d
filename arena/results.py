"""What a design's matches came to, as columns: all that the leaderboard reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.design import Design, Player
from scenarios.scenario import Role

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class LastRun(NamedTuple):
    """How a design was last asked for where money was: what a command that goes on has to say again."""

    budget_usd: float | None = None
    cache: bool = False
    drift: float = 0.0

    @property
    def options(self) -> str:
        """The options of `arena run-tournament` that say so, with a space before each."""
        budget = (
            "" if self.budget_usd is None else f" --budget {self.budget_usd:.9f}".rstrip("0").rstrip(".")
        )
        cache = " --cache" * self.cache
        return budget + cache + (f" --drift {self.drift:g}" if self.drift else "")


@dataclass(frozen=True, eq=False)
class Results:
    """The scored matches of one design, one entry a match (axis M), in no particular order. Equal to
    itself alone, so that what was made of it can be kept by it.

    Index columns point into `design.sellers`, `design.buyers` and `design.domains`. Withdrawn matches
    are left out. The infeasible panel is included and marked; no headline number may use it.
    """

    design: Design
    seller_M: IntArray
    buyer_M: IntArray
    domain_M: IntArray
    scenario_M: IntArray
    """The scenario, numbered from 0 across all domains: the statistical cluster."""
    feasible_M: BoolArray
    seller_opens_M: BoolArray
    replicate_M: IntArray
    seller_utility_M: FloatArray
    buyer_utility_M: FloatArray
    deal_M: BoolArray
    seller_forfeits_M: BoolArray
    """Whether the match ended by the seller's forfeit: it scored 0, the buyer its walk-away value."""
    buyer_forfeits_M: BoolArray
    seller_faults_M: IntArray
    """The seller's faulty answers, those that were asked for again included."""
    buyer_faults_M: IntArray
    key_M: NDArray[np.str_]
    """The matches' keys: what their pages and transcripts are found by."""
    fresh_M: BoolArray
    """Whether the match began after the design was frozen; a contrast over others is exploratory."""
    tokens_M_R: FloatArray
    """Tokens in and out, by role (seller, buyer); NaN where they are not known."""
    cost_M_R: FloatArray
    """US dollars, by role; NaN where they are not known."""
    latency_M_R: FloatArray
    """Seconds that calls to models took, by role; NaN where there were none."""
    measures_M: NDArray[np.void]
    """What was measured on each transcript: a structured array of `arena.measures.DTYPE`."""
    words_M: Sequence[str | None]
    """The first two words of each message, as `arena.measures` stores them; None where nobody spoke."""
    planned_S_B_D: IntArray
    """Planned matches on feasible scenarios: seller, buyer, domain."""
    void_S_B_D: IntArray
    """Cells on feasible scenarios that were tried and have only void attempts."""
    last_run: LastRun = field(default_factory=LastRun)
    revision: int = 0
    """Changes with every write to the store that could change these columns."""

    @property
    def held_D(self) -> BoolArray:
        """Which domains are held out."""
        return np.array([domain.held_out for domain in self.design.domains], dtype=bool)

    @property
    def open_D(self) -> BoolArray:
        """Which domains are not held out."""
        return ~self.held_D

    def where(self, kept_M: BoolArray) -> "Results":
        """Return the results of the marked matches only; what was planned stays."""
        columns: dict[str, Any] = {
            one.name: getattr(self, one.name) for one in fields(self) if "_M" in one.name
        }
        for name, column in columns.items():
            rows = isinstance(column, np.ndarray)
            columns[name] = column[kept_M] if rows else list(compress(column, kept_M))
        return replace(self, **columns)

    def side(self, role: Role) -> "Side":
        """Return the columns of one role."""
        names = list(self.design.names(role).values())
        if role is Role.SELLER:
            players, player_M, utility_M = self.design.sellers, self.seller_M, self.seller_utility_M
            faults_M, forfeits_M = self.seller_faults_M, self.seller_forfeits_M
        else:
            players, player_M, utility_M = self.design.buyers, self.buyer_M, self.buyer_utility_M
            faults_M, forfeits_M = self.buyer_faults_M, self.buyer_forfeits_M
        place = list(Role).index(role)
        return Side(role, place, players, names, player_M, utility_M, faults_M, forfeits_M)

    def seen_by(self, role: Role) -> "Seen":
        """Return the results as the agents of one role see them."""
        planned_A_O_D, void_A_O_D = self.planned_S_B_D, self.void_S_B_D
        if role is Role.BUYER:
            planned_A_O_D, void_A_O_D = planned_A_O_D.swapaxes(0, 1), void_A_O_D.swapaxes(0, 1)
        return Seen(self.side(role), self.side(role.other), planned_A_O_D, void_A_O_D)


@dataclass(frozen=True)
class Side:
    """The agents of one role, and what they did match by match (axis M)."""

    role: Role
    place: int
    """The role's place on axis R."""
    players: tuple[Player, ...]
    names: list[str]
    """What the board calls them."""
    player_M: IntArray
    utility_M: FloatArray
    faults_M: IntArray
    forfeits_M: BoolArray


@dataclass(frozen=True)
class Seen:
    """Results as the agents of one role see them: axis A those agents, axis O whoever sat opposite."""

    own: Side
    other: Side
    planned_A_O_D: IntArray
    void_A_O_D: IntArray
