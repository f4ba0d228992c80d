"""Looking at processes, and at what they have committed."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg


def alive(pid: int) -> bool:
    """Return whether a process runs (one that only waits to be collected does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children(pid: int) -> list[int]:
    """Return the processes that a process started, the first first."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return sorted(found)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def committed(database: Path | str) -> int:
    """Return how many matches are in a database, a file or an address on PostgreSQL; none where there
    is none."""
    query = "SELECT COUNT(*) FROM matches"
    if "://" in str(database):
        try:
            with psycopg.connect(str(database).replace("+psycopg", "")) as connection:
                return int(connection.execute(query).fetchall()[0][0])
        except psycopg.Error:
            return 0  # it does not answer, or its tables are not made yet
    if not Path(database).exists():
        return 0
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        try:
            return int(connection.execute(query).fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # its tables are not made yet
