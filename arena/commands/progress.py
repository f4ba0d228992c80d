"""How far a tournament is, while it plays: on a terminal a bar, with a table of agents where language
models or plug-ins play; elsewhere few lines."""

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from arena.commands.closing_lines import in_words, set_aside
from arena.commands.pace import Paces
from arena.conversations import GRACE_S
from arena.patience import PATIENCE_S
from arena.printable import plain
from arena.summary import Summary
from arena.tournament import Tournament
from leaderboard.wording import counted

SPARSE_S = 15.0
"""Where there is no terminal, progress is a line this often."""
REDRAW_S = 0.4
"""A table is drawn anew at most this often."""

Tick = Callable[[Summary], None]


@contextmanager
def shown(tournament: Tournament) -> Generator[Tick]:
    """Give the function that a running tournament reports to."""
    paces = Paces(tournament)
    if not paces.total + tournament.replays:
        yield lambda summary: None
    elif not sys.stderr.isatty():
        yield _sparse(paces)
    else:
        with _live(paces) as tick:
            yield tick


@contextmanager
def _live(paces: Paces) -> Generator[Tick]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from arena.commands.live_table import live_table

    console, news = Console(stderr=True), News()
    due, last = 0.0, None
    with Live(console=console, auto_refresh=False) as live:

        def tick(summary: Summary) -> None:
            nonlocal due, last
            paces.note(summary)
            last = summary
            for line in news.of(summary):
                console.print(Text(line))
            if time.monotonic() >= due:
                due = time.monotonic() + REDRAW_S
                live.update(live_table(summary, paces, console), refresh=True)

        yield tick
        if last is not None:
            live.update(live_table(last, paces, console), refresh=True)


def _sparse(paces: Paces) -> Tick:
    from arena.commands.live_table import how_far

    news, due = News(), time.monotonic() + SPARSE_S

    def tick(summary: Summary) -> None:
        nonlocal due
        paces.note(summary)
        for line in news.of(summary):
            print(line, file=sys.stderr, flush=True)
        if time.monotonic() >= due:
            due = time.monotonic() + SPARSE_S
            print(how_far(summary, paces), file=sys.stderr, flush=True)

    return tick


class News:
    """What needs attention at once, each told once: an agent that is set aside, the first void attempt
    of an agent, what an interrupted run waits for, and, each time, a database that cannot be used."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._waits = False, False

    def of(self, summary: Summary) -> Iterator[str]:
        """Yield a line for whatever was not told before."""
        for version, tally in summary.tallies.items():
            if tally.set_aside and self._first("aside", "" if tally.set_aside.spent else version):
                yield set_aside(tally)
            elif tally.voids and not tally.set_aside and self._first("void", version):
                void = f"{plain(tally.name)}: a first attempt is void ({in_words(tally.last_trouble)})"
                yield f"{void}; such a match is tried again"
        if summary.awaited and self._first("awaited", ""):
            answers = counted(summary.awaited, "answer")
            yield (f"waiting for {answers} under way, at most {GRACE_S:.0f} s; Ctrl-C again breaks off")
        waits = summary.away is not None, summary.away is not None and summary.interrupted
        if waits != self._waits:
            self._waits = waits
            yield away(summary) or "the database can be used again"

    def _first(self, kind: str, version: str) -> bool:
        told = (kind, version) in self._told
        self._told.add((kind, version))
        return not told


def away(summary: Summary) -> str | None:
    """Say that a run waits for its database; None where it does not."""
    if summary.away is None:
        return None
    if summary.interrupted:
        return "what is played is yet to be written to the database; Ctrl-C again gives it up"
    return (
        f"waiting for the database, up to {PATIENCE_S / 60:.0f} min, and keeping what is played; Ctrl-C "
        f"twice gives it up ({plain(summary.away)})"
    )
