"""The cells on which two sellers differ most: where to read what one does better."""

from dataclasses import dataclass

import numpy as np

from arena.results import Results
from leaderboard.inference.cells import tabulate
from scenarios.scenario import Role

COUNT = 10


@dataclass(frozen=True)
class Gap:
    """One cell that both played: their scores there, and the keys of their matches."""

    a: float
    b: float
    key_a: str
    key_b: str

    @property
    def difference(self) -> float:
        """How much more a scored."""
        return self.a - self.b


def widest(results: Results, a: str, b: str, count: int = COUNT) -> list[Gap]:
    """Return the cells of open domains on which the scores of two sellers (versions) lie furthest apart,
    either way, furthest first; cells with equal scores are left out.

    Equal gaps stand in the order of a's keys. Raises KeyError for a version that is no seller of the
    design.
    """
    place = {player.version: arm for arm, player in enumerate(results.design.sellers)}
    table = tabulate(results, Role.SELLER)
    match_X_C, shared_C = table.shared([place[a], place[b]])
    match_X_C = match_X_C[:, shared_C & results.open_D[table.domain_C]]
    score_X_C = results.seller_utility_M[match_X_C]
    # Utilities are whole multiples of 1e-4: what differs by less is rounding.
    gap_C = np.round(np.abs(score_X_C[0] - score_X_C[1]), 6)
    key_X_C = results.key_M[match_X_C]
    order = np.lexsort((key_X_C[0], -gap_C))[:count]
    return [
        Gap(float(score_X_C[0, c]), float(score_X_C[1, c]), str(key_X_C[0, c]), str(key_X_C[1, c]))
        for c in order
        if gap_C[c] > 0
    ]
