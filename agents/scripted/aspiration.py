"""How much a side still asks for: aspirations between its walk-away value and its best package."""

from math import ceil

from scenarios.scenario import SCALE, Preferences

_NOISE = 1e-6
"""Points forgiven to rounding, so that a target of exactly 7,000 points is not taken for 7,001."""


def level(preferences: Preferences, share: float) -> float:
    """Return r + share * (1 - r) in points (1/SCALE), r the walk-away value; `share` in [0, 1]."""
    r = preferences.walk_away_points
    return r + share * (SCALE - r)


def whole(points: float) -> int:
    """Return the least whole number of points that reaches `points`."""
    return ceil(points - _NOISE)


def time_dependent_target(preferences: Preferences, exponent: float, floor: float, time: float) -> float:
    """Return the target in points at `time` in [0, 1] (Faratin, Sierra and Jennings 1998, k = 0).

    u_min + (1 - u_min)(1 - t^(1/e)), with u_min = r + floor * (1 - r). Exponent e < 1 holds out and
    gives way late (Boulware), 1 is linear, e > 1 gives way early (Conceder).
    """
    least = level(preferences, floor)
    asked: float = 1.0 - time ** (1.0 / exponent)
    return least + (SCALE - least) * asked


def check_share(name: str, value: float) -> None:
    """Raise ValueError unless `value` lies in [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value:g}")


def check_positive(name: str, value: float) -> None:
    """Raise ValueError unless `value` is above 0."""
    if not value > 0:
        raise ValueError(f"{name} must be above 0, not {value:g}")
