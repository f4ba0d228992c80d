"""How sellers and buyers open: whether the first turn names terms, what it asks for, how far the deal
falls from it. Post hoc: no opening was declared before play, and none is a guard.

A share or a mean here weighs every match alike, over open domains; what only some matches have (an
opening proposal, a deal) is averaged over those, with the clustered error that rates have.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.measures import NONE
from arena.results import BoolArray, Results, Side
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.rates import Rate, mean, rate
from leaderboard.inference.statistic import Estimate
from scenarios.scenario import SCALE, Role

POST_HOC = "post hoc"


@dataclass(frozen=True)
class Opening:
    """One agent's openings. Utilities are its own, in [0, 1]. A mean over no match has no value."""

    agent: str
    version: str
    role: Role
    named: Rate
    """Matches whose first turn names a term, of those in which it had a turn."""
    terms_named: Estimate
    """Terms that such a turn names."""
    terms: Estimate
    """Terms of the domains of the same matches."""
    share_named: Estimate
    """Terms named over the domain's terms, match by match."""
    accepted: Estimate
    """What the opening would score if it were accepted as it stands, the terms it leaves out at their
    public defaults."""
    accepted_named: Estimate
    """The same over the named terms only: what those alone are worth."""
    fall: Estimate
    """How much less the deal scored than the opening, over matches with both."""

    def to_json(self) -> dict[str, Any]:
        """Return the row as `arena openings --json` prints it."""
        means = ("terms_named", "terms", "share_named", "accepted", "accepted_named", "fall")
        plain = {name: _plain(getattr(self, name)) for name in means}
        return {
            "agent": self.agent,
            "version": self.version,
            "role": self.role.value,
            "status": POST_HOC,
            "named": self.named.to_json(),
            **plain,
        }


def openings(results: Results, role: Role = Role.SELLER) -> list[Opening]:
    """Return the openings of every agent that plays `role`, in the design's order."""
    table, side = tabulate(results, role), results.side(role)
    return [_opening(results, side, table, arm) for arm in range(len(side.players))]


def _opening(results: Results, side: Side, table: CellTable, arm: int) -> Opening:
    measures_M, open_D = results.measures_M, results.open_D
    count_M = measures_M["opening_terms"][:, side.place].astype(float)
    terms_M = measures_M["terms"].astype(float)
    proposed_M = count_M > 0
    accepted_M = measures_M["opening"][:, side.place] / SCALE
    fall_M = accepted_M - table.score_M

    def over(column_M: np.ndarray, where_M: BoolArray) -> Estimate:
        return mean(table.of(arm, column_M).where(table.of(arm, where_M).y_M > 0), open_D)

    return Opening(
        agent=side.names[arm],
        version=side.players[arm].version,
        role=side.role,
        named=rate(table.of(arm, proposed_M), table.of(arm, count_M != NONE).y_M, open_D),
        terms_named=over(count_M, proposed_M),
        terms=over(terms_M, proposed_M),
        share_named=over(count_M / terms_M.clip(1), proposed_M),
        accepted=over(accepted_M, proposed_M),
        accepted_named=over(measures_M["opening_named"][:, side.place] / SCALE, proposed_M),
        fall=over(fall_M, proposed_M & results.deal_M),
    )


def _plain(found: Estimate) -> dict[str, Any]:
    """Return the figures of a mean; a test against 0 would mean nothing."""
    figures = found.figures("value", "low", "high", "clusters", "cells", "problem")
    return figures if found.cells else figures | {"problem": "no such match"}
