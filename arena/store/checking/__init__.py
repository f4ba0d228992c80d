"""Whether a record is what it says it is. Looks at everything in it, and changes nothing."""

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa
from alembic.migration import MigrationContext
from sqlalchemy.exc import DBAPIError

from arena.store.checking.contents import TABLES, contents
from arena.store.checking.looked import RESTORE, Check, Looking, Progress
from arena.store.checking.packs import packs
from arena.store.checking.plans import Played, plans
from arena.store.checking.played import played
from arena.store.checking.references import references
from arena.store.copying import count
from arena.store.database import MissingDatabase, StoreError, engine_for, file_of, locate, shown, trouble
from arena.store.migrate import REVISIONS
from arena.store.models import MATCHES, PACKS, VOIDS

__all__ = ["Check", "Checked", "Played", "check"]


class Checked(NamedTuple):
    """What a check of a record found."""

    address: str
    """Where the record is, as it may be shown."""
    checks: list[Check]
    designs: list[Played]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not any(check.wrong for check in self.checks)


def check(address: str | None, progress: Progress | None = None) -> Checked:
    """Look at a whole record as it stands at one moment, and change nothing; `progress` is told how many
    rows were looked at, and of how many.

    A file that SQLite cannot read whole is looked at as far as it goes. Raises StoreError where there is
    no record, or one of another release.
    """
    checks: list[Check] = []
    designs: list[Played] = []
    url = locate(address)
    try:
        with _reading(url) as connection:
            checks += _file(connection)
            _check_release(connection)
            tables = (*TABLES, MATCHES, VOIDS, PACKS, MATCHES)
            looking = Looking(connection, sum(count(connection, table) for table in tables), progress)
            checks.extend(references(looking))
            checks.extend(contents(looking))
            doubted = set[str]()
            checks.extend(played(looking, doubted))
            checks.extend(packs(looking, doubted))
            designs.extend(plans(connection))
    except DBAPIError as error:
        if not checks or not checks[0].wrong:
            raise trouble(url, error) from None
        checks[0].examples.append("the rest cannot be read")
    return Checked(shown(url), checks, designs)


@contextmanager
def _reading(url: sa.URL) -> Generator[sa.Connection]:
    """Give a connection that cannot write, in a transaction that sees one moment."""
    file = file_of(url)
    if file is not None and not os.path.exists(file):
        raise MissingDatabase(f"there is no database at {shown(url)}: name another with --db")
    engine = engine_for(url)
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
            else:
                connection.execution_options(postgresql_readonly=True)
            yield connection
    finally:
        engine.dispose()


def _check_release(connection: sa.Connection) -> None:
    """Raise StoreError where the record is not of the revision that this release reads."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found == REVISIONS[-1]:
        return
    at = shown(connection.engine.url)
    if found is None:
        raise StoreError(f"{at} holds no record: name another with --db")
    if found in REVISIONS:
        raise StoreError(
            f"{at} is of an older release, and a check changes nothing: any other command, such as "
            "arena designs, brings it up to date first, after a copy of an SQLite file"
        )
    raise StoreError(
        f"{at} was written by another release of bargaining-arena: upgrade bargaining-arena"
    )


def _file(connection: sa.Connection) -> Iterator[Check]:
    """Let SQLite look at its own file: pages, indices, and what may be null."""
    if connection.dialect.name != "sqlite":
        return
    check = Check("the file itself", RESTORE)
    try:
        for (line,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
            check.note("SQLite", None if line == "ok" else str(line))
    except DBAPIError as error:
        if not isinstance(error.orig, sqlite3.DatabaseError) or "malformed" not in str(error.orig):
            raise
        check.note("SQLite", str(error.orig))
    yield check
