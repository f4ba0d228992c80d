"""How transactions begin on an SQLite file that many processes write to: in turns, and with a log that
stays short.

SQLite by itself looks the less often for its turn the longer it waits, so that where many write without
a pause one of them hardly ever has it. And it starts its write-ahead log anew only at a moment at which
nobody else reads or writes: where many do there is none, and the log grows as long as they do. The
numbers here are this project's choice.
"""

import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

BUSY_S = 60
"""Seconds that a statement waits for other processes before it gives up."""
LOOK_S = 0.02
"""Between two looks whether it is one's turn, at most; who has waited long looks more often."""
LOG_BYTES = 64 * 2**20
"""A log that is so long is emptied before anybody writes more."""
EMPTYING_S = 5.0
"""So long writers wait for that, and for readings that began before: a board's, of a million matches,
takes two seconds."""


class Turns:
    """Begins the transactions of one engine."""

    def __init__(self, file: Path | None) -> None:
        """`file`: the database's; None: it is in memory, and nobody else's."""
        self._log = None if file is None else os.path.realpath(file) + "-wal"
        self._most = LOG_BYTES
        self._others = False
        """Whether others were writing the last time."""

    def begin(self, connection: Connection) -> None:
        """Begin a transaction; one of a connection that is to be `immediate` has the write lock then."""
        if not connection.get_execution_options().get("immediate", False):
            connection.exec_driver_sql("BEGIN")
            return
        if self._others:
            # One of them looks meanwhile: none would be as quick as who has just written.
            time.sleep(LOOK_S)
        driver, began = connection.connection.driver_connection, time.monotonic()
        self._others = False
        try:
            while not self._begun(connection, driver, last=time.monotonic() - began > BUSY_S):
                self._others, waited_s = True, time.monotonic() - began
                time.sleep(LOOK_S * random.random() / (1 + waited_s))
        finally:
            _wait(driver, BUSY_S)

    def _begun(self, connection: Connection, driver: Any, last: bool) -> bool:
        """Return whether it was one's turn to write. Raises OperationalError where it cannot be, or was
        not at the `last` look."""
        if self._length() >= self._most:
            self._empty(connection, driver)
        _wait(driver, 0)
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError as error:
            if last or not _busy(error.orig):
                raise
            return False
        return True

    def _empty(self, connection: Connection, driver: Any) -> None:
        """Empty the log, or wait for whoever does. Where a long reading prevents it, it is tried again
        once the log is twice as long."""
        until = time.monotonic() + EMPTYING_S
        while (left_s := until - time.monotonic()) > 0:
            _wait(driver, left_s)
            # Returns at once where another does it.
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").close()
            if self._length() < LOG_BYTES:
                self._most = LOG_BYTES
                return
            time.sleep(LOOK_S * random.random())
        self._most = 2 * self._length()

    def _length(self) -> int:
        try:
            return 0 if self._log is None else os.path.getsize(self._log)
        except FileNotFoundError:
            return 0


def _busy(error: BaseException | None) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _wait(driver: Any, seconds: float) -> None:
    """Have statements wait so long for other processes."""
    driver.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
