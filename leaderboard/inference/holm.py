"""Holm's step-down correction for a family of tests that was fixed before play."""

from collections.abc import Sequence


def holm(p: Sequence[float | None], m: int | None = None) -> list[float]:
    """Return the adjusted p-values, in the order of `p`: the i-th smallest becomes the maximum over
    j <= i of min(1, (m - j + 1) p_(j)).

    `m` is the size of the family, by default the number of p-values; where it is larger, the tests that
    are not given count as p = 1, as does each p that is None (a test that could not be made). Rejecting
    where an adjusted p is below alpha keeps the family-wise error at alpha under any dependence (Holm
    1979, Scandinavian Journal of Statistics 6, 65-70). Raises ValueError for a p outside [0, 1] and for
    an `m` smaller than the number given.
    """
    size = len(p) if m is None else m
    if size < len(p):
        raise ValueError(f"{len(p)} p-values in a family of {size}")
    known = [1.0 if value is None else value for value in p]
    if wrong := [value for value in known if not 0 <= value <= 1]:
        raise ValueError(f"a p-value of {wrong[0]} is outside [0, 1]")
    adjusted = [1.0] * len(known)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        largest = max(largest, min(1.0, (size - rank) * known[place]))
        adjusted[place] = largest
    return adjusted
