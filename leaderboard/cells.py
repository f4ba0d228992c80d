"""Results as a table of arms by cells: what is held equal stands in one column."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.results import Results
from leaderboard.statistic import Cells, FloatArray, IntArray
from scenarios.scenario import Role

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class CellTable:
    """Scores of arms (axis A: a board's rows) on feasible cells (axis C).

    An arm's opponents are the buyers on a board of sellers, the sellers on a board of buyers.
    """

    score_A_C: FloatArray
    """NaN where the arm has no scored match."""
    standing_A_C: FloatArray
    """The same, with the one match of a deterministic pair standing for every replicate, so that it
    can be compared with a stochastic pair cell by cell."""
    opponent_C: IntArray
    domain_C: IntArray
    cluster_C: IntArray
    seller_opens_C: BoolArray
    left_A_C: BoolArray
    """Whether the arm's opponent forfeited the match."""

    def of(self, arm: int) -> Cells:
        """Return the cells that `arm` completed."""
        return self._cells(self.score_A_C[arm], self._done(arm))

    def opened(self, arm: int, by: Role) -> Cells:
        """Return the cells that `arm` completed in which `by` had the first turn."""
        opens_C = self.seller_opens_C if by is Role.SELLER else ~self.seller_opens_C
        return self._cells(self.score_A_C[arm], self._done(arm) & opens_C)

    def held(self, arm: int) -> Cells:
        """Return the cells that `arm` completed without a forfeit of its opponent's."""
        return self._cells(self.score_A_C[arm], self._done(arm) & ~self.left_A_C[arm])

    def difference(self, arm: int, other: int) -> Cells:
        """Return arm minus other over the cells that both completed: a paired contrast."""
        y_C = self.standing_A_C[arm] - self.standing_A_C[other]
        played_C = ~np.isnan(self.score_A_C[arm]) | ~np.isnan(self.score_A_C[other])
        return self._cells(y_C, played_C & ~np.isnan(y_C))

    def _done(self, arm: int) -> BoolArray:
        done_C: BoolArray = ~np.isnan(self.score_A_C[arm])
        return done_C

    def _cells(self, y_C: FloatArray, done_C: BoolArray) -> Cells:
        return Cells(y_C[done_C], self.opponent_C[done_C], self.domain_C[done_C], self.cluster_C[done_C])


def tabulate(results: Results, role: Role) -> CellTable:
    """Arrange the feasible matches of `results`; the arms play `role`.

    The table does not depend on the order of the rows. Raises ValueError where a cell was played twice
    by one arm.
    """
    keep_M = results.feasible_M
    arm_M, opponent_M = results.seller_M[keep_M], results.buyer_M[keep_M]
    y_M, left_M = results.seller_utility_M[keep_M], results.buyer_forfeits_M[keep_M]
    arms, opponents = len(results.design.sellers), len(results.design.buyers)
    if role is Role.BUYER:
        arm_M, opponent_M, arms, opponents = opponent_M, arm_M, opponents, arms
        y_M, left_M = results.buyer_utility_M[keep_M], results.seller_forfeits_M[keep_M]
    cluster_M, domain_M = results.scenario_M[keep_M], results.domain_M[keep_M]
    base_M = (cluster_M * opponents + opponent_M) * 2 + results.seller_opens_M[keep_M]
    id_M = base_M * results.design.replicates + results.replicate_M[keep_M]
    id_C, first_C, cell_M = np.unique(id_M, return_index=True, return_inverse=True)
    if len(np.unique(cell_M * arms + arm_M)) < len(cell_M):
        raise ValueError("a match is counted twice: one agent has two results on one cell")
    score_A_C = np.full((arms, len(id_C)), np.nan)
    score_A_C[arm_M, cell_M] = y_M
    standing_A_C = _standing(score_A_C, opponent_M[first_C], id_C, results, role)
    left_A_C = np.zeros(score_A_C.shape, bool)
    left_A_C[arm_M, cell_M] = left_M
    return CellTable(
        score_A_C,
        standing_A_C,
        opponent_C=opponent_M[first_C],
        domain_C=domain_M[first_C],
        cluster_C=cluster_M[first_C],
        seller_opens_C=results.seller_opens_M[keep_M][first_C],
        left_A_C=left_A_C,
    )


def _standing(
    score_A_C: FloatArray, opponent_C: IntArray, id_C: IntArray, results: Results, role: Role
) -> FloatArray:
    """Copy replicate 0 of the deterministic pairs over their cells' other replicates."""
    design = results.design
    if design.replicates == 1:
        return score_A_C
    one_S_B = np.array(
        [[design.replicates_of(s, b) == 1 for b in design.buyers] for s in design.sellers]
    )
    one_A_C = (one_S_B if role is Role.SELLER else one_S_B.T)[:, opponent_C]
    # Ids are sorted, so a cell's replicates stand together with replicate 0 first.
    base_C = id_C // design.replicates
    first_C = np.searchsorted(base_C, base_C)
    return np.where(one_A_C, score_A_C[:, first_C], score_A_C)
