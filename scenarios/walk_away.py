"""Walk-away values: how much of the space both sides can accept, and where that puts their limits.

Both walk-away values follow from a level t and a tilt d: r_seller = t + d, r_buyer = t - d. A package
is then acceptable to both exactly where t <= min(u_seller - d, u_buyer + d), the worse side's margin:
any wanted share of the packages is a quantile of it, and its maximum is the last level with a zone of
agreement. Utilities, levels and tilts are in units of 1/SCALE.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from scenarios.frontier import merged
from scenarios.scenario import Preferences, Scenario

SHARE = (0.10, 0.40)
"""Bounds of the share of packages that are acceptable to both sides."""

TILT = 800
"""Half the largest difference between the two walk-away values."""

MAX_WALK_AWAY = 9_700
"""No side insists on (nearly) its best package."""

SAMPLE = 4_096
"""Packages on which a share is estimated (standard error at most 0.8 percentage points); a space that
is no larger is enumerated instead, which makes the share exact."""

_SAMPLE_SEED = 20_261_129

Table = Sequence[Sequence[int]]


def acceptable_share(scenario: Scenario) -> float:
    """Return the share of random packages that are individually rational for both sides, in [0, 1].

    Exact for spaces of up to SAMPLE packages, estimated on SAMPLE packages beyond.
    """
    seller, buyer = scenario.seller, scenario.buyer
    points_seller, points_buyer = _sampled_points(seller.table), _sampled_points(buyer.table)
    both = (points_seller >= seller.walk_away_points) & (points_buyer >= buyer.walk_away_points)
    return float(both.mean())


def feasible_level(seller: Preferences, buyer: Preferences, tilt: int, share: float) -> int | None:
    """Return the level at which about `share` of the packages are acceptable to both.

    None where ties, which matter in small spaces, would put the true share outside SHARE.
    """
    margins = np.minimum(_sampled_points(seller.table) - tilt, _sampled_points(buyer.table) + tilt)
    rank = len(margins) - max(1, round(share * len(margins)))
    level = int(np.partition(margins, rank)[rank])
    return level if SHARE[0] <= (margins >= level).mean() <= SHARE[1] else None


def infeasible_level(seller: Preferences, buyer: Preferences, tilt: int, gap: int) -> int | None:
    """Return a level `gap` beyond the last at which any package is acceptable to both.

    Exact, on the Pareto frontier. None where a side would have to insist on nearly everything.
    """
    frontier = merged(seller, buyer)
    level = int(np.minimum(frontier.seller_F - tilt, frontier.buyer_F + tilt).max()) + gap
    return level if level + abs(tilt) <= MAX_WALK_AWAY else None


def _sampled_points(table: Table) -> NDArray[np.int32]:
    """Return one side's utilities of the sampled packages."""
    flat = np.array([*chain(*table)], dtype=np.int32)
    points: NDArray[np.int32] = flat.take(_sample(tuple(map(len, table)))).sum(axis=0, dtype=np.int32)
    return points


@lru_cache(maxsize=256)
def _sample(sizes: tuple[int, ...]) -> NDArray[np.intp]:
    """Return packages as positions in a flattened table, shape (terms, packages).

    The sample is fixed: the same for all scenarios of one shape and on any machine (raw bits of PCG64,
    a stream that numpy guarantees). What an option is worth is random, so that is no loss.
    """
    if prod(sizes) <= SAMPLE:
        options = np.array(list(product(*map(range, sizes))), dtype=np.intp).T
    else:
        bits = np.random.PCG64(_SAMPLE_SEED).random_raw((len(sizes), SAMPLE)) >> np.uint64(32)
        options = (bits * np.array(sizes, dtype=np.uint64)[:, None] >> np.uint64(32)).astype(np.intp)
    positions: NDArray[np.intp] = options + np.cumsum([0, *sizes[:-1]], dtype=np.intp)[:, None]
    return positions
