"""The lock of a training run's folder: one process trains there at a time, and others can see whether it
still does.

The system lets go of the lock when the process ends, however it ends. The file says whose lock it is:
only on the machine of that process does a free one mean that nobody trains.
"""

import errno
import fcntl
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from arena.errors import UserError

RUNS = "runs"
"""Where the folders of runs lie unless another place is named."""
LOCK = ".lock"
LOOK_S = 0.5
"""It is tried for so long: whoever looks whether it is held (:func:`under_way`) shares it meanwhile."""


def check_place(folder: Path) -> None:
    """Raise UserError where a file stands where the folder of a run, or one above it, has to be."""
    if any(above.is_file() for above in (folder, *folder.parents)):
        raise _unwritable(folder, os.strerror(errno.ENOTDIR))


@contextmanager
def locked(folder: Path, database: str) -> Iterator[None]:
    """Keep every other process from training in `folder` meanwhile; make it where it is missing.

    `database` is the address of the store that holds the run. Raises UserError where another process
    trains there, or the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("ab", buffering=0)
    except OSError as error:
        raise _unwritable(folder, error.strerror) from error
    with lock as file:
        if not _lock(file):
            raise UserError(f"the run in {folder} is under way in another process")
        with suppress(OSError):  # a full disk; a lock that says nothing holds as well
            file.truncate(0)
            file.write(_whose(database))
        yield


def under_way(folder: Path, database: str) -> bool | None:
    """Return whether a process trains in `folder` the run of the store at `database`; None where that
    cannot be told here: there is no lock, or it is of another machine, or of a run of another store."""
    try:
        with (folder / LOCK).open("rb") as file:
            if file.read() != _whose(database):
                return None
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # let go of at once
            except BlockingIOError:
                return True
            return False
    except (OSError, ValueError):  # the latter for a name that is none
        return None


def _lock(file: IO[bytes]) -> bool:
    """Lock a file for this process alone, and return whether that came about."""
    until = time.monotonic() + LOOK_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        else:
            return True


def _whose(database: str) -> bytes:
    address = database if "://" in database else os.path.realpath(database)
    return f"{platform.node()}\n{address}\n".encode()


def _unwritable(folder: Path, why: str | None) -> UserError:
    return UserError(f"nothing can be written to {folder} ({why}): choose another --out")
