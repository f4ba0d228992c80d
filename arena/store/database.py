"""Connecting: what `--db` may be, and how a connection is set up."""

import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    String,
    Table,
    create_engine,
    event,
    func,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import StaticPool
from sqlalchemy.sql.functions import FunctionElement

from arena.errors import UserError
from arena.store.turns import BUSY_S, Turns

DEFAULT = "arena.db"

_SECRET = re.compile("pass|pwd|secret|token|key", re.IGNORECASE)
"""What a part of an address' query is called that nobody should see."""
_BEFORE_HOST = re.compile("://.*@")

MIGRATING = 0x6172656E61
"""The number of the lock, on a server, of whoever migrates: "arena"."""
_PASSING = ("08", "40", "53300", "57P01", "57P02", "57P03")
"""How PostgreSQL's codes begin for lost connections, conflicts with others, too many connections, and a
server that shuts down, crashed, or starts."""
_BESIDE = ("", "-wal", "-shm", "-journal")
"""How the names of SQLite's files end; these stand beside the file that a link leads to."""
CACHE_KIB = 65_536
"""What SQLite may keep of a file in memory. Its own choice, 2 MB, is too little to join a hundred
thousand matches."""


class StoreError(UserError):
    """A database that cannot be used as it is; the message says what to do."""


class MissingDatabase(StoreError):
    """There is no database at the given path."""


class Unavailable(StoreError):
    """A database that cannot be used now, which may pass by itself: its server is started again, or
    another process keeps it locked."""


def locate(given: str | None) -> URL:
    """Return the URL that `given` means: an SQLAlchemy URL, a path, or None for the default file."""
    given = given or DEFAULT
    if "://" not in given:
        return URL.create("sqlite", database=given)
    try:
        return make_url(given)
    except (ArgumentError, ValueError):  # the latter for a port that is no number
        raise StoreError(
            f"{redacted(given)!r} is no database address; give a path, or a URL such as "
            "postgresql://user@host/name"
        ) from None


def shown(url: URL) -> str:
    """Return the address without its password, which a query can hold too; for SQLite just the path."""
    if file_of(url):
        return str(url.database)
    secret = [name for name in url.query if _SECRET.search(name)]
    return url.difference_update_query(secret).render_as_string(hide_password=True)


def redacted(given: str) -> str:
    """Return what `--db` was given as it may be shown; what is no address loses all before an @."""
    try:
        return shown(make_url(given)) if "://" in given else given
    except (ArgumentError, ValueError):  # the latter for a port that is no number
        return _BEFORE_HOST.sub("://***@", given)


def file_of(url: URL) -> Path | None:
    """Return the database's file, or None where it has none (a server, or memory)."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def is_of(given: str | None, path: str) -> bool:
    """Return whether a file is, or is going to be, that of the database that `--db` means, or one that
    SQLite keeps beside it; `path` may be a link, and need not exist."""
    file = file_of(locate(given))
    if file is None:
        return False
    main, other = os.path.realpath(file), os.path.realpath(path)
    if other in [main + ending for ending in _BESIDE]:
        return True
    return os.path.exists(main) and os.path.exists(other) and os.path.samefile(main, other)


def engine_for(url: URL) -> Engine:
    """Return an engine whose transactions begin when it says so. Opens no connection yet."""
    try:
        if url.get_backend_name() != "sqlite":
            # One reading sees one moment, as in SQLite; and a server may have been started again.
            return create_engine(url, isolation_level="REPEATABLE READ", pool_pre_ping=True)
        memory = {} if file_of(url) else {"poolclass": StaticPool}
        engine = create_engine(
            url, connect_args={"check_same_thread": False, "timeout": BUSY_S}, **memory
        )
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(
            f"cannot use {shown(url)}: {error}. For PostgreSQL: pip install 'bargaining-arena[postgres]'"
        ) from None
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", Turns(file_of(url)).begin)
    return engine


def writing(engine: Engine, durable: bool = False) -> Connection:
    """Return a connection whose transactions take SQLite's write lock from the start, so that a reader
    never has to become a writer halfway (which fails at once where another is writing).

    SQLite's last transactions before a power cut may be lost, unless they are `durable`; a server's are
    as its settings say. On a server each statement sees what was committed before it, so that whoever
    waited for another writer sees what that one wrote.
    """
    connection = engine.connect()
    if engine.dialect.name != "sqlite":
        return connection.execution_options(isolation_level="READ COMMITTED")
    level = "FULL" if durable else "NORMAL"
    connection.connection.cursor().execute(f"PRAGMA synchronous = {level}")
    return connection.execution_options(immediate=True)


def take_turns(connection: Connection) -> None:
    """Wait until no other process migrates the database, and keep others out to the end of the
    transaction. SQLite's write lock does that already."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(MIGRATING)))


class bytewise(FunctionElement[str]):
    """Text to be sorted by its bytes, as SQLite sorts all text, whatever a server's collation."""

    type = String()
    inherit_cache = True


@compiles(bytewise)
def _plainly(element: Any, compiler: Any, **more: Any) -> str:
    return str(compiler.process(element.clauses, **more))


@compiles(bytewise, "postgresql")
def _in_c(element: Any, compiler: Any, **more: Any) -> str:
    return f'{compiler.process(element.clauses, **more)} COLLATE "C"'


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]], key: str) -> None:
    """Insert `rows`; one whose `key` is there already is left as it stands."""
    if rows:
        insert = _dialect(connection).insert(table)
        connection.execute(insert.on_conflict_do_nothing(index_elements=[key]), rows)


def upsert(
    connection: Connection, table: Table, rows: Sequence[dict[str, Any]], keys: Sequence[str]
) -> None:
    """Insert `rows`, which have every column; one whose `keys` are there already replaces what stands
    there. For what is derived or repeated, never for matches."""
    if rows:
        insert = _dialect(connection).insert(table)
        new = {name: insert.excluded[name] for name in table.c.keys() if name not in keys}  # noqa: SIM118
        connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=new), rows)


def trouble(url: URL, error: DBAPIError) -> StoreError:
    """Return what to tell the user of an error that the database raised."""
    cause, at = " ".join(str(error.orig).split()), shown(url)
    if isinstance(error.orig, sqlite3.DatabaseError):
        kind = Unavailable if "locked" in cause else StoreError
        for sign, advice in _ADVICE.items():
            if sign in cause:
                return kind(advice.format(at=at, cause=cause))
        return StoreError(f"{at}: {cause}")
    if f'database "{url.database}" does not exist' in cause:  # so PostgreSQL puts it
        return StoreError(f"{at} does not exist: create it first, with createdb {url.database}")
    if "No space left on device" in cause:
        return StoreError(_ADVICE["full"].format(at=at))
    if not _passes(error):
        return StoreError(f"{at}: {cause}")
    # A transaction that was lost while it was committed may be there: nothing is ever kept twice.
    return Unavailable(f"{at}: {cause}; what was committed is kept: run the command again")


def _passes(error: DBAPIError) -> bool:
    """Return whether a server that was reached before may answer again by itself. An error without a
    code is one of the connection."""
    if error.connection_invalidated:
        return True
    code = getattr(error.orig, "sqlstate", None) or "08"
    return isinstance(error, OperationalError) and code.startswith(_PASSING)


def inode(file: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from any other of this machine; None where there is none."""
    try:
        found = os.stat(file or "")
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _dialect(connection: Connection) -> Any:
    """Return the module whose INSERT knows conflicts; SQLAlchemy has no common one."""
    return postgresql if connection.dialect.name == "postgresql" else sqlite


def _set_up(dbapi: Any, record: object) -> None:
    dbapi.isolation_level = None  # the driver must not begin transactions by itself: Turns do
    for setting in (
        "foreign_keys = ON",
        "synchronous = NORMAL",
        f"busy_timeout = {BUSY_S * 1000}",
        f"cache_size = -{CACHE_KIB}",
    ):
        dbapi.execute(f"PRAGMA {setting}")


_ADVICE = {
    "not a database": "{at} is not a database; give the path of another file with --db",
    "unable to open": "cannot open {at}: it is a folder, or lies in one that does not exist or may not "
    "be written to; give the path of a file with --db",
    "locked": "{at} is being written to by another process; try again",
    # Reading takes a log beside the file as well.
    "readonly": "{at} or its folder may not be written to, which even reading needs: copy the file to "
    "a folder of your own and name it with --db",
    "malformed": "{at} is damaged: arena db check says where; restore it from a copy",
    "disk I/O": "{at} cannot be read or written ({cause}): look whether its disk is full, failing or "
    "gone, and run the command again; all that was committed is kept",
    "full": "the disk of {at} is full: make room and run the command again; all that was committed is "
    "kept",
}
"""What SQLite's error says, and what to do about it."""
