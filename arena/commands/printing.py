"""Printing for people: tables, and text from models that must not drive the terminal."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 160
"""A pipe has no width; a table is better wide than cut."""


def print_json(content: Any, indent: int | None = 2) -> None:
    """Print JSON, in ASCII where standard output is not Unicode; NaN is a bug and raises."""
    ascii_only = not (sys.stdout.encoding or "ascii").lower().startswith("utf")
    typer.echo(json.dumps(content, ensure_ascii=ascii_only, allow_nan=False, indent=indent))


@contextmanager
def progress_bar(what: str, total: int) -> Generator[Callable[[], None]]:
    """Show a bar on stderr; gives the function to call once for each of `total` steps."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


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


def plain(text: str, *, lines: bool = False) -> str:
    """Return `text` with control characters spelled out, so that a terminal shows and does not obey
    them; with `lines`, line ends and tabs stay."""
    kept = "\n\t" if lines else ""
    return "".join(
        character if character in kept or character.isprintable() else _spelled(character)
        for character in text
    )


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()
