"""Printing: JSON, tables and progress."""

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import typer

from arena.printable import plain

if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 160
"""A pipe has no width; a table is better wide than cut."""
PATIENCE_S = 2.0
"""What takes longer shows how far it is."""
TOLD_S = 30.0
"""So often it is told that something is still awaited, where there is no terminal."""
_NOT_ASCII = re.compile(r"[^\n\x20-\x7e]")
LINES = 4
"""Of a stage where there is no terminal, after the one that says that it begins."""


def print_json(content: Any, indent: int | None = 2) -> None:
    """Print JSON, in ASCII where standard output is not Unicode; NaN is a bug and raises. What no
    terminal should be sent is escaped, and reads the same as JSON."""
    ascii_only = not (sys.stdout.encoding or "ascii").lower().startswith("utf")
    text = json.dumps(content, ensure_ascii=ascii_only, allow_nan=False, indent=indent)
    typer.echo(_NOT_ASCII.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


@contextmanager
def progress_bar(what: str, total: int) -> Generator[Callable[..., None]]:
    """Show a bar on stderr, where that is a terminal; gives the function to call for each of `total`
    steps, or with a number of them."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda steps=1: progress.advance(task, steps)


@contextmanager
def stages() -> Generator[Callable[[str, int, int], None]]:
    """Give the function that is told of stages, one after the other: what is done, how much of it, and
    of how much. Each has its bar on stderr; where that is no terminal, a line as it begins and one a
    quarter."""
    from rich.console import Console

    if not Console(stderr=True).is_terminal:
        yield _sparse()
        return
    with ExitStack() as stack:
        now, shown, tick = "", 0, None

        def stage(what: str, done: int, total: int) -> None:
            nonlocal now, shown, tick
            if what != now or tick is None:
                stack.close()
                now, shown, tick = what, 0, stack.enter_context(progress_bar(what, total))
            tick(done - shown)
            shown = done

        yield stage


def _sparse() -> Callable[[str, int, int], None]:
    now, shown = "", 0

    def stage(what: str, done: int, total: int) -> None:
        nonlocal now, shown
        part = LINES * done // max(1, total)
        if what != now or part > shown:
            now, shown = what, part
            typer.echo(f"{what}: {done:,} of {total:,}", err=True)

    return stage


@contextmanager
def waiting(what: str) -> Generator[Callable[[int, int], None]]:
    """Give the function that is told how much of `what` is done, and of how much: a bar on stderr once
    that has taken PATIENCE_S."""
    with ExitStack() as stack:
        begun, shown, tick = time.monotonic(), 0, None

        def progress(done: int, total: int) -> None:
            nonlocal shown, tick
            if tick is None and time.monotonic() - begun > PATIENCE_S:
                tick = stack.enter_context(progress_bar(what, total))
            if tick is not None:
                tick(done - shown)
                shown = done

        yield progress


@contextmanager
def awaited(what: str) -> Generator[None]:
    """Say on stderr that `what` is awaited, and for how many seconds it has been: every second in a line
    that goes away, or where that is no terminal, every TOLD_S in one that stays."""
    from rich.console import Console

    console, begun, over = Console(stderr=True), time.monotonic(), threading.Event()

    def tell_on(tell: Callable[[str], None], every_s: float) -> None:
        while not over.wait(every_s):
            tell(f"{what}, {time.monotonic() - begun:.0f} s")

    with ExitStack() as stack:
        how = (lambda text: typer.echo(text, err=True)), TOLD_S
        if console.is_terminal:
            how = stack.enter_context(console.status(what)).update, 1.0
        thread = threading.Thread(target=tell_on, args=how, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def loading(library: str) -> Generator[None]:
    """Say on stderr that a library is being imported, at once and as long as it takes; where that is no
    terminal, in a line."""
    from rich.console import Console

    console, said = Console(stderr=True), f"loading {library}, which takes some seconds ..."
    if console.is_terminal:
        with console.status(said):
            yield
        return
    typer.echo(said, err=True)
    yield


def new_table(*columns: str) -> "Table":
    """Return an empty table; a column whose name starts with ``>`` is aligned right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    return table


def add_row(table: "Table", *cells: object) -> None:
    """Add a row of plain texts: nothing in them is markup, and None is empty."""
    from rich.text import Text

    table.add_row(*(Text("" if cell is None else plain(str(cell))) for cell in cells))


def print_table(table: "Table") -> None:
    """Print a table as wide as the terminal, or wide enough in a pipe."""
    from rich.console import Console

    console = Console()
    (console if console.is_terminal else Console(width=PIPE_WIDTH)).print(table)
