"""Where a gain comes from: one seller against another on the cells that both completed.

Every cell's difference y_a - y_b stands in one part, by what became of the two matches, in this order:

1. forfeits avoided: exactly one of the two sellers forfeited itself (it scored 0);
2. deals gained or lost: neither did or both did, and exactly one match closed. A match that the buyer
   forfeited did not close; how much of the part is such cells is said beside it;
3. better deals: both closed. Utilities are additive, so this is a sum over terms, told by their kind;
4. no deal either way: both matches came to the same walk-away value, or to 0 twice, so nothing is left
   to add. (A record of other rules would show what is left as a part of its own.)

Each part is estimated on all the cells, 0 outside its own, so that values add up to the gain exactly.
Shares are ratios of two estimates with Fieller's interval (1954, J. R. Stat. Soc. B 16), which is
bounded exactly where the denominator's own interval excludes 0; elsewhere there is no share.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from arena.design import Design
from arena.errors import UserError
from arena.measures import KINDS
from arena.naming import Names
from arena.results import BoolArray, FloatArray, IntArray, Results
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.secondary import advantage, welfare
from leaderboard.inference.statistic import LEVEL, Estimate, estimate, score_weights
from scenarios.scenario import SCALE, Role

FORFEITS = "forfeits avoided"
DEALS = "deals gained or lost"
BETTER = "better deals"
NO_DEAL = "no deal either way"
MAIN_PARTS = (FORFEITS, DEALS, BETTER)


class Share(NamedTuple):
    """A ratio; `low` and `high` are None where the numerator has no interval or is the denominator."""

    value: float
    low: float | None
    high: float | None


class Part(NamedTuple):
    """One part of a gain."""

    label: str
    estimate: Estimate
    share: Share | None
    """Of the gain; None where the gain's interval does not exclude 0."""
    cells: int
    """Cells that fall under the part."""


@dataclass(frozen=True)
class Value:
    """Where a's gain over b comes from, over the open domains or the held-out ones."""

    a: str
    b: str
    held_out: bool
    gain: Estimate
    dropped: int
    """Planned cells that not both completed."""
    parts: tuple[Part, ...]
    """They sum to the gain: forfeits avoided, deals gained or lost, better deals by kind of term."""
    better: Part
    """Better deals, all kinds of term together."""
    better_by_kind: dict[str, Share | None]
    """Each kind's share of the better deals; None where their interval does not exclude 0."""
    deals_by_opponents_forfeits: Part
    """What of the deals gained or lost lies on cells where the match without a deal ended by the buyer's
    forfeit. It is in that part already."""
    buyers_share: Part
    """The buyers' utility with a less that with b; its share is how much of the gain came out of the
    buyers' share, positive where they lost."""
    welfare: Estimate
    """Of the mean of the two sides' utilities."""
    welfare_advantage: Estimate
    """Of the mean of the two sides' advantages, (u - r) / (1 - r)."""

    def main_parts(self) -> dict[str, Estimate]:
        """Return the parts by label, better deals of all kinds together."""
        found = {part.label: part.estimate for part in (*self.parts, self.better)}
        return {label: found[label] for label in MAIN_PARTS}

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena value --json` prints it."""
        return {
            "a": self.a,
            "b": self.b,
            "held_out": self.held_out,
            "gain": self.gain.to_json(),
            "dropped": self.dropped,
            "parts": [_part_json(part) for part in self.parts],
            "better_deals": _part_json(self.better),
            "better_deals_by_kind": {
                kind: _share_json(share) for kind, share in self.better_by_kind.items()
            },
            "deals_by_opponents_forfeits": _part_json(self.deals_by_opponents_forfeits),
            "out_of_the_buyers_share": _part_json(self.buyers_share),
            "welfare": self.welfare.to_json(),
            "welfare_advantage": self.welfare_advantage.to_json(),
        }


def value(results: Results, a: str, b: str, held_out: bool = False) -> Value:
    """Return where seller `a`'s gain over seller `b` comes from, over open domains or held-out ones.

    Names are those on the board, versions, or ``name@version``. Estimates are in utility, signed, a
    less b. Raises UserError for a name that is no seller of the design, or the same seller twice.
    """
    design = results.design
    arm, other = _places(design, a, b)
    names = list(design.names(Role.SELLER).values())
    in_score_D = results.held_D if held_out else results.open_D
    pair = _Pair(results, tabulate(results, Role.SELLER), arm, other, in_score_D)
    planned_B_D = np.maximum(results.planned_S_B_D[arm], results.planned_S_B_D[other])
    better = pair.part(BETTER, pair.gain_C, pair.both_C)
    by_kind = dict(pair.kinds())
    parts = [
        pair.part(FORFEITS, pair.gain_C, pair.forfeit_C),
        pair.part(DEALS, pair.gain_C, pair.one_C),
        *(pair.part(f"{BETTER}: {kind}", y_C, pair.both_C) for kind, y_C in by_kind.items()),
    ]
    rest = pair.part(NO_DEAL, pair.gain_C, pair.neither_C)
    buyers = pair.part("out of the buyers' share", pair.difference(results.buyer_utility_M), None)
    lost = pair.estimate(-pair.difference(results.buyer_utility_M))
    return Value(
        a=names[arm],
        b=names[other],
        held_out=held_out,
        gain=pair.gain,
        dropped=int(planned_B_D[:, in_score_D].sum()) - pair.gain.cells,
        parts=(*parts, rest) if rest.estimate.value else tuple(parts),
        better=better,
        better_by_kind={
            kind: share(pair.estimate(np.where(pair.both_C, y_C, 0)), better.estimate)
            for kind, y_C in by_kind.items()
        },
        deals_by_opponents_forfeits=pair.part(
            "deals gained or lost by buyers' forfeits", pair.gain_C, pair.one_C & pair.left_C
        ),
        buyers_share=buyers._replace(share=share(lost, pair.gain)),
        welfare=pair.estimate(pair.difference(welfare(results))),
        welfare_advantage=pair.estimate(pair.difference(advantage(results).mean(axis=1))),
    )


def share(part: Estimate, whole: Estimate) -> Share | None:
    """Return part / whole, two estimates on the same cells, with Fieller's 95% interval.

    None where the interval of `whole` does not exclude 0. The interval holds every ratio q for which
    part - q whole would not differ detectably from 0.
    """
    span = whole.interval()
    if part.value is None or whole.value is None or span is None or span[0] <= 0 <= span[1]:
        return None
    ratio = part.value / whole.value
    squared_t = float(stdtrit(whole.df, (1 + LEVEL) / 2)) ** 2
    psi_P_G = np.stack([part.shock_G, whole.shock_G])
    (v_part, covariance), (_, v_whole) = squared_t * (psi_P_G @ psi_P_G.T)
    a, b = whole.value**2 - v_whole, part.value * whole.value - covariance
    # Around the estimate itself, so that rounding cannot push it out of its own interval.
    rest_G = part.shock_G - ratio * whole.shock_G
    if part.problem is not None or np.linalg.norm(rest_G) < 1e-12:
        return Share(ratio, None, None)
    root = float(np.sqrt(max(b * b - a * (part.value**2 - v_part), 0.0)))
    return Share(ratio, float((b - root) / a), float((b + root) / a))


def _places(design: Design, a: str, b: str) -> tuple[int, int]:
    """Return where the sellers that two names mean stand in the design."""
    sellers = Names(design.sellers, "seller")
    found = [sellers.find(name) for name in (a, b)]
    if found[0] == found[1]:
        raise UserError(f"{a} and {b} are the same seller: name two that differ")
    first, second = ([player.version for player in design.sellers].index(one) for one in found)
    return first, second


class _Pair:
    """Two sellers cell by cell (axis C), and which part each cell belongs to."""

    def __init__(
        self, results: Results, table: CellTable, arm: int, other: int, in_score_D: BoolArray
    ) -> None:
        self._results, self._table = results, table
        self._match_X_C, self.shared_C = table.shared([arm, other])
        self._weight_B_D = score_weights(len(results.design.buyers), in_score_D)
        self._counted_C = self.shared_C & in_score_D[table.domain_C]
        self.gain_C = self.difference(results.seller_utility_M)
        self.gain = self.estimate(self.gain_C)
        forfeit_X_C, deal_X_C, left_X_C = (
            self._flags(column)
            for column in (results.seller_forfeits_M, results.deal_M, results.buyer_forfeits_M)
        )
        self.forfeit_C: BoolArray = forfeit_X_C[0] != forfeit_X_C[1]
        self.one_C: BoolArray = ~self.forfeit_C & (deal_X_C[0] != deal_X_C[1])
        self.both_C: BoolArray = ~self.forfeit_C & deal_X_C[0] & deal_X_C[1]
        self.neither_C: BoolArray = ~self.forfeit_C & ~deal_X_C[0] & ~deal_X_C[1]
        self.left_C: BoolArray = left_X_C[0] | left_X_C[1]

    def difference(self, column_M: FloatArray) -> FloatArray:
        """Return a less b; at cells that not both completed it means nothing."""
        first_C, second_C = (self._table.read(match_C, column_M) for match_C in self._match_X_C)
        return first_C - second_C

    def estimate(self, y_C: FloatArray) -> Estimate:
        """Estimate a mean over the cells that both completed."""
        return estimate(self._table.cells(y_C, self.shared_C), self._weight_B_D)

    def part(self, label: str, y_C: FloatArray, where_C: BoolArray | None) -> Part:
        """Return the part of the gain that lies on the marked cells (None: on all)."""
        where_C = self._counted_C if where_C is None else where_C
        found = self.estimate(np.where(where_C, y_C, 0.0))
        cells = int((where_C & self._counted_C).sum())
        return Part(label, found, share(found, self.gain), cells)

    def kinds(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield each kind of term with what a got from its terms more than b did."""
        for place, kind in enumerate(KINDS):
            got_M: IntArray = self._results.measures_M["by_kind"][:, 0, place].astype(np.int64)
            yield kind.value, self.difference(got_M / SCALE)

    def _flags(self, column_M: BoolArray) -> BoolArray:
        flags_X_C: BoolArray = np.stack(
            [self._table.read(match_C, column_M) > 0 for match_C in self._match_X_C]
        )
        return flags_X_C


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "part": part.label,
        **part.estimate.to_json(),
        "cells_in_it": part.cells,
        "share": _share_json(part.share),
    }


def _share_json(share: Share | None) -> dict[str, float | None] | None:
    return None if share is None else share._asdict()
