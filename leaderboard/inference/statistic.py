"""The statistic behind every figure on a board: a stratified mean with clustered errors.

Inference is to new scenarios of the same domains. A scenario is a cluster, a domain a stratum. With
cells i that hold a result y_i, against buyer b in domain d, and a weight w_bd a stratum::

    theta = sum_bd w_bd ybar_bd                       ybar_bd: mean of the n_bd cells
    psi_g = sum_b w_bd sum_{i of scenario g, b} (y_i - ybar_bd) / n_bd
    SE^2  = sum_d G_d / (G_d - 1) sum_{g in d} psi_g^2          df = sum_d (G_d - 1)

(stratified clusters; Miller 2024, arXiv 2411.00640, appendix A, has the case of one stratum). Interval
and p both come from theta / SE on t with df, so p < .05 exactly where the 95% interval excludes 0.

Weights of 1 / (B D) give the score; 1 / D for one buyer the score against it; +1 / D and -1 / D for two
buyers their split. Results that are differences of two sellers on the same cells give a paired contrast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from arena.results import BoolArray, FloatArray, IntArray

LEVEL = 0.95
ALPHA = 1 - LEVEL
"""Below it, a p is detectable: so p < ALPHA exactly where the interval excludes 0."""
FEWEST_CLUSTERS = 5
"""Below this there is no interval."""
FEW_CLUSTERS = 32
"""Below this an interval is marked approximate: with rare lost deals it covers less than it says."""
_ROUNDING = 1e-12
"""A standard error below this is rounding: utilities are whole multiples of 1e-4."""


def too_few(clusters: int) -> str | None:
    """Say that so many scenarios are too few for an interval, or return None where they suffice."""
    if clusters >= FEWEST_CLUSTERS:
        return None
    return f"only {clusters} scenarios, fewer than {FEWEST_CLUSTERS}"


def approximate(problem: str | None, clusters: int) -> bool:
    """Whether there is an interval (no `problem`), but from too few scenarios to cover quite what it
    says."""
    return problem is None and clusters < FEW_CLUSTERS


@dataclass(frozen=True)
class Cells:
    """Completed cells, one an entry (axis M), in any order.

    For a board of buyers, "buyer" is whoever sat across the table.
    """

    y_M: FloatArray
    buyer_M: IntArray
    domain_M: IntArray
    cluster_M: IntArray
    """The scenario, 0 or more. It belongs to one domain; a missing label is an error, never a cluster
    of one."""
    seller_opens_M: BoolArray | None = None
    """Who has the first turn, where a scenario may be played both ways; no score depends on it."""

    @cached_property
    def domain_G(self) -> IntArray:
        """The domain of each scenario label, 0 for labels without a cell. Raises ValueError for a
        missing label, a scenario in two domains, or a result that is not finite."""
        if not np.issubdtype(self.cluster_M.dtype, np.integer) or (self.cluster_M < 0).any():
            raise ValueError("a match has no scenario: every match must name the cluster it belongs to")
        if not np.isfinite(self.y_M).all():
            raise ValueError("a match has a score that is not a finite number")
        domain_G = np.zeros(1 + int(self.cluster_M.max(initial=-1)), dtype=np.int64)
        domain_G[self.cluster_M] = self.domain_M
        if (domain_G[self.cluster_M] != self.domain_M).any():
            raise ValueError("a scenario stands in two domains")
        return domain_G

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """The lowest and the highest label, of buyers and of domains; without a cell, 0."""
        labels = {"buyer": self.buyer_M, "domain": self.domain_M}
        return {
            name: (int(label_M.min()), int(label_M.max())) if len(label_M) else (0, 0)
            for name, label_M in labels.items()
        }

    def where(self, kept_M: BoolArray) -> "Cells":
        """Return the marked cells."""
        if kept_M.all():
            return self
        opens_M = None if self.seller_opens_M is None else self.seller_opens_M[kept_M]
        y_M, buyer_M, domain_M = self.y_M[kept_M], self.buyer_M[kept_M], self.domain_M[kept_M]
        return Cells(y_M, buyer_M, domain_M, self.cluster_M[kept_M], opens_M)


@dataclass(frozen=True)
class Estimate:
    """What :func:`estimate` returns. The edges:

    - a stratum with weight and no cell: `value` is None, since the score is not defined without it;
    - a stratum with one scenario: its variance cannot be estimated, so there is no interval;
    - fewer than FEWEST_CLUSTERS scenarios, or no variation at all: no interval.

    `problem` says which.
    """

    value: float | None
    se: float | None
    """None where `value` is, or where a domain has one scenario only."""
    df: int
    clusters: int
    cells: int
    shock_G: FloatArray
    """sqrt(G_d / (G_d - 1)) psi_g by cluster label: its squares add up to SE^2."""

    @cached_property
    def problem(self) -> str | None:
        """Why there is no interval, or None where there is one."""
        if self.value is None:
            return "not every buyer and domain has a match yet"
        if few := too_few(self.clusters):
            return few
        if self.se is None:
            return "a domain has one scenario only"
        if self.se < _ROUNDING:
            return f"all equal, n = {self.cells}"
        return None

    @property
    def approximate(self) -> bool:
        """Whether the interval rests on too few scenarios to cover quite what it says."""
        return approximate(self.problem, self.clusters)

    @property
    def t(self) -> float | None:
        """theta / SE, or None where there is no interval."""
        if self.problem is not None or self.value is None or self.se is None:
            return None
        return self.value / self.se

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the (low, high) t interval, or None where there is none."""
        if self.problem is not None or self.value is None or self.se is None:
            return None
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.se
        return self.value - half, self.value + half

    @property
    def p(self) -> float | None:
        """The two-sided p of theta = 0 from the same t, or None where there is no interval."""
        return None if self.t is None else float(2 * stdtr(self.df, -abs(self.t)))

    def to_json(self) -> dict[str, Any]:
        """Return it as commands print it; `low`, `high` and `p` are None where there is no interval."""
        return self.figures("value", "low", "high", "p", "clusters", "cells", "problem")

    def figures(self, *wanted: str, **renamed: str) -> dict[str, Any]:
        """Return these figures for JSON, in this order, under their own names or what `renamed` calls
        them: value, low, high, p, df, clusters, cells, problem."""
        low, high = self.interval() or (None, None)
        own = {"low": low, "high": high}
        return {
            renamed.get(name, name): own[name] if name in own else getattr(self, name) for name in wanted
        }


def score_weights(buyers: int, in_score_D: BoolArray) -> FloatArray:
    """Return the weights, shape (B, D), of a mean over buyers of the mean over the marked domains."""
    domains = int(in_score_D.sum())
    weight_D = in_score_D / max(domains, 1)
    return np.tile(weight_D / buyers, (buyers, 1))


def buyer_weights(buyer: int, buyers: int, in_score_D: BoolArray) -> FloatArray:
    """Return the weights, shape (B, D), of the score against one buyer."""
    weight_B_D = score_weights(buyers, in_score_D) * buyers
    weight_B_D[np.arange(buyers) != buyer] = 0
    return weight_B_D


def complete_weights(cells: Cells, buyers: int, in_score_D: BoolArray) -> FloatArray:
    """Return the weights, shape (B, D), of the score over those buyers who have a cell in every domain.

    For scores over a part of the cells, which may leave a buyer without any in some domain. All 0 where
    no buyer has; :func:`estimate` then has no value.
    """
    has_B_D = np.zeros((buyers, len(in_score_D)), bool)
    has_B_D[cells.buyer_M, cells.domain_M] = True
    whole_B = np.all(has_B_D | ~in_score_D, axis=1)
    weight_B_D = score_weights(buyers, in_score_D) * buyers / max(int(whole_B.sum()), 1)
    weight_B_D[~whole_B] = 0
    return weight_B_D


def estimate(cells: Cells, weight_B_D: FloatArray) -> Estimate:
    """Estimate sum_bd w_bd ybar_bd with its clustered standard error.

    `weight_B_D` has a signed weight a buyer and domain; cells of strata without weight are ignored.
    Time is linear in the cells. Raises ValueError for a missing cluster label, a cluster in two
    domains, a result that is not finite, or a label outside the weights.
    """
    domain_G = cells.domain_G
    _check(cells, weight_B_D.shape)
    domains = weight_B_D.shape[1]
    weight_T = weight_B_D.ravel()
    stratum_M = cells.buyer_M * domains + cells.domain_M
    used_M = weight_T[stratum_M] != 0
    y_M, stratum_M, cluster_M = cells.y_M[used_M], stratum_M[used_M], cells.cluster_M[used_M]
    cells_T = np.bincount(stratum_M, minlength=len(weight_T))
    clusters_D = _clusters(cluster_M, stratum_M % domains, domains)
    psi_G = np.zeros(len(domain_G))
    counts = (int(np.maximum(clusters_D - 1, 0).sum()), int(clusters_D.sum()), len(y_M))
    if ((cells_T == 0) & (weight_T != 0)).any() or not weight_T.any():
        return Estimate(None, None, *counts, psi_G)

    divisor_T = np.maximum(cells_T, 1)
    share_T = weight_T / divisor_T
    mean_T = np.bincount(stratum_M, y_M, minlength=len(weight_T)) / divisor_T
    rest_M = y_M - mean_T[stratum_M]
    psi_G = psi_G + np.bincount(cluster_M, share_T[stratum_M] * rest_M, minlength=len(psi_G))
    factor_D = np.where(clusters_D > 1, clusters_D / np.maximum(clusters_D - 1, 1), 0.0)
    shock_G = psi_G * np.sqrt(factor_D[domain_G])
    se = None if (clusters_D == 1).any() else float(np.sqrt(shock_G @ shock_G))
    return Estimate(float(weight_T @ mean_T), se, *counts, shock_G)


def mean(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of estimates, one or more, that stand on the same scenarios: the gains of seeds.

    Every estimate is linear in its shocks, so these are averaged scenario by scenario: what one scenario
    does to all of them does not average out. The inference is to new scenarios of these agents, not to
    new agents. Without a value, or an error, where one of them has none.
    """
    labels = max(len(one.shock_G) for one in estimates)
    shock_G = np.mean([np.pad(one.shock_G, (0, labels - len(one.shock_G))) for one in estimates], axis=0)
    values = [one.value for one in estimates if one.value is not None]
    defined = len(values) == len(estimates)
    return Estimate(
        value=float(np.mean(values)) if defined else None,
        se=None if any(one.se is None for one in estimates) else float(np.sqrt(shock_G @ shock_G)),
        df=min(one.df for one in estimates),
        clusters=min(one.clusters for one in estimates),
        cells=min(one.cells for one in estimates),
        shock_G=shock_G,
    )


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the estimate of the paired contrast, one minus other, of two that stand on the very same
    cells with the same weights: every estimate is linear in its results."""
    shock_G = one.shock_G - other.shock_G
    defined = one.value is not None and other.value is not None
    return Estimate(
        value=one.value - other.value if one.value is not None and other.value is not None else None,
        se=float(np.sqrt(shock_G @ shock_G)) if one.se is not None and defined else None,
        df=one.df,
        clusters=one.clusters,
        cells=one.cells,
        shock_G=shock_G,
    )


def bounds(cells: Cells, weight_B_D: FloatArray, planned_B_D: IntArray) -> tuple[float, float] | None:
    """Return theta with every cell that was planned and is missing at 0, and at 1.

    For weights of 0 or more and results in [0, 1]; None where a stratum with weight has none planned.
    """
    if np.any((planned_B_D == 0) & (weight_B_D != 0)) or not np.any(weight_B_D):
        return None
    shape = weight_B_D.shape
    stratum_M = cells.buyer_M * shape[1] + cells.domain_M
    sum_B_D = np.bincount(stratum_M, cells.y_M, minlength=weight_B_D.size).reshape(shape)
    missing_B_D = planned_B_D - np.bincount(stratum_M, minlength=weight_B_D.size).reshape(shape)
    share_B_D = weight_B_D / planned_B_D.clip(1)
    low = float((share_B_D * sum_B_D).sum())
    return low, low + float((share_B_D * missing_B_D).sum())


def _clusters(cluster_M: IntArray, domain_M: IntArray, domains: int) -> IntArray:
    """Count the clusters that have a cell, by domain."""
    domain_G = np.full(1 + int(cluster_M.max(initial=-1)), -1, dtype=np.int64)
    domain_G[cluster_M] = domain_M
    return np.bincount(domain_G[domain_G >= 0], minlength=domains)


def _check(cells: Cells, shape: tuple[int, ...]) -> None:
    """Raise ValueError for labels outside the weights."""
    for (name, (low, high)), labels in zip(cells.spans.items(), shape, strict=True):
        if len(cells.y_M) and not 0 <= low <= high < labels:
            raise ValueError(f"a match has a {name} that the board does not list")
