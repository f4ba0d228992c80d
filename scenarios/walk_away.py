"""Walk-away values: how much of the space both sides can accept, and where that puts their limits.

The search is one sort. With a tilt d, write r_seller = t + d and r_buyer = t - d; a package is
acceptable to both exactly where t <= min(u_seller - d, u_buyer + d), so any wanted share of the
packages is a quantile of that minimum.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from scenarios.scenario import Preferences, Scenario

SAMPLE = 4_096
"""Packages on which a share is estimated (standard error 0.8 points at most); a space that is no
larger is enumerated instead, which makes the share exact."""

_SAMPLE_SEED = 20_261_129

Points = NDArray[np.int32]
"""Utilities in units of 1/SCALE."""
Table = Sequence[Sequence[int]]


@lru_cache(maxsize=256)
def _sample(sizes: tuple[int, ...]) -> NDArray[np.intp]:
    """Return packages as positions in a flattened table, shape (terms, packages).

    The sample is fixed: one for all scenarios of the same shape, the same on any machine (raw bits of
    PCG64, whose stream numpy guarantees). That is fair because what an option is worth is random.
    """
    if prod(sizes) <= SAMPLE:
        options = np.array(list(product(*map(range, sizes))), dtype=np.intp).T
    else:
        bits = np.random.PCG64(_SAMPLE_SEED).random_raw((len(sizes), SAMPLE)) >> np.uint64(32)
        options = (bits * np.array(sizes, dtype=np.uint64)[:, None] >> np.uint64(32)).astype(np.intp)
    starts = np.cumsum([0, *sizes[:-1]])
    return options + starts[:, None]


def sampled_points(seller: Table, buyer: Table) -> tuple[Points, Points]:
    """Return both sides' utilities of the sampled packages, given both tables."""
    positions = _sample(tuple(map(len, seller)))
    flat_seller = np.array([points for row in seller for points in row], dtype=np.int32)
    flat_buyer = np.array([points for row in buyer for points in row], dtype=np.int32)
    return (
        flat_seller[positions].sum(axis=0, dtype=np.int32),
        flat_buyer[positions].sum(axis=0, dtype=np.int32),
    )


def acceptable_share(scenario: Scenario) -> float:
    """Return the share of random packages that are individually rational for both sides, in [0, 1].

    Exact for spaces of up to SAMPLE packages, estimated on SAMPLE packages beyond.
    """
    return _share(scenario.seller, scenario.buyer)


def _share(seller: Preferences, buyer: Preferences) -> float:
    points_seller, points_buyer = sampled_points(seller.table, buyer.table)
    both = (points_seller >= seller.walk_away_points) & (points_buyer >= buyer.walk_away_points)
    return float(both.mean())


def level_for_share(seller: Table, buyer: Table, tilt: int, share: float) -> tuple[int, float]:
    """Return the level t at which about `share` of the packages suit both, and the share it gives.

    Walk-away values are then t + tilt for the seller and t - tilt for the buyer, all in units of
    1/SCALE. In small spaces ties can make the share differ from the one asked for.
    """
    points_seller, points_buyer = sampled_points(seller, buyer)
    worse_side = np.minimum(points_seller - tilt, points_buyer + tilt)
    wanted = max(1, round(share * len(worse_side)))
    level = int(np.partition(worse_side, -wanted)[-wanted])
    return level, float((worse_side >= level).mean())
