"""The seed-cluster bootstrap: the interval of the study that inspired this project.

A draw takes as many scenarios as a domain has, from these scenarios and with replacement, and keeps all
cells of a drawn one. The statistic is that of :mod:`leaderboard.inference.statistic`, theta = sum_bd
w_bd ybar_bd, over the drawn cells: its means are ratios of a sum to a count, so that missing cells stay
missing. The interval lies between the percentiles of DRAWS draws.

A draw is a count a scenario. Sums and counts of cells a scenario times these counts give every mean of
every contrast at once, so all contrasts share their draws, and what is drawn depends on nothing but a
domain's place and its number of scenarios: a contrast has one interval, whatever it is computed with.
The bootstrap has an interval only: a p of it could not be below 1 / DRAWS, which Holm then multiplies.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from arena.results import FloatArray, IntArray
from leaderboard.inference.statistic import FEWEST_CLUSTERS, LEVEL, Cells

DRAWS = 10_000
_SEED = 20_261_005
"""The draws have a generator of their own: one board is one result, on any machine."""
_ROOM = 2_000_000
"""Numbers in one kept block of draws, a byte each."""
_STEP = 250
"""Draws that are worked on at once: few enough to stay in a processor's cache. Divides DRAWS."""
_TABLE = 4_000_000
"""Numbers in the tables of sums and draws that are worked on at once."""
_ROUNDING = 1e-12
_Lines = dict[tuple[int, int], FloatArray]
"""For a domain and a number of scenarios, each contrast's part of theta a scenario, shape (K, G)."""


def bootstrap_intervals(
    cells_K: Sequence[Cells], weight_B_D: FloatArray, level: float = LEVEL
) -> list[tuple[float, float] | None]:
    """Return the percentile interval of each of `cells_K` (axis K) with weights of shape (B, D).

    Cells of strata without weight are ignored. None where there is no t interval either: a stratum
    without cells, fewer than FEWEST_CLUSTERS scenarios, a domain with only one, or no variation. Draws
    in which some stratum has no cell are left out. Time goes with DRAWS times the scenarios; memory is
    bounded by working in parts. Raises ValueError where a scenario is in one domain in some of
    `cells_K` and in another in others.
    """
    scenarios = 1 + max((int(cells.cluster_M.max(initial=-1)) for cells in cells_K), default=0)
    rows = max(1, _TABLE // max(weight_B_D.shape[0] * scenarios, DRAWS))
    found: list[tuple[float, float] | None] = []
    for start in range(0, len(cells_K), rows):
        found += _intervals(cells_K[start : start + rows], weight_B_D, scenarios, level)
    return found


def _intervals(
    cells_K: Sequence[Cells], weight_B_D: FloatArray, scenarios: int, level: float
) -> list[tuple[float, float] | None]:
    domain_G = np.zeros(scenarios, dtype=np.int64)
    for cells in cells_K:
        domain_G[cells.cluster_M] = cells.domain_M
    if any(np.any(domain_G[cells.cluster_M] != cells.domain_M) for cells in cells_K):
        raise ValueError("a scenario stands in two domains")
    tables = [_tables(cells, weight_B_D, scenarios) for cells in cells_K]
    sum_K_B_G = np.array([sums for sums, _ in tables])
    count_K_B_G = np.array([counts for _, counts in tables])
    kept_K = _has_interval(count_K_B_G, weight_B_D, domain_G)
    theta_K_R = np.zeros((int(kept_K.sum()), DRAWS))
    lines: _Lines = {}
    for domain in np.flatnonzero(np.any(weight_B_D != 0, axis=0)):
        here = (kept_K, weight_B_D[:, domain] != 0, domain_G == domain)
        sum_K_B_g, count_K_B_g = sum_K_B_G[np.ix_(*here)], count_K_B_G[np.ix_(*here)]
        _add_domain(theta_K_R, lines, sum_K_B_g, count_K_B_g, weight_B_D[here[1], domain], int(domain))
    _add_lines(theta_K_R, lines)
    edges = iter(_percentiles(theta_K_R, level))
    return [next(edges) if kept else None for kept in kept_K]


def _tables(cells: Cells, weight_B_D: FloatArray, scenarios: int) -> tuple[FloatArray, FloatArray]:
    """Return the sums and the counts of the cells of each scenario against each buyer, shape (B, G)."""
    buyers = len(weight_B_D)
    used_M = weight_B_D[cells.buyer_M, cells.domain_M] != 0
    place_M = (cells.buyer_M * scenarios + cells.cluster_M)[used_M]
    size = buyers * scenarios
    sums = np.bincount(place_M, cells.y_M[used_M], minlength=size).astype(float, copy=False)
    counts = np.bincount(place_M, minlength=size).astype(float)
    return sums.reshape(buyers, scenarios), counts.reshape(buyers, scenarios)


def _has_interval(
    count_K_B_G: FloatArray, weight_B_D: FloatArray, domain_G: IntArray
) -> NDArray[np.bool_]:
    """Return which contrasts have cells in every stratum and enough scenarios to draw from."""
    domains = weight_B_D.shape[1]
    member_G_D = (domain_G[:, None] == np.arange(domains)).astype(float)
    cells_K_B_D = count_K_B_G @ member_G_D
    clusters_K_D = (count_K_B_G.any(axis=1) @ member_G_D).astype(np.int64)
    whole_K = np.all((cells_K_B_D > 0) | (weight_B_D == 0), axis=(1, 2)) & bool(np.any(weight_B_D))
    many_K = clusters_K_D.sum(axis=1) >= FEWEST_CLUSTERS
    found_K: NDArray[np.bool_] = whole_K & many_K & np.all(clusters_K_D != 1, axis=1)
    return found_K


def _add_domain(
    theta_K_R: FloatArray,
    lines: _Lines,
    sum_K_B_G: FloatArray,
    count_K_B_G: FloatArray,
    weight_B: FloatArray,
    domain: int,
) -> None:
    """Add one domain's part of theta, or to `lines` where it is linear in the draws. Contrasts over the
    same scenarios are worked on together."""
    has_K_G: NDArray[np.bool_] = np.any(count_K_B_G > 0, axis=1)
    sets, set_K = has_K_G[:1], np.zeros(len(has_K_G), dtype=np.int64)
    if np.any(has_K_G != sets):
        sets, set_K = np.unique(has_K_G, axis=0, return_inverse=True)
    for number, has_G in enumerate(sets):
        row_k = np.flatnonzero(set_K.ravel() == number)
        sum_k_B_G, count_k_B_G = sum_K_B_G[row_k][:, :, has_G], count_K_B_G[row_k][:, :, has_G]
        clusters = sum_k_B_G.shape[2]
        # With as many cells on every scenario each draw has as many, and the mean is linear in it.
        even_k = np.all(count_k_B_G == count_k_B_G[:, :, :1], axis=(1, 2))
        if even_k.any():
            share_k_B = weight_B / (count_k_B_G[even_k, :, 0] * clusters)
            line_K_G = lines.setdefault((domain, clusters), np.zeros((len(theta_K_R), clusters)))
            line_K_G[row_k[even_k]] = np.einsum("kb,kbg->kg", share_k_B, sum_k_B_G[even_k])
        if not even_k.all():
            rest = (sum_k_B_G[~even_k], count_k_B_G[~even_k])
            _add_ratios(theta_K_R, row_k[~even_k], *rest, weight_B, domain)


def _add_ratios(
    theta_K_R: FloatArray,
    row_k: IntArray,
    sum_k_B_G: FloatArray,
    count_k_B_G: FloatArray,
    weight_B: FloatArray,
    domain: int,
) -> None:
    """Add the means of one domain to the rows `row_k`: drawn sums over drawn counts."""
    strata = zip(weight_B, sum_k_B_G.swapaxes(0, 1), count_k_B_G.swapaxes(0, 1), strict=True)
    tables = [(weight * sum_k_G, count_k_G) for weight, sum_k_G, count_k_G in strata]
    with np.errstate(invalid="ignore"):
        for start, drawn_G_R in _draws(domain, sum_k_B_G.shape[2]):
            part_k_R = sum(
                (sum_k_G @ drawn_G_R) / (count_k_G @ drawn_G_R) for sum_k_G, count_k_G in tables
            )
            theta_K_R[row_k, start : start + drawn_G_R.shape[1]] += part_k_R


def _add_lines(theta_K_R: FloatArray, lines: _Lines) -> None:
    """Add all that is linear in the draws, of every domain at once."""
    if not lines:
        return
    line_K_G = np.concatenate(list(lines.values()), axis=1)
    for parts in zip(*(_draws(*place) for place in lines), strict=True):
        drawn_G_R = np.concatenate([drawn for _, drawn in parts])
        start = parts[0][0]
        theta_K_R[:, start : start + drawn_G_R.shape[1]] += line_K_G @ drawn_G_R


def _draws(domain: int, clusters: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield (first draw, how often each scenario is drawn, shape (G, R)), _STEP draws at a time.

    Domains of one size take the same draws, each shifted by another number of places: within a draw no
    two share theirs, so they are as independent as if each had its own.
    """
    rows = min(DRAWS, max(1, _ROOM // (clusters * _STEP)) * _STEP)
    draw = _drawn if rows * clusters <= _ROOM else _drawn.__wrapped__
    lap, shift = divmod(domain, rows)
    for block, start in enumerate(range(0, DRAWS, rows)):
        drawn_R_G = np.roll(draw(clusters, rows, block, lap), shift, axis=0)
        for first in range(0, min(rows, DRAWS - start), _STEP):
            yield start + first, drawn_R_G[first : first + _STEP].T.astype(float)


@lru_cache(maxsize=64)
def _drawn(clusters: int, rows: int, block: int, lap: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng([_SEED, clusters, block, lap])
    index_R_G = rng.integers(0, clusters, (rows, clusters), dtype=np.min_scalar_type(clusters))
    place_R_G = index_R_G + np.arange(0, rows * clusters, clusters)[:, None]
    count = np.bincount(place_R_G.ravel(), minlength=rows * clusters).reshape(rows, clusters)
    # Of n scenarios one is drawn about Poisson(1) times: more than 255 times never happens.
    return count.astype(np.uint8)


def _percentiles(theta_K_R: FloatArray, level: float) -> list[tuple[float, float] | None]:
    """Return the percentiles of each row, by linear interpolation; NaN is left out. Sorts in place: that
    is several times quicker than selecting both ends."""
    theta_K_R.sort(axis=1)
    drawn_K = np.count_nonzero(~np.isnan(theta_K_R), axis=1)
    low_K, high_K = (_at(theta_K_R, drawn_K, share) for share in ((1 - level) / 2, (1 + level) / 2))
    return [
        (float(low), float(high)) if high - low > _ROUNDING else None
        for low, high in zip(low_K, high_K, strict=True)
    ]


def _at(sorted_K_R: FloatArray, drawn_K: IntArray, share: float) -> FloatArray:
    place_K = share * (drawn_K - 1).clip(0)
    below_K = np.floor(place_K).astype(np.int64)
    row_K = np.arange(len(sorted_K_R))
    start_K = sorted_K_R[row_K, below_K]
    step_K = sorted_K_R[row_K, np.minimum(below_K + 1, sorted_K_R.shape[1] - 1)] - start_K
    edge_K: FloatArray = start_K + np.where(place_K > below_K, (place_K - below_K) * step_K, 0.0)
    return edge_K
