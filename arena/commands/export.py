"""`arena export`: a design's matches, board, contrasts or log as data, or its whole board as a page."""

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from arena.commands.options import Db, DesignHash, open_store
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.store import Store, StoredDesign
    from leaderboard.export.flat import Table

Format = Literal["csv", "json", "parquet", "html"]
Name = Literal["matches", "board", "contrasts", "deviations"]
TO_A_FILE = ("parquet", "html")


def export(
    form: Annotated[Format, typer.Option("--format", help="What to write.")],
    table: Annotated[
        Name | None,
        typer.Option("--table", help="Which table, of all formats but html. [default: matches]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="The file. [default: standard output; csv and json]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    role: Annotated[
        Literal["seller", "buyer"] | None,
        typer.Option(help="Whose board, for --table board and html. [default: seller]"),
    ] = None,
    design: DesignHash = None,
    db: Db = None,
) -> None:
    """Write what the record says of a design: a table as CSV, JSON or Parquet, or its board as HTML.

    The table of matches has a row a match, scored, withdrawn or void, with all that was measured on it.
    html is one file that shows the board, the contrasts, the guards, the log and the design, and needs
    neither a server nor a network.
    """
    _check(form, table, out, role)
    with open_store(db) as store:
        stored = store.design(design)
        if out is None:
            _write(_table(store, stored, table, role), form, sys.stdout)
            return
        with _replacing(out, force) as partial:
            if form == "html":
                _write_page(store, stored, role, partial)
                what = f"the board of design {stored.design.hash}"
            else:
                what = _write_file(_table(store, stored, table, role), form, partial)
    typer.echo(f"Wrote {what} to {out}.", err=True)


def _check(form: str, table: str | None, out: Path | None, role: str | None) -> None:
    """Refuse what does not go together. Raises UserError."""
    if form == "html" and table is not None:
        raise UserError("html shows the whole board: leave --table out, or choose csv, json or parquet")
    if form in TO_A_FILE and out is None:
        raise UserError(f"{form} goes to a file: name it with --out")
    if role is not None and form != "html" and table != "board":
        raise UserError("--role chooses a board: give --table board or --format html with it")


@contextmanager
def _replacing(out: Path, force: bool) -> Generator[Path]:
    """Give a file beside `out` that takes its place at the end: nothing half-written is left behind.

    Raises UserError where `out` is there and may not be overwritten, or cannot be written to.
    """
    if out.exists() and not out.is_file():
        raise UserError(f"{out} is no file: give --out the path of one")
    if out.exists() and not force:
        raise UserError(f"{out} is there already: name another file, or overwrite it with --force")
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        try:
            yield partial
            partial.replace(out)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}") from None


def _write_page(store: "Store", stored: "StoredDesign", role: str | None, path: Path) -> None:
    from arena.commands.printing import progress_bar, waiting
    from leaderboard.export.report import gather, page
    from scenarios.scenario import Role

    with progress_bar("reading the record", 1) as read:
        report = gather(store, stored, Role(role or "seller"))
        read()
    with waiting("writing sections") as progress:
        path.write_text(page(report, progress), "utf-8")


def _write_file(table: "Table", form: Format, path: Path) -> str:
    """Write a table to a file; return how many rows it has, in words."""
    from leaderboard.export.formats import write_parquet
    from leaderboard.wording import counted

    if form == "parquet":
        with _counting(table) as tick:
            write_parquet(table, path, tick)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            _write(table, form, file)
    return counted(table.count, "row")


def _write(table: "Table", form: Format, out: TextIO) -> None:
    """Write a table as CSV or JSON to an open file."""
    from leaderboard.export.formats import write_csv, write_json

    with _counting(table, shown=not out.isatty()) as tick:
        if form == "csv":
            write_csv(table, out, tick)
        else:
            write_json(table, out, tick, not (out.encoding or "ascii").lower().startswith("utf"))


@contextmanager
def _counting(table: "Table", *, shown: bool = True) -> Generator[Callable[[int], None]]:
    """Give the function that is told of rows written: a bar where they take a while, and do not
    themselves run over the screen."""
    from arena.commands.printing import waiting

    done = 0
    with waiting("writing rows") as progress:

        def tick(rows: int) -> None:
            nonlocal done
            done += rows
            if shown:
                progress(done, table.count)

        yield tick


def _table(store: "Store", stored: "StoredDesign", table: Name | None, role: str | None) -> "Table":
    from leaderboard.export import flat
    from scenarios.scenario import Role

    if table == "board":
        return flat.standings(store, stored, Role(role or "seller"))
    made = {
        "matches": flat.matches,
        "contrasts": flat.contrasts,
        "deviations": flat.deviations,
    }
    return made[table or "matches"](store, stored)
