"""Options that several commands have, defined once."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from arena.store import Store

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        envvar="ARENA_DB",
        metavar="PATH|URL",
        help="The database: a path, or an SQLAlchemy URL. [default: arena.db]",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DesignHash = Annotated[
    str | None,
    typer.Option(
        "--design", metavar="HASH", help="A design's hash, or how it starts. [default: the one run last]"
    ),
]


def split_names(text: str | None) -> list[str] | None:
    """Return the names in a list separated by commas; None where there is no list."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def to_name(db: str | None) -> str | None:
    """Return the database that a further command has to name: none where ARENA_DB names it already."""
    from arena.store import redacted

    known = os.environ.get("ARENA_DB")
    return None if db and known and redacted(db) == redacted(known) else db


def open_store(db: str | None, *, create: bool = False) -> "Store":
    """Open the database; say so where it was migrated, and how far it is where that takes long. Raises
    UserError."""
    from arena.commands.printing import waiting
    from arena.store import Store

    with waiting("bringing stored matches up to date") as progress:
        store = Store.open(db, create=create, progress=progress)
    if store.backup is not None:
        typer.echo(f"Migrated {store.address}; as it was, it is kept in {store.backup}.", err=True)
    return store


def open_if_there(db: str | None) -> "Store":
    """Open the database; where there is none, an empty one in memory, so that nothing is created."""
    from arena.store import MissingDatabase, Store

    try:
        return open_store(db)
    except MissingDatabase:
        return Store.open("sqlite://")
