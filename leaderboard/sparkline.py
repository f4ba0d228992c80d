"""A curve as a line of characters."""

from statistics import fmean

from leaderboard.training import Points

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-~=+*#"
"""The same for terminals that are not Unicode."""


def sparkline(points: Points, span: tuple[int, int], width: int, marks: str = BLOCKS) -> str:
    """Return a curve over the steps of `span`, its ends included, at most `width` characters wide, from
    its least value (the first of `marks`) to its largest (the last); an even one is of the first.

    Where steps share a character they are averaged; where none of them has a value it is a blank.
    """
    first, last = span
    columns = min(width, last - first + 1)
    bins: list[list[float]] = [[] for _ in range(columns)]
    for step, value in points:
        bins[(step - first) * columns // (last - first + 1)].append(value)
    means = [fmean(values) if values else None for values in bins]
    known = [mean for mean in means if mean is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    return "".join(" " if mean is None else _mark(mean, low, high, marks) for mean in means)


def _mark(value: float, low: float, high: float, marks: str) -> str:
    share = (value - low) / (high - low) if high > low else 0.0
    return marks[round(share * (len(marks) - 1))]
