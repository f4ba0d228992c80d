"""Rank intervals: which places an arm may hold, given what the results can tell apart.

All pairs of arms are compared at once, each over the cells that both completed, with the statistic of
:mod:`leaderboard.statistic`. A pair differs detectably when \\|difference / SE\\| exceeds the 95%
quantile of the largest such ratio over all pairs if no arm differed from another (max-t; single step).
That quantile comes from the pairs' own joint distribution: Gaussian multipliers on the scenarios'
shares in the errors, divided by sqrt(chi2_df / df), which makes it a multivariate t. So all true ranks
lie in their intervals at once in 95% of boards. "Cannot be told apart" is not transitive, hence an
interval a row and no bands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from leaderboard.cells import CellTable
from leaderboard.statistic import LEVEL, Estimate, FloatArray, estimate

DRAWS = 10_000
_CHUNK = 1_000
_POOL = 64
"""Scenarios whose multipliers are drawn; the others take them in another order, which is quicker."""
_SEED = 20_240_229
"""The multipliers have a generator of their own: one board is one result, on any machine."""


@dataclass(frozen=True)
class RankInterval:
    """Places 1 to N; N is the number of arms that were ranked."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"


def rank_intervals(table: CellTable, weight_B_D: FloatArray, arms: list[int]) -> dict[int, RankInterval]:
    """Return each of `arms`' rank interval among themselves.

    `rank_low` is 1 + the number of arms detectably better, `rank_high` N minus the number detectably
    worse. A pair whose contrast has no interval (no shared cells in some stratum, too few scenarios,
    no variation) counts as not told apart.
    """
    pairs = {pair: estimate(table.difference(*pair), weight_B_D) for pair in combinations(arms, 2)}
    return ranked(arms, pairs)


def ranked(arms: list[int], pairs: Mapping[tuple[int, int], Estimate]) -> dict[int, RankInterval]:
    """Return :func:`rank_intervals` from the contrast, first minus second, of every pair of arms."""
    contrasts = {pair: found for pair, found in pairs.items() if found.problem is None}
    limit = critical_value(list(contrasts.values()))
    better, worse = dict.fromkeys(arms, 0), dict.fromkeys(arms, 0)
    for (arm, other), contrast in contrasts.items():
        if contrast.t is not None and abs(contrast.t) > limit:
            winner, loser = (arm, other) if contrast.t > 0 else (other, arm)
            better[loser] += 1
            worse[winner] += 1
    return {arm: RankInterval(1 + better[arm], len(arms) - worse[arm]) for arm in arms}


def critical_value(contrasts: list[Estimate], level: float = LEVEL) -> float:
    """Return the `level` quantile of max |t| over `contrasts`, each of which has a standard error.

    With one contrast this is the t quantile itself, so that it agrees with its interval; with none,
    infinity.
    """
    if not contrasts:
        return float("inf")
    df = min(contrast.df for contrast in contrasts)
    if len(contrasts) == 1:
        return float(stdtrit(df, (1 + level) / 2))
    width = max(len(contrast.shock_G) for contrast in contrasts)
    ratio_P_G = np.zeros((len(contrasts), width))
    for row_G, contrast in zip(ratio_P_G, contrasts, strict=True):
        row_G[: len(contrast.shock_G)] = contrast.shock_G / np.linalg.norm(contrast.shock_G)
    rng = np.random.default_rng(_SEED)
    pool_G_R = np.pad(rng.standard_normal((_POOL, DRAWS)), ((0, 0), (0, width // _POOL)), mode="wrap")
    largest_R = np.concatenate(
        [
            np.abs(ratio_P_G @ _multipliers(pool_G_R, width, start)).max(axis=0)
            for start in range(0, DRAWS, _CHUNK)
        ]
    )
    scale_R = np.sqrt(rng.chisquare(df, DRAWS) / df)
    return float(np.quantile(largest_R / scale_R, level, method="higher"))


def _multipliers(pool_G_R: FloatArray, width: int, start: int) -> FloatArray:
    """Return _CHUNK draws of `width` independent normals, shape (G, R).

    Every _POOL scenarios take the same draws, each time shifted by one more: within a draw none are
    shared. `pool_G_R` goes on after its last draw with the first ones again.
    """
    shifts = range(start, start + -(-width // len(pool_G_R)))
    return np.concatenate([pool_G_R[:, first : first + _CHUNK] for first in shifts])[:width]
