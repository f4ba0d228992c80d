"""How far a tournament is, while it plays: a bar on a terminal, else few lines."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from arena.commands.closing_lines import duration
from arena.tournament import Summary, Tournament

SPARSE_S = 15.0
"""Where there is no terminal, progress is a line this often."""


@contextmanager
def shown(tournament: Tournament) -> Generator[Callable[[Summary], None]]:
    """Give the function that a running tournament reports to: a bar on a terminal, else few lines."""
    total = tournament.quick + tournament.waiting
    if not total:
        yield lambda summary: None
    elif sys.stderr.isatty():
        with _bar(total, tournament.summary.void) as tick:
            yield tick
    else:
        yield _sparse(total)


@contextmanager
def _bar(total: int, void_before: int) -> Generator[Callable[[Summary], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("playing"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("left{task.fields[void]}"),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task = bar.add_task("playing", total=total, rate="", void="")

        def tick(summary: Summary) -> None:
            done = summary.played + summary.void - void_before
            void = f", {summary.void:,} void" if summary.void else ""
            bar.update(task, completed=done, rate=_rate(summary), void=void)

        yield tick


def _sparse(total: int) -> Callable[[Summary], None]:
    due = time.monotonic() + SPARSE_S

    def tick(summary: Summary) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + SPARSE_S
            rest = (total - summary.played) * summary.seconds / max(1, summary.played)
            left = f", about {duration(rest)} left" if summary.played else ""
            line = f"{summary.played:,} of {total:,} played, {_rate(summary)}{left}"
            print(line, file=sys.stderr, flush=True)

    return tick


def _rate(summary: Summary) -> str:
    rate = summary.played / max(summary.seconds, 1e-9)
    return f"{rate:,.0f} matches/s" if rate >= 10 else f"{rate * 60:,.1f} matches/min"
