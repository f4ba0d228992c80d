"""How whoever started a run is told of it; light, so that any module can say what it tells."""

from collections.abc import Callable

Tell = Callable[[str], None]
"""Told in lines for people."""
Stage = Callable[[str, int, int], None]
"""Told of what takes long: its name, how much of it is done, and of how much."""


def silent(*_: object) -> None:
    """Tell nobody."""
