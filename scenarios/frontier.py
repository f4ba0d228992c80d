"""The exact Pareto frontier of a scenario, and the bargaining solutions on it.

With additive utilities a package that is dominated on some of the terms stays dominated whatever the
others hold, so the frontier is merged term by term and pruned after each: about a millisecond at 9
terms of 6 options, where enumerating would visit ten million packages. Utilities are whole numbers
(units of 1/SCALE), so ties are exact.
"""

from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from scenarios.scenario import SCALE, Package, Preferences, Scenario

Points = NDArray[np.int64]
"""Utilities in units of 1/SCALE, one per frontier point."""

_BITS = 30
_UTILITY_BITS = 15
"""A candidate is one 60-bit number: seller's points, buyer's points, then its position. Sorting such
numbers orders candidates in the same way on any machine, ties included."""


@dataclass(frozen=True)
class Frontier:
    """The Pareto-optimal utility pairs, the seller's best first, each with one package that gives it."""

    seller_F: Points
    buyer_F: Points
    package_F_T: NDArray[np.int64]
    """Option index by frontier point and term."""

    def __len__(self) -> int:
        return len(self.seller_F)

    def package(self, point: int) -> Package:
        """Return one package that gives a frontier point."""
        return tuple(map(int, self.package_F_T[point]))


@dataclass(frozen=True)
class Point:
    """A package with both sides' utilities, in [0, 1]."""

    package: Package
    seller: float
    buyer: float


@dataclass(frozen=True)
class ReferencePoints:
    """Bargaining solutions on the exact frontier. All None where there is no zone of agreement."""

    nash: Point | None
    """Largest product of gains over the walk-away values, over individually rational packages (Nash
    1950)."""
    kalai: Point | None
    """Egalitarian: lexicographic max-min of the gains (Kalai 1977)."""
    kalai_smorodinsky: Point | None
    """Lexicographic max-min of the gains as shares of each side's largest individually rational gain
    (Kalai and Smorodinsky 1975, discrete)."""
    utilitarian: Point | None
    """Largest sum of utilities; the only one that may lie below a side's walk-away value."""
    opposition: float | None
    """Least Euclidean distance from an individually rational package to the point where both sides
    have the most that one can give them; 0 where a single package is best for both."""


def frontier(scenario: Scenario) -> Frontier:
    """Return the exact Pareto frontier of a scenario."""
    return merged(scenario.seller, scenario.buyer)


def merged(seller: Preferences, buyer: Preferences) -> Frontier:
    """Return the exact Pareto frontier of two sides' utilities over the same terms."""
    seller_F = buyer_F = np.zeros(1, dtype=np.int64)
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for seller_row, buyer_row in zip(seller.table, buyer.table, strict=True):
        seller_candidates = np.add.outer(seller_F, np.array(seller_row, dtype=np.int64)).ravel()
        buyer_candidates = np.add.outer(buyer_F, np.array(buyer_row, dtype=np.int64)).ravel()
        kept = _undominated(seller_candidates, buyer_candidates)
        seller_F, buyer_F = seller_candidates[kept], buyer_candidates[kept]
        steps.append((kept // len(seller_row), kept % len(seller_row)))
    return Frontier(seller_F, buyer_F, _packages(steps, len(seller_F)))


def _undominated(seller: Points, buyer: Points) -> NDArray[np.int64]:
    """Return the positions of the undominated pairs, each distinct one once, seller's best first."""
    last = (1 << _BITS) - 1
    position = np.arange(len(seller), dtype=np.int64)
    keys = (((seller << _UTILITY_BITS) | buyer) << _BITS) | (last - position)
    keys.sort()
    keys = keys[::-1]
    buyer_sorted = (keys >> _BITS) & ((1 << _UTILITY_BITS) - 1)
    best_so_far = np.maximum.accumulate(buyer_sorted)
    better = np.ones(len(keys), dtype=bool)
    better[1:] = buyer_sorted[1:] > best_so_far[:-1]
    kept: NDArray[np.int64] = last - (keys[better] & last)
    return kept


def _packages(
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]], points: int
) -> NDArray[np.int64]:
    """Follow the steps (point before the merge, option merged in) back from the last term."""
    package_F_T = np.empty((points, len(steps)), dtype=np.int64)
    point = np.arange(points)
    for term in range(len(steps) - 1, -1, -1):
        before, option = steps[term]
        package_F_T[:, term] = option[point]
        point = before[point]
    return package_F_T


def reference_points(scenario: Scenario, points: Frontier | None = None) -> ReferencePoints:
    """Return the bargaining solutions of a scenario; `points` saves computing its frontier again.

    Ties go to the larger minimum gain, then to the larger seller utility. Values are compared exactly:
    two that differ at all differ by at least 1e-8, so this is also the rule "tied within 1e-9".
    """
    points = frontier(scenario) if points is None else points
    gain_seller = points.seller_F - scenario.seller.walk_away_points
    gain_buyer = points.buyer_F - scenario.buyer.walk_away_points
    rational = np.flatnonzero((gain_seller >= 0) & (gain_buyer >= 0))
    if not len(rational):
        return ReferencePoints(None, None, None, None, None)
    # An individually rational package is dominated only by others that are individually rational
    # too, so the frontier holds each side's maximum over all of them.
    most_seller, most_buyer = int(gain_seller[rational].max()), int(gain_buyer[rational].max())
    # Over a common denominator, so that shares are compared as whole numbers. A side that can gain
    # nothing has the share 0 everywhere.
    share_seller, share_buyer = gain_seller * max(most_buyer, 1), gain_buyer * max(most_seller, 1)

    def best(among: NDArray[np.int64], *criteria: Points) -> Point:
        ties = (np.minimum(gain_seller, gain_buyer), points.seller_F)
        keys = [values[among] for values in (*criteria, *ties)]
        chosen = int(among[np.lexsort(keys[::-1])[-1]])
        return Point(
            package=points.package(chosen),
            seller=int(points.seller_F[chosen]) / SCALE,
            buyer=int(points.buyer_F[chosen]) / SCALE,
        )

    def max_min(one: Points, other: Points) -> Point:
        return best(rational, np.minimum(one, other), np.maximum(one, other))

    distances = (
        hypot(most_seller - int(gain_seller[i]), most_buyer - int(gain_buyer[i])) for i in rational
    )
    return ReferencePoints(
        nash=best(rational, gain_seller * gain_buyer),
        kalai=max_min(gain_seller, gain_buyer),
        kalai_smorodinsky=max_min(share_seller, share_buyer),
        utilitarian=best(np.arange(len(points)), points.seller_F + points.buyer_F),
        opposition=min(distances) / SCALE,
    )
