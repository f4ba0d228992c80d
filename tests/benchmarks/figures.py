"""What every benchmark does with its figures."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One thing that was measured: a row of the table that `make bench` writes."""

    what: str
    """Such as "a tournament, 5 terms x 5 options"."""
    ours: float
    unit: str
    """Of `ours` and `theirs`, such as "matches / CPU s"."""
    peer: str = ""
    """What was measured in the same run, with its version; empty where nothing is like it."""
    theirs: float | None = None
    """None where there is no peer, or it is not on this machine."""
    ratio: float | None = None
    """How many times as good as the peer's ours is: of a rate ours / theirs, of a time theirs / ours."""
    least: float | None = None
    """What is aimed at: the ratio where there is a peer, else ours, is no less than this."""
    most: float | None = None
    """The same, no more than this."""
    absolute: bool = False
    """Whether the aim is for ours though there is a peer."""
    conditions: str = ""
    """What else decides the figure: sizes, repetitions, and why a peer is missing."""


def show(table: str, result: Mapping[str, Any], figures: Sequence[Figure] = ()) -> None:
    """Print the table; write the figures as JSON to the file that ARENA_BENCHMARKS names, if it does.

    `result` has all that was measured, for whoever wants to know more; `figures`, under that name in the
    file, are what `make bench` shows of it.
    """
    print(table)
    if path := os.environ.get("ARENA_BENCHMARKS"):
        content = {**result, "figures": [asdict(figure) for figure in figures]}
        Path(path).write_text(json.dumps(content, indent=1) + "\n")


def lines(figures: Sequence[Figure]) -> str:
    """Return figures as lines of text: a benchmark's own table, where it has no better one."""
    found = [f"{'':28}{'ours':>12}{'peer':>12}{'ratio':>8}"]
    for one in figures:
        theirs = "" if one.theirs is None else f"{one.theirs:,.2f}"
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        line = f"{one.what:28}{one.ours:>12,.2f}{theirs:>12}{ratio:>8}  {one.unit}"
        found.append("; ".join(filter(None, [line, one.peer, one.conditions])))
    return "\n".join(found)
