"""`arena db`: copy a record from one database to another, and check that one is what it says it is."""

from typing import TYPE_CHECKING, Annotated

import typer

from arena.commands.options import AsJson, Db, open_store

if TYPE_CHECKING:
    from arena.store.checking import Checked
    from arena.store.copying import Copied

db_app = typer.Typer(
    name="db", help="The database of the record: copy it, and check it.", no_args_is_help=True
)


@db_app.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A path, or an SQLAlchemy URL.")],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The same: a new file, or an empty database on a server.")
    ],
    as_json: AsJson = False,
) -> None:
    """Copy a whole record, from SQLite or PostgreSQL to either.

    It is copied as it stands at one moment, read again, and compared: by numbers of rows, and by hashes
    of what is in them. Until all of it is there and the same, nothing is: after a kill, the same command
    begins anew. FROM is opened as every command opens it: an older one is first brought up to date,
    after a copy of an SQLite file. TO has to be empty. Every command then says the same of both.
    """
    from arena.commands.printing import print_json, waiting
    from arena.store import redacted

    with open_store(source) as store, waiting("copying, and reading it again") as progress:
        copied = store.copy_to(target, progress)
        here = store.address
    if as_json:
        print_json({"from": here, "to": redacted(target), "tables": [one._asdict() for one in copied]})
    else:
        _print_copied(copied)
        rows = sum(one.rows for one in copied)
        typer.echo(f"Copied {rows:,} rows from {here} to {redacted(target)}; both hold the same.")


def _print_copied(copied: "list[Copied]") -> None:
    from arena.commands.printing import add_row, new_table, print_table

    table = new_table("table", ">rows", "content")
    for one in copied:
        if one.rows:
            add_row(table, one.table, f"{one.rows:,}", one.hash[:12])
    print_table(table)


@db_app.command()
def check(db: Db = None, as_json: AsJson = False) -> None:
    """Look whether a record is what it says it is; change nothing.

    Every identity is a hash and is made again from its content; every transcript is told again by the
    rules and measured again; whatever refers to something is looked up. The exit code is 1 where
    something is wrong. That a design is not played to its end is told, and is not wrong.
    """
    from arena.commands.printing import print_json, waiting
    from arena.store.checking import check as look

    with waiting("looking at the record") as progress:
        found = look(db, progress)
    if as_json:
        print_json(
            {
                "database": found.address,
                "sound": found.sound,
                "checks": [one.to_json() for one in found.checks],
                "designs": [one._asdict() for one in found.designs],
            }
        )
    else:
        _print_checked(found)
    if not found.sound:
        raise typer.Exit(1)


def _print_checked(found: "Checked") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from arena.printable import plain

    table = new_table("what", ">looked at", ">wrong")
    for one in found.checks:
        if one.looked_at:
            add_row(table, one.what, f"{one.looked_at:,}", f"{one.wrong:,}")
    print_table(table)
    if found.designs:
        table = new_table(
            "design", ">planned", ">scored", ">withdrawn", ">void", ">missing", "what to do"
        )
        for design in found.designs:
            go_on = f"arena run-tournament --design {design.design} goes on" if design.missing else ""
            add_row(table, design.design, *(f"{count:,}" for count in design[1:]), go_on)
        print_table(table)
    for one in found.checks:
        if one.wrong:
            typer.echo(f"Wrong: {one.what}, {one.wrong:,} of {one.looked_at:,}.")
            for example in one.examples:
                typer.echo(f"  {plain(example)}")
            typer.echo(f"  What to do: {one.remedy}.")
    typer.echo(f"{found.address}: {'nothing is wrong' if found.sound else 'something is wrong'}.")
