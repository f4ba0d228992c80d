"""How one agent's matches went: the figures that boards, verdicts and secondary measures share.

All over the domains marked in `in_score_D`, for the agent at `arm` of a table of its role.
"""

import numpy as np

from arena.results import BoolArray, FloatArray, Results
from leaderboard.inference.cells import CellTable
from leaderboard.inference.rates import Rate, mean, rate
from leaderboard.inference.statistic import (
    Cells,
    Estimate,
    complete_weights,
    estimate,
    score_weights,
)
from scenarios.scenario import Role


def deals(results: Results, table: CellTable, arm: int, in_score_D: BoolArray) -> Rate:
    """Return the share of the table's matches that ended in an agreement."""
    return rate(table.of(arm, results.deal_M), in_score_D=in_score_D)


def faulty_turns(
    results: Results, table: CellTable, arm: int, role: Role, in_score_D: BoolArray
) -> Rate:
    """Return the share of its turns that had a faulty answer."""
    place, measures_M = results.side(role).place, results.measures_M
    turns_M = table.of(arm, measures_M["turns"][:, place]).y_M
    return rate(table.of(arm, measures_M["faulty_turns"][:, place]), turns_M, in_score_D)


def disclosures(results: Results, table: CellTable, arm: int, role: Role, in_score_D: BoolArray) -> Rate:
    """Return the share of its messages that state its own private numbers."""
    place, measures_M = results.side(role).place, results.measures_M
    messages_M = table.of(arm, measures_M["messages"][:, place]).y_M
    return rate(table.of(arm, measures_M["disclosures"][:, place]), messages_M, in_score_D)


def known_mean(table: CellTable, arm: int, amount_M: FloatArray, in_score_D: BoolArray) -> Estimate:
    """Return the mean of an amount over the matches where it is known, all of which weigh alike."""
    return mean(known(table.of(arm, amount_M)), in_score_D)


def known(cells: Cells) -> Cells:
    """Return the cells that have a value: the others are NaN."""
    return cells.where(~np.isnan(cells.y_M))


def by_opener(table: CellTable, arm: int, opponents: int, in_score_D: BoolArray) -> dict[Role, Estimate]:
    """Return the score over the matches that a side opened; without a side that opened none."""
    weight_O_D = score_weights(opponents, in_score_D)
    opened = {role: table.opened(arm, role) for role in Role}
    return {
        role: estimate(cells, weight_O_D)
        for role, cells in opened.items()
        if in_score_D[cells.domain_M].any()
    }


def held(table: CellTable, arm: int, opponents: int, in_score_D: BoolArray) -> Estimate:
    """Return the score without the matches that an opponent forfeited, over the opponents that are left
    with matches in every domain."""
    cells = table.held(arm)
    return estimate(cells, complete_weights(cells, opponents, in_score_D))
