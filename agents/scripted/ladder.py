"""The concession ladder: a side's packages sorted by its own utility, from which strategies pick.

A small space is listed whole. A large one is not: from its best package the side gives up, step by
step, whatever costs it least, and every package one term away from that path joins the ladder. With 9
terms of 6 options that gives one to two thousand packages with gaps far below a percent.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from scenarios.scenario import Package, Preferences

WHOLE_SPACE = 4_096
"""Spaces of up to this many packages are listed whole."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Packages no worse than the walk-away value, in ascending order of own utility.

    `points` are their utilities in units of 1/SCALE. Packages of equal utility stand in ascending
    order, so a ladder is the same on any machine.
    """

    packages: tuple[Package, ...]
    points: tuple[int, ...]

    def rung(self, points: float) -> int:
        """Return the place of the package of the least utility that is still `points` or more; else of
        the best."""
        return min(bisect_left(self.points, points), len(self.packages) - 1)

    def at_least(self, points: float) -> Package:
        """Return that package."""
        return self.packages[self.rung(points)]


@lru_cache(maxsize=32)
def ladder(preferences: Preferences) -> Ladder:
    """Return the side's ladder: never empty, and never below its walk-away value."""
    least = preferences.walk_away_points
    if space_size(preferences) <= WHOLE_SPACE:
        return _whole_space(preferences.table, least)
    path = _along_the_path(preferences.table)
    first = bisect_left(path.points, least)
    return Ladder(path.packages[first:], path.points[first:]) if first < len(path.points) else path


def space_size(preferences: Preferences) -> int:
    """Return the number of packages there are."""
    return prod(len(row) for row in preferences.table)


def best_package(preferences: Preferences) -> Package:
    """Return the side's best package; of equally good options the first."""
    return tuple(row.index(max(row)) for row in preferences.table)


def _whole_space(table: Sequence[Sequence[int]], least: int) -> Ladder:
    """Return all packages worth `least` or more; all that there are, where none is."""
    points_P = np.zeros(1, dtype=np.int64)
    for row in table:
        points_P = np.add.outer(points_P, row).ravel()
    # A package's place in P is its rank among packages, so that a stable sort keeps ties in order.
    order_P = np.argsort(points_P, kind="stable")
    first = np.searchsorted(points_P[order_P], least)
    order_P = order_P[first:] if first < len(order_P) else order_P
    packages = np.transpose(np.unravel_index(order_P, [len(row) for row in table])).tolist()
    return Ladder(tuple(map(tuple, packages)), tuple(points_P[order_P].tolist()))


def _along_the_path(table: Sequence[Sequence[int]]) -> Ladder:
    """Return the packages on and one term beside the path of least losses."""
    orders = [sorted(range(len(row)), key=lambda o, row=row: -row[o]) for row in table]  # type: ignore[misc]
    depth = [0] * len(table)
    found: dict[Package, int] = {}
    while True:
        rung = tuple(order[d] for order, d in zip(orders, depth, strict=True))
        _add_neighbours(found, rung, table)
        losses = [
            (table[i][orders[i][d]] - table[i][orders[i][d + 1]], i)
            for i, d in enumerate(depth)
            if d + 1 < len(orders[i])
        ]
        if not losses:
            break
        depth[min(losses)[1]] += 1
    pairs = sorted((points, package) for package, points in found.items())
    return Ladder(tuple(package for _, package in pairs), tuple(points for points, _ in pairs))


def _add_neighbours(found: dict[Package, int], rung: Package, table: Sequence[Sequence[int]]) -> None:
    points = sum(row[option] for row, option in zip(table, rung, strict=True))
    found[rung] = points
    for i, row in enumerate(table):
        head, tail, without = rung[:i], rung[i + 1 :], points - row[rung[i]]
        for option, value in enumerate(row):
            found[(*head, option, *tail)] = without + value
