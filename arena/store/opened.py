"""An open database: how it is opened and closed, and its transactions."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError

from arena.store.database import (
    MissingDatabase,
    StoreError,
    engine_for,
    file_of,
    inode,
    locate,
    shown,
    trouble,
    writing,
)
from arena.store.measuring import Progress, bring_up_to_date
from arena.store.migrate import ready
from arena.store.models import STATE
from arena.store.packing import complete

_RAISED = sa.update(STATE).values(
    revision=STATE.c.revision + 1,
    # What was packed stays so: whoever writes matches packs them.
    packed=sa.case((STATE.c.packed == STATE.c.revision, STATE.c.revision + 1), else_=STATE.c.packed),
)


class Opened:
    """An open database. Use it as a context manager, or close it."""

    def __init__(self, engine: sa.Engine, backup: Path | None) -> None:
        self._engine = engine
        self.backup = backup
        """The copy that was made before an older database was migrated, if it just was."""
        self._inode = inode(file_of(engine.url))

    @classmethod
    def open(
        cls, address: str | None = None, *, create: bool = True, progress: Progress | None = None
    ) -> Self:
        """Open the database at `address` (an SQLAlchemy URL or a path; None: arena.db).

        A missing or empty one is created, an older one migrated after a backup copy; `progress` is told
        of matches that are measured again for it. With `create` false a missing file is an error.
        Raises StoreError with what to do.
        """
        url = locate(address)
        file = file_of(url)
        if not create and file is not None and not os.path.exists(file):
            raise MissingDatabase(
                f"there is no database at {shown(url)}: play a tournament first (arena run-tournament), "
                "or name another with --db"
            )
        engine = engine_for(url)
        try:
            backup = ready(engine)
            bring_up_to_date(engine, progress)
            complete(engine, progress)
            return cls(engine, backup)
        except DBAPIError as error:
            engine.dispose()
            raise trouble(url, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the connections."""
        self._engine.dispose()

    @property
    def address(self) -> str:
        """Where the database is, as it may be shown: a path, or a URL without its password."""
        return shown(self._engine.url)

    def revision(self) -> int:
        """Return a number that every write raises."""
        with self._reading() as connection:
            return int(connection.execute(sa.select(STATE.c.revision)).scalar_one())

    @contextmanager
    def _reading(self) -> Generator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise trouble(self._engine.url, error) from error

    @contextmanager
    def _writing(self, *, durable: bool = False) -> Generator[sa.Connection]:
        """Give a transaction that writes; a `durable` one outlasts a power cut once it is committed."""
        self._check_file()
        try:
            with writing(self._engine, durable) as connection, connection.begin():
                connection.execute(_RAISED)
                yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise trouble(self._engine.url, error) from error

    def _complete(self) -> None:
        """Pack what an older release stored since this one opened the database."""
        try:
            complete(self._engine)
        except DBAPIError as error:
            raise trouble(self._engine.url, error) from error

    def _check_file(self) -> None:
        """Raise StoreError where the file is no longer the one that was opened: SQLite would go on with
        that one, and what is written be gone with it."""
        if self._inode is not None and inode(file_of(self._engine.url)) != self._inode:
            raise StoreError(
                f"{self.address} was deleted, moved or replaced while it was in use, so nothing more is "
                "written: put it back, with the files beside it, or begin anew with the same command"
            )
