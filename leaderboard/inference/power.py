"""What a tournament of some size can detect, and how much more of it would settle a difference.

The error of a paired difference has two parts: scenarios differ in how much better one seller is, and
matches of one scenario differ. With G scenarios of m cells each::

    SE^2 = sigma_scenario^2 / G + sigma_within^2 / (G m)

More scenarios shrink both parts, more replicates the second alone. The minimal detectable effect of a
two-sided test is (t_{1 - alpha/2} + t_{power}) SE on t with the statistic's degrees of freedom, the
usual approximation of the noncentral t.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import stdtrit

from arena.results import FloatArray, IntArray
from leaderboard.inference.statistic import LEVEL, Cells, estimate

POWER = 0.8
WORTH = 10
"""More than this many times the scenarios or replicates is "not worth settling". Ours."""
_LARGEST = 1_000_000_000


@dataclass(frozen=True)
class Components:
    """The two variances of a paired difference, and the sizes they were seen at."""

    scenario: float
    """sigma_scenario^2, of the difference's mean on a scenario; 0 where its estimate is negative."""
    within: float | None
    """sigma_within^2, between cells of one scenario; None where every scenario has one cell."""
    repeated: bool
    """Whether `within` comes from repeated matches of a scenario against the same buyer. Otherwise it
    comes from its matches against different buyers: what replicates are then said to do is the most that
    they can."""
    clusters: int
    """G, over all domains."""
    domains: int
    per_scenario: float
    """m: cells a scenario, on average."""

    def se(self, clusters: float | None = None, times: float = 1) -> float:
        """Return the standard error with this many scenarios (default: as seen) and `times` the cells a
        scenario."""
        cells = self.per_scenario * times
        variance = self.scenario + (self.within or 0.0) / cells
        return float(np.sqrt(variance / (clusters or self.clusters)))


def components(cells: Cells, weight_B_D: FloatArray) -> Components | None:
    """Split the variance of the difference that `cells` hold, by the method of moments.

    sigma_within^2 is the pooled variance within scenarios after the means of the strata (buyer and
    domain, and opener where a scenario is played both ways) are taken away; where a scenario has
    several cells against one buyer with one opener, the pooled variance within those. G SE^2, with the
    statistic's own clustered SE, has the expectation sigma_scenario^2 + sigma_within^2 / m. Where that
    leaves a negative sigma_scenario^2 it becomes 0, and sigma_within^2 what the SE leaves room for: at
    the sizes seen, the components always give back the SE. None where the difference has no interval.
    """
    whole = estimate(cells, weight_B_D)
    if whole.problem is not None or whole.se is None:
        return None
    used_M = weight_B_D[cells.buyer_M, cells.domain_M] != 0
    domains = int(np.count_nonzero(np.any(weight_B_D != 0, axis=0)))
    per_scenario = whole.cells / whole.clusters
    within, repeated = _within(cells.where(used_M))
    total = whole.clusters * whole.se**2
    if within is not None:
        within = min(within, total * per_scenario)
    scenario = max(total - (within or 0.0) / per_scenario, 0.0)
    return Components(scenario, within, repeated, whole.clusters, domains, per_scenario)


def multiple(df: float, power: float = POWER, level: float = LEVEL) -> float:
    """Return how many standard errors a difference must be to be detected with this power."""
    return float(stdtrit(df, (1 + level) / 2) + stdtrit(df, power))


def detectable(se: float, df: float, power: float = POWER, level: float = LEVEL) -> float:
    """Return the minimal detectable effect of a difference with this standard error."""
    return multiple(df, power, level) * se


def cells_needed(sd: float, effect: float, power: float = POWER, level: float = LEVEL) -> int | None:
    """Return how many independent paired cells with this SD detect `effect`; None above a billion.

    Raises ValueError for an effect of 0.
    """
    if not effect:
        raise ValueError("no number of cells detects a difference of 0")
    return _least(lambda n: detectable(sd / n**0.5, n - 1, power, level) <= abs(effect), 3)


@dataclass(frozen=True)
class Needs:
    """What would detect an effect with the power asked for: either of the two would do."""

    scenarios: int | None
    """How many scenarios a domain more; 0 where those there are do, None above a billion."""
    replicates: int | None
    """How many replicates more; None where they cannot do it."""


def needs(
    found: Components,
    effect: float,
    replicates: int | None = None,
    power: float = POWER,
    level: float = LEVEL,
) -> Needs:
    """Return what it takes to detect `effect`, given the variances that were seen.

    `replicates` is how many matches a cell were played, or None where a replicate could not differ
    (both sides are deterministic).
    """
    target = abs(effect)

    def enough(per_domain: int) -> bool:
        clusters = per_domain * found.domains
        return detectable(found.se(clusters), clusters - found.domains, power, level) <= target

    now = max(2, ceil(found.clusters / found.domains))
    least = _least(enough, now) if target else None
    more = None if least is None else least - now
    return Needs(more, _replicates(found, target, replicates, power, level))


def _replicates(
    found: Components, target: float, replicates: int | None, power: float, level: float
) -> int | None:
    """Return how many more matches a cell would do: sigma_within^2 / (m times) must fit into what the
    scenarios' own variance leaves of the target."""
    if replicates is None or not found.within:
        return None
    largest = target / multiple(found.clusters - found.domains, power, level)
    room = found.clusters * largest**2 - found.scenario
    if room <= 0:
        return None
    times = found.within / found.per_scenario / room
    # A rounding error must not cost a whole replicate.
    return max(0, ceil(times * replicates - 1e-9) - replicates)


def advice(found: Needs, settled: bool, now: int, replicates: int | None = None) -> str:
    """Say how much more would settle a difference: `now` scenarios a domain and `replicates` matches a
    cell were played."""
    if settled:
        return "settled: it is detectable as it stands"
    ways = []
    for what, start, more in (
        ("scenarios a domain", now, found.scenarios),
        ("replicates", replicates or 0, found.replicates),
    ):
        if more is not None and start + more <= WORTH * start:
            ways.append(f"{more:,} more {what} ({start:,} to {start + more:,})")
    if not ways:
        return f"not worth settling: it would take over {WORTH} times the scenarios (a limit of ours)"
    return f"{' or '.join(ways)} would settle a difference of this size"


def _least(enough: Callable[[int], bool], first: int) -> int | None:
    """Return the least number from `first` on that is enough, given that every larger one is."""
    high = first
    while not enough(high):
        high *= 2
        if high > _LARGEST:
            return None
    return bisect_left(range(high + 1), True, lo=first, key=enough)


def _within(cells: Cells) -> tuple[float | None, bool]:
    """Return sigma_within^2 and whether it comes from repeats of one cell."""
    y_M, domain_M, cluster_M = cells.y_M, cells.domain_M, cells.cluster_M
    against_M = cells.buyer_M * 2 + _both_ways(cells)
    pair_M = cluster_M * (1 + int(against_M.max())) + against_M
    if len(np.unique(pair_M)) < len(pair_M):
        squares, groups = _squares(y_M, pair_M)
        return squares / (len(y_M) - groups), True
    stratum_M = domain_M * (1 + int(against_M.max())) + against_M
    means_T = np.bincount(stratum_M, y_M) / np.bincount(stratum_M).clip(1)
    squares, groups = _squares(y_M - means_T[stratum_M], cluster_M)
    # Every stratum's mean but one a domain costs a degree of freedom.
    df = len(y_M) - groups - (len(np.unique(stratum_M)) - len(np.unique(domain_M)))
    return (squares / df, False) if df > 0 else (None, False)


def _both_ways(cells: Cells) -> IntArray:
    """Return who opens, as 0 or 1, where any scenario is played both ways; else 0 throughout. An opener
    that alternates over scenarios is part of what scenarios differ by."""
    none_M = np.zeros(len(cells.y_M), dtype=np.int64)
    if cells.seller_opens_M is None:
        return none_M
    opens_M = cells.seller_opens_M.astype(np.int64)
    clusters = 1 + int(cells.cluster_M.max())
    seller_G = np.bincount(cells.cluster_M, opens_M, minlength=clusters)
    all_G = np.bincount(cells.cluster_M, minlength=clusters)
    return opens_M if np.any((seller_G > 0) & (seller_G < all_G)) else none_M


def _squares(y_M: FloatArray, group_M: IntArray) -> tuple[float, int]:
    """Return the sum of squares around the groups' means, and how many groups there are."""
    counts = np.bincount(group_M)
    mean = np.bincount(group_M, y_M) / counts.clip(1)
    return float(((y_M - mean[group_M]) ** 2).sum()), int(np.count_nonzero(counts))
