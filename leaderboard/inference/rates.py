"""Shares: how often something happens, with an interval that clusters widen and that no edge breaks.

With hits h_i of m_i chances in match i (one chance a match: a deal; many: the messages of a match)::

    p     = sum_i h_i / sum_i m_i
    z_g   = sum_{i of scenario g} (h_i - p m_i) / sum_i m_i
    SE^2  = sum_d G_d / (G_d - 1) sum_{g in d} (z_g - zbar_d)^2        df = sum_d (G_d - 1)
    n_eff = p (1 - p) / SE^2 * (t_{n-1} / t_df)^2, at most n;  G where p is 0 or 1
    interval: the 2.5% and 97.5% quantiles of Beta(1/2 + n_eff p, 1/2 + n_eff (1 - p))

SE is that of a linearised ratio within strata (Cochran 1977, Sampling Techniques, chapter 6); n_eff is
Korn and Graubard's (1998, Survey Methodology 24), here in a Beta interval (Jeffreys), whose lower end is
0 at p = 0 and upper end 1 at p = 1 (Brown, Cai and DasGupta 2001, Statistical Science 16). n is the
number of chances, G that of scenarios with one; with one domain, df is G - 1.

A share weighs every chance alike, unlike a score, which weighs buyers and domains alike.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtrit

from arena.results import BoolArray, FloatArray, IntArray
from leaderboard.inference.statistic import LEVEL, Cells, Estimate, approximate, estimate, too_few


@dataclass(frozen=True)
class Rate:
    """A share in [0, 1]. `low` and `high` are None together, and `problem` says why."""

    value: float | None
    """None where there was no chance."""
    low: float | None
    high: float | None
    n: int
    """Chances: matches, turns or messages."""
    clusters: int
    """Scenarios with a chance."""
    n_eff: float | None
    problem: str | None

    @property
    def approximate(self) -> bool:
        """Whether the interval rests on too few scenarios to cover quite what it says."""
        return approximate(self.problem, self.clusters)

    def to_json(self) -> dict[str, Any]:
        """Return it as commands print it."""
        return asdict(self)


def rate(hits: Cells, chances_M: FloatArray | None = None, in_score_D: BoolArray | None = None) -> Rate:
    """Return the share of chances that were hits.

    `hits.y_M` counts hits match by match and `chances_M` what they are out of (None: one a match), over
    the domains marked in `in_score_D` (None: all). No chance at all: no value. Fewer than
    FEWEST_CLUSTERS scenarios, or a domain with one scenario only (unless the share is 0 or 1, which
    needs no error): no interval. Raises ValueError for more hits than chances, or fewer than none.
    """
    chances_M = np.ones(len(hits.y_M)) if chances_M is None else chances_M
    if np.any(hits.y_M < 0) or np.any(hits.y_M > chances_M):
        raise ValueError("a match has more hits than chances, or fewer than none")
    used_M = chances_M > 0
    if in_score_D is not None:
        used_M &= in_score_D[hits.domain_M]
    hits_M, chances_M = hits.y_M[used_M], chances_M[used_M]
    cluster_M, domain_M = hits.cluster_M[used_M], hits.domain_M[used_M]
    clusters = int(np.count_nonzero(np.bincount(cluster_M)))
    n = round(float(chances_M.sum()))
    if n == 0:
        return Rate(None, None, None, 0, 0, None, "nothing to count")
    share = float(hits_M.sum()) / n
    if few := too_few(clusters):
        return Rate(share, None, None, n, clusters, None, few)
    n_eff = _effective(share, (hits_M - share * chances_M) / n, cluster_M, domain_M, n)
    if n_eff is None:
        return Rate(share, None, None, n, clusters, None, "a domain has one scenario only")
    low, high = beta_interval(share, n_eff)
    return Rate(share, low, high, n, clusters, n_eff, None)


def beta_interval(share: float, n_eff: float, level: float = LEVEL) -> tuple[float, float]:
    """Return the equal-tailed interval of Beta(1/2 + n_eff p, 1/2 + n_eff (1 - p)), which holds p."""
    a, b, tail = 0.5 + n_eff * share, 0.5 + n_eff * (1 - share), (1 - level) / 2
    low = 0.0 if share == 0 else float(betaincinv(a, b, tail))
    high = 1.0 if share == 1 else float(betaincinv(a, b, 1 - tail))
    return low, high


def mean(cells: Cells, in_score_D: BoolArray | None = None) -> Estimate:
    """Return the plain mean over matches, with the clustered error of :func:`estimate`.

    For amounts that only some matches have, which may miss whole buyers or domains: every match weighs
    alike, whoever sat opposite. `value` is None without a match.
    """
    domains = 1 + int(cells.domain_M.max(initial=0))
    used_M = np.ones(len(cells.y_M), bool) if in_score_D is None else in_score_D[cells.domain_M]
    domain_M = cells.domain_M[used_M]
    weight_1_D = np.bincount(domain_M, minlength=domains)[None, :] / max(len(domain_M), 1)
    nobody_M = np.zeros(len(domain_M), dtype=np.int64)
    return estimate(Cells(cells.y_M[used_M], nobody_M, domain_M, cells.cluster_M[used_M]), weight_1_D)


def _effective(
    share: float, rest_M: FloatArray, cluster_M: IntArray, domain_M: IntArray, n: int
) -> float | None:
    """Return n_eff; None where the error of the share cannot be estimated."""
    there = np.bincount(cluster_M) > 0
    clusters = int(there.sum())
    if share in (0, 1):
        return float(clusters)
    domain_G = np.zeros(len(there), np.int64)
    domain_G[cluster_M] = domain_M
    domain_G = domain_G[there]
    clusters_D = np.bincount(domain_G)
    if np.any(clusters_D == 1):
        return None
    z_G = np.bincount(cluster_M, rest_M)[there]
    z_G = z_G - (np.bincount(domain_G, z_G) / clusters_D.clip(1))[domain_G]
    factor_D = clusters_D / (clusters_D - 1).clip(1)
    variance = float(factor_D[domain_G] @ z_G**2)
    df = clusters - int((clusters_D > 0).sum())
    quantiles = stdtrit(np.array([n - 1, df]), (1 + LEVEL) / 2)
    spread = share * (1 - share) * float(quantiles[0] / quantiles[1]) ** 2
    return float(n) if spread >= n * variance else spread / variance
