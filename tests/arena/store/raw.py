"""Databases made and changed behind the store's back, on whichever server they are."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlmodel import SQLModel

from arena.store import migrate
from arena.store.database import locate


@contextmanager
def connected(address: str) -> Iterator[sa.Connection]:
    """Give a connection in a transaction, which is committed at the end."""
    engine = sa.create_engine(locate(address))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def execute(address: str, *statements: str, **values: object) -> None:
    """Execute statements of SQL, all with the same `values`, in one transaction."""
    with connected(address) as connection:
        for statement in statements:
            connection.execute(sa.text(statement), values)


def revision(address: str) -> str:
    """Return the revision that a database says it is of."""
    with connected(address) as connection:
        return str(connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one())


def difference(address: str) -> list[object]:
    """Return in what a database's tables differ from what the models say."""
    with connected(address) as connection:
        return list(compare_metadata(MigrationContext.configure(connection), SQLModel.metadata))


def contents(address: str) -> dict[str, list[dict[str, object]]]:
    """Return the rows of all tables there are, in the order of their keys."""
    with connected(address) as connection:
        return {
            table.name: [dict(row) for row in connection.execute(_whole(table)).mappings()]
            for table in _tables(connection)
        }


def make_as_of(address: str, revision: str, source: str) -> None:
    """Make a database as the release of `revision` left it, with what it can hold of another's rows."""
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    with connected(address) as new, connected(source) as old:
        config.attributes["connection"] = new
        command.upgrade(config, revision)
        for table in _tables(new):
            # Numbers are given by the database, from a sequence that it has to know of.
            kept = [name for name in table.c.keys() if name != "id" or table.name == "bills"]  # noqa: SIM118
            typed = SQLModel.metadata.tables[table.name]
            wanted = sa.select(*(typed.c[name] for name in kept)).order_by(*typed.primary_key)
            rows = [dict(row) for row in old.execute(wanted).mappings()]
            if table.name == "state":
                new.execute(sa.update(table).values(revision=rows[0]["revision"]))
            elif rows:
                new.execute(sa.insert(table), rows)


def _tables(connection: sa.Connection) -> list[sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != "alembic_version"]


def _whole(table: sa.Table) -> sa.Select[tuple[object, ...]]:
    return sa.select(table).order_by(*table.primary_key)
