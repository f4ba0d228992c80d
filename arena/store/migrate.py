"""Bringing a database to the revision that this release reads: created, migrated, or refused."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from arena.store.database import StoreError, file_of, shown, take_turns, writing

SCRIPTS = Path(__file__).parent / "migrations"
REVISIONS: tuple[str, ...] = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every revision, oldest first; a test holds that these are the migrations there are."""


def ready(engine: Engine) -> Path | None:
    """Bring the database to the newest revision. Returns the backup made first, if one was made.

    Raises StoreError for a database that is another program's, or of a revision that this release does
    not know. SQLAlchemy's errors pass through.
    """
    with engine.connect() as connection:
        found = _revision(connection, engine)
    if found == REVISIONS[-1]:
        return None
    backup = _back_up(engine, found) if found else None
    _keep_log_apart(engine)
    with writing(engine) as connection, connection.begin():
        take_turns(connection)
        # Another process may have been quicker while this one waited.
        if _revision(connection, engine) != REVISIONS[-1]:
            _upgrade(connection)
    return backup


def _revision(connection: Connection, engine: Engine) -> str | None:
    """Return the database's revision, None for an empty one."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if "alembic_version" not in tables:
        raise StoreError(
            f"{shown(engine.url)} is another program's database; give the path of another file with --db"
        )
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is not None and found not in REVISIONS:
        raise StoreError(
            f"{shown(engine.url)} was written by another release of bargaining-arena (its revision is "
            f"{found}, this release knows up to {REVISIONS[-1]}): upgrade bargaining-arena, or give "
            "another file with --db"
        )
    return found


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _back_up(engine: Engine, revision: str) -> Path | None:
    """Copy an SQLite database, including what is still in its write-ahead log. A server's is its own."""
    file = file_of(engine.url)
    if file is None:
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    backup = file.with_name(f"{file.name}.backup-{revision}-{stamp}")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    return backup


def _keep_log_apart(engine: Engine) -> None:
    """Set WAL mode, which stays with the file: readers then never wait for the writer."""
    if file_of(engine.url):
        with closing(engine.raw_connection()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
