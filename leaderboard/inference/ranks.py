"""Rank intervals: which places an arm may hold, given what the results can tell apart.

All pairs of arms are compared at once, each over the cells that both completed, with the clustered
statistic of every board. A pair differs detectably when \\|difference / SE\\| exceeds the 95%
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

from arena.results import FloatArray
from leaderboard.inference.cells import NO_MATCH, CellTable
from leaderboard.inference.statistic import LEVEL, Estimate, difference, estimate

DRAWS = 10_000
_CHUNK = 1_000
_NO_DIMENSION = 1e-10
"""A share of the largest variance below this is rounding, and no dimension of its own."""
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

    `low` is 1 + the number of arms detectably better, `high` N minus the number detectably worse. A
    pair whose contrast has no interval (no shared cells in some stratum, too few scenarios, no
    variation) counts as not told apart.
    """
    own = {arm: estimate(table.of(arm), weight_B_D) for arm in arms}
    pairs = {
        (arm, other): difference(own[arm], own[other])
        if _alike(table, arm, other)
        else estimate(table.difference(arm, other), weight_B_D)
        for arm, other in combinations(arms, 2)
    }
    return ranked(arms, pairs)


def _alike(table: CellTable, arm: int, other: int) -> bool:
    """Return whether two arms completed the same cells, and are compared on these."""
    done_C = table.match_A_C[arm] != NO_MATCH
    return bool(
        np.array_equal(done_C, table.match_A_C[other] != NO_MATCH)
        and np.array_equal(done_C, table.shared([arm, other])[1])
    )


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
    ratio_P_K = _coordinates(ratio_P_G, rng)
    multiplier_K_R = rng.standard_normal((ratio_P_K.shape[1], DRAWS))
    scale_R = np.sqrt(rng.chisquare(df, DRAWS) / df)
    largest_R = np.concatenate(
        [
            np.abs(ratio_P_K @ multiplier_K_R[:, start : start + _CHUNK]).max(axis=0)
            for start in range(0, DRAWS, _CHUNK)
        ]
    )
    return float(np.quantile(largest_R / scale_R, level, method="higher"))


def _coordinates(ratio_P_G: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the rows in an orthonormal basis of their span, shape (P, K).

    A Gaussian multiplier a scenario, and one a basis vector, give the pairs the same joint distribution;
    the pairs of twelve arms that met on all cells span eleven dimensions, not thousands. The basis
    follows from the span alone, by way of fixed random directions, so that the draws do not depend on
    the order of the arms.
    """
    value_P, vector_P_P = np.linalg.eigh(ratio_P_G @ ratio_P_G.T)
    kept_P = value_P > _NO_DIMENSION * value_P[-1]
    length_K, vector_P_K = np.sqrt(value_P[kept_P]), vector_P_P[:, kept_P]
    basis_G_K = ratio_P_G.T @ (vector_P_K / length_K)
    direction_G_K = rng.standard_normal(basis_G_K.shape)
    turn_K_K, upper_K_K = np.linalg.qr(basis_G_K.T @ direction_G_K)
    ratio_P_K: FloatArray = (vector_P_K * length_K) @ (turn_K_K * np.sign(np.diag(upper_K_K)))
    return ratio_P_K
