"""A record copied whole into another database, on SQLite or PostgreSQL, or not at all.

The copy is one transaction, which ends only once what stands in it was read again: whatever happens
before, a kill too, the target is as empty as it was, and the same command begins anew.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlmodel import SQLModel

import arena.store.training_tables  # noqa: F401  (fills the metadata, as the models do)
from arena.store.database import StoreError, engine_for, locate, shown, trouble, upsert
from arena.store.models import STATE
from arena.store.opened import Opened

CHUNK = 500
"""Rows in memory at a time."""
LARGE = {"packs": 8}
"""The same, of tables whose rows hold thousands of matches each."""
_OWN = ("alembic_version", STATE.name)
"""What an empty database of ours has a row in."""

Progress = Callable[[int, int], None]
"""Is told how many rows are written or read again, and of how many."""


class Copied(NamedTuple):
    """A table that was copied."""

    table: str
    rows: int
    hash: str
    """Of its content, the same on every database: 64 hexadecimal digits, see :class:`ContentHash`."""


class ContentHash:
    """The number of some rows, and a hash of them that their order does not change: the sum, modulo
    2**256, of the SHA-256 of each row's values as MessagePack. Each database has an order of its own,
    and sorting a million transcripts would take longer than copying them. Zero has no sign here, since
    SQLite keeps none. All this project's choice."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, rows: Sequence[Iterable[Any]]) -> None:
        """Take in rows of plain values: text, bytes, whole numbers, floats, booleans and None."""
        self.rows += len(rows)
        for row in rows:
            values = [(value or 0.0) if type(value) is float else value for value in row]
            self._sum += int.from_bytes(sha256(msgspec.msgpack.encode(values)).digest(), "big")

    def __str__(self) -> str:
        return f"{self._sum % 2**256:064x}"


class Copies(Opened):
    """The part of a store that copies all of it."""

    def copy_to(self, address: str, progress: Progress | None = None) -> list[Copied]:
        """Copy every table, as it stands at one moment, into the database at `address`, which has to be
        new or empty; return what was copied, in the order in which tables refer to each other.

        Raises StoreError where the target holds something, where it cannot hold what stands here, and
        where what it holds then is not what stands here. The target is left empty in each case.
        """
        _refuse_filled(address)
        with (
            Opened.open(address) as target,
            self._reading() as here,
            target._writing(durable=True) as there,
        ):
            # Nobody else can write there from now on: all begin by that row of `state`.
            _check_empty(there)
            return self._copy(here, there, progress or (lambda done, total: None))

    def _copy(self, here: sa.Connection, there: sa.Connection, progress: Progress) -> list[Copied]:
        tables = SQLModel.metadata.sorted_tables
        counts = [count(here, table) for table in tables]
        done, total, expected = 0, 2 * sum(counts), list[ContentHash]()
        for table in tables:
            expected.append(ContentHash())
            for rows in self._chunks(here, table):
                expected[-1].add(rows)
                self._insert(there, table, rows)
                done += len(rows)
                progress(done, total)
            _continue_numbers(there, table)
        if there.dialect.name == "postgresql":
            there.execute(sa.text("ANALYZE"))  # without which it reads a table that grew as a small one
        for table, its in zip(tables, expected, strict=True):
            found = ContentHash()
            for rows in _chunks(there, table):
                found.add(rows)
                done += len(rows)
                progress(done, total)
            if (found.rows, str(found)) != (its.rows, str(its)):
                raise StoreError(
                    f"the table {table.name} of {self.address} does not read the same from "
                    f"{shown(there.engine.url)} ({its.rows:,} rows here, {found.rows:,} there): nothing "
                    "was copied; arena db check says whether something is wrong here"
                )
        return [
            Copied(table.name, its.rows, str(its)) for table, its in zip(tables, expected, strict=True)
        ]

    def _insert(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Any]) -> None:
        values = [row._asdict() for row in rows]
        try:
            if table is STATE:
                upsert(connection, STATE, values, ["id"])
            else:
                connection.execute(sa.insert(table), values)
        except IntegrityError as error:
            raise StoreError(
                f"{self.address} does not hold together ({str(error.orig).strip()}), and nothing was "
                "copied: arena db check says what is wrong with it"
            ) from None

    def _chunks(self, connection: sa.Connection, table: sa.Table) -> Generator[Sequence[Any]]:
        """Yield the rows, whose troubles are this database's, not the target's."""
        try:
            yield from _chunks(connection, table)
        except DBAPIError as error:
            raise trouble(self._engine.url, error) from error


def _refuse_filled(address: str) -> None:
    """Refuse a database that holds something, before it is migrated, or made one of ours."""
    url = locate(address)
    engine = engine_for(url)
    try:
        with engine.connect() as connection:
            _check_empty(connection)
    except DBAPIError as error:
        raise trouble(url, error) from None
    finally:
        engine.dispose()


def _check_empty(connection: sa.Connection) -> None:
    for name in sa.inspect(connection).get_table_names():
        some = sa.select(sa.literal(1)).select_from(sa.table(name)).limit(1)
        if name not in _OWN and connection.execute(some).first():
            raise StoreError(
                f"{shown(connection.engine.url)} is not empty (its table {name} has rows), and was left "
                "as it is: copy to a new file, or to an empty database"
            )


def _chunks(connection: sa.Connection, table: sa.Table) -> Generator[Sequence[Any]]:
    # Rows are fetched as they are asked for, on a server too.
    few = {"yield_per": LARGE.get(table.name, CHUNK)}
    found: Any = connection.execute(sa.select(table).execution_options(**few))
    yield from found.partitions()


def count(connection: sa.Connection, rows: sa.FromClause, *where: sa.ColumnElement[bool]) -> int:
    """Return how many rows there are in a table, or in joined ones."""
    found: Any = connection.execute(sa.select(sa.func.count()).select_from(rows).where(*where))
    return int(found.scalar_one())


def _continue_numbers(connection: sa.Connection, table: sa.Table) -> None:
    """Let a table that numbers its rows go on after the last number. SQLite does so by itself."""
    numbered = table.autoincrement_column
    if numbered is None or connection.dialect.name != "postgresql":
        return
    last = connection.execute(sa.select(sa.func.max(numbered))).scalar()
    if last is not None:
        sequence = sa.func.pg_get_serial_sequence(table.name, numbered.name)
        connection.execute(sa.select(sa.func.setval(sequence, last)))
