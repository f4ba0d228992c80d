"""Results as a table of arms by cells: what is held equal stands in one column."""

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from arena.results import BoolArray, FloatArray, IntArray, Results
from leaderboard.inference.statistic import Cells
from scenarios.scenario import Role

NO_MATCH = -1


@dataclass(frozen=True)
class CellTable:
    """Which match an arm (axis A: a board's rows) has on each cell (axis C): positions in a Results'
    columns (axis M). Any column of the matches can thus be read cell by cell.

    An arm's opponents are the buyers on a board of sellers, the sellers on a board of buyers.
    """

    match_A_C: IntArray
    """NO_MATCH where the arm has no scored match."""
    standing_A_C: IntArray
    """The same, with the one match of a deterministic pair standing for every replicate, so that it
    can be compared with a stochastic pair cell by cell."""
    opponent_C: IntArray
    domain_C: IntArray
    cluster_C: IntArray
    seller_opens_C: BoolArray
    score_M: FloatArray
    """The arms' own utility."""
    left_M: BoolArray
    """Whether the arm's opponent forfeited."""

    def of(self, arm: int, column_M: NDArray[np.generic] | None = None) -> Cells:
        """Return the cells that `arm` completed, with a column of its matches; None: its score."""
        return self.cells(self.read(self.match_A_C[arm], column_M), self._done(arm))

    def opened(self, arm: int, by: Role) -> Cells:
        """Return the scores of `arm` on the cells in which `by` had the first turn."""
        opens_C = self.seller_opens_C if by is Role.SELLER else ~self.seller_opens_C
        return self.cells(self.read(self.match_A_C[arm]), self._done(arm) & opens_C)

    def held(self, arm: int) -> Cells:
        """Return the scores of `arm` on the cells that ended without a forfeit of its opponent's."""
        match_C = self.match_A_C[arm]
        return self.cells(self.read(match_C), self._done(arm) & ~self.left_M[match_C])

    def difference(self, arm: int, other: int, column_M: NDArray[np.generic] | None = None) -> Cells:
        """Return arm minus other over the cells that both completed: a paired contrast."""
        return self.combined([arm], [other], column_M)

    def combined(
        self, plus: Sequence[int], minus: Sequence[int], column_M: NDArray[np.generic] | None = None
    ) -> Cells:
        """Return the sum over the arms in `plus` less the sum over those in `minus` of a column (None:
        the score), over the cells that all of them completed."""
        match_X_C, shared_C = self.shared([*plus, *minus])
        sign_X = np.array([1.0] * len(plus) + [-1.0] * len(minus))
        y_C = sign_X @ np.array([self.read(match_C, column_M) for match_C in match_X_C])
        return self.cells(y_C, shared_C)

    def shared(self, arms: Sequence[int]) -> tuple[IntArray, BoolArray]:
        """Return each arm's match on every cell, standing ones included, and which cells all completed.

        A cell counts where all have a match on it and at least one was played for this very replicate.
        """
        match_X_C = self.standing_A_C[list(arms)]
        played_C = np.any(self.match_A_C[list(arms)] != NO_MATCH, axis=0)
        shared_C: BoolArray = played_C & np.all(match_X_C != NO_MATCH, axis=0)
        return match_X_C, shared_C

    def cells(self, y_C: FloatArray, where_C: BoolArray) -> Cells:
        """Return the cells marked in `where_C` with the values `y_C`."""
        every = Cells(y_C, self.opponent_C, self.domain_C, self.cluster_C, self.seller_opens_C)
        return every.where(where_C)

    def read(self, match_C: IntArray, column_M: NDArray[np.generic] | None = None) -> FloatArray:
        """Read a column (None: the score) at matches; at NO_MATCH, what is returned means nothing."""
        column = self.score_M if column_M is None else column_M
        if not len(column):
            return np.zeros(len(match_C))
        read_C: FloatArray = column[match_C].astype(float)
        return read_C

    def _done(self, arm: int) -> BoolArray:
        done_C: BoolArray = self.match_A_C[arm] != NO_MATCH
        return done_C


_made: WeakKeyDictionary[Results, dict[tuple[Role, bool], CellTable]] = WeakKeyDictionary()


def tabulate(results: Results, role: Role, feasible: bool = True) -> CellTable:
    """Arrange the matches of `results` on feasible scenarios, or on those of the infeasible panel; the
    arms play `role`. It is made once, since all that is said of a design begins with it.

    The cells do not depend on the order of the rows. Raises ValueError where a cell was played twice by
    one arm.
    """
    made = _made.setdefault(results, {})
    if (role, feasible) not in made:
        made[role, feasible] = _tabulate(results, role, feasible)
    return made[role, feasible]


def _tabulate(results: Results, role: Role, feasible: bool) -> CellTable:
    row_M = np.flatnonzero(results.feasible_M == feasible)
    seen = results.seen_by(role)
    arm_M, opponent_M = seen.own.player_M[row_M], seen.other.player_M[row_M]
    arms, opponents = len(seen.own.players), len(seen.other.players)
    opens_M = results.seller_opens_M[row_M]
    base_M = (results.scenario_M[row_M] * opponents + opponent_M) * 2 + opens_M
    id_M = base_M * results.design.replicates + results.replicate_M[row_M]
    id_C, cell_M = _distinct(id_M)
    if np.any(np.bincount(cell_M * arms + arm_M) > 1):
        raise ValueError("a match is counted twice: one agent has two results on one cell")
    match_A_C = np.full((arms, len(id_C)), NO_MATCH)
    match_A_C[arm_M, cell_M] = row_M
    one_C = np.zeros(len(id_C), np.int64)
    one_C[cell_M] = np.arange(len(row_M))  # any match of the cell will do
    return CellTable(
        match_A_C,
        _standing(match_A_C, opponent_M[one_C], id_C, results, role),
        opponent_C=opponent_M[one_C],
        domain_C=results.domain_M[row_M][one_C],
        cluster_C=results.scenario_M[row_M][one_C],
        seller_opens_C=opens_M[one_C],
        score_M=seen.own.utility_M,
        left_M=seen.other.forfeits_M,
    )


def _distinct(id_M: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct ids in order, and the place of each match's among them. Where they lie close
    together no sorting is needed, which takes ten times as long."""
    span = 1 + int(id_M.max(initial=-1))
    if span > 8 * len(id_M):
        id_C, place_M = np.unique(id_M, return_inverse=True)
        return id_C, place_M
    there = np.zeros(span, bool)
    there[id_M] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[id_M]


def _standing(
    match_A_C: IntArray, opponent_C: IntArray, id_C: IntArray, results: Results, role: Role
) -> IntArray:
    """Copy replicate 0 of the deterministic pairs over their cells' other replicates."""
    design = results.design
    if design.replicates == 1:
        return match_A_C
    one_S_B = np.array(
        [[design.replicates_of(s, b) == 1 for b in design.buyers] for s in design.sellers]
    )
    one_A_C = (one_S_B if role is Role.SELLER else one_S_B.T)[:, opponent_C]
    # Ids are sorted, so a cell's replicates stand together with replicate 0 first.
    base_C = id_C // design.replicates
    first_C = np.searchsorted(base_C, base_C)
    return np.where(one_A_C, match_A_C[:, first_C], match_A_C)
