"""Files that a tournament cannot write to: a full disk, read-only, deleted, replaced."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from arena.store import Store
from tests.arena.chaos.disturbed import (
    TOURNAMENT,
    Record,
    ended,
    goes_on,
    start,
    wait_until_at_play,
)
from tests.arena.processes import committed
from tests.arena.running import arena, invoke, outcomes

FULL = "is full: make room and run the command again; all that was committed is kept"
MEND = "Next: mend what ended the run, then run the same command again"


def mounted(*how: object) -> bool:
    """Mount something, where that is allowed; return whether it is."""
    try:
        return subprocess.run(["mount", *map(str, how)], capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own of 16 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mounted("-t", "tmpfs", "-o", "size=16m", "tmpfs", folder):
        pytest.skip("nothing may be mounted here; test_a_database_that_may_not_grow does without")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fill a disk to the last byte, and make room at the end."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**20, 4096):  # what is free may not be a multiple of the first
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                pass
    yield
    ballast.unlink()


@pytest.mark.slow
def test_a_disk_that_gets_full(tmp_path: Path, small_disk: Path, undisturbed: Record) -> None:
    database = small_disk / "arena.db"
    process = start(tmp_path, database, "--log-file", small_disk / "log.jsonl")
    wait_until_at_play(database)
    with filled(small_disk):
        said, progress = ended(process, 1)
        assert f"Attention: the disk of {database} {FULL}" in said
        assert MEND in said
        assert f"; {committed(database):,} of " in said
        assert "the log file is not complete: No space left on device" in progress
        again = arena(*TOURNAMENT, "--db", database, cwd=tmp_path)
        assert again.returncode == 2
        assert f"Error: the disk of {database} {FULL}" in again.stderr
        assert "Traceback" not in again.stderr
    goes_on(tmp_path, database, undisturbed)


@pytest.mark.usefixtures("own_folder")
def test_a_database_that_may_not_grow() -> None:
    """SQLite says the same of a full disk and of a file that is as large as it may be."""
    small = ("run-tournament", "--sellers", "boulware,random", "--buyers", "linear", "--workers", 1)
    small += ("--domains", "coffee_import", "--scenarios", 64, "--db")
    invoke(*small, "other.db")
    Store.open("arena.db").close()

    def limit(connection: sqlite3.Connection, record: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")

    sa.event.listen(sa.Engine, "connect", limit)
    try:
        said = invoke(*small, "arena.db", code=1)
    finally:
        sa.event.remove(sa.Engine, "connect", limit)
    assert f"Attention: the disk of arena.db {FULL}" in said
    assert MEND in said
    assert "(finished, but not written: " in said
    assert committed("arena.db") < 128
    invoke(*small, "arena.db")
    assert outcomes("arena.db") == outcomes("other.db")


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Keep everyone from writing to a file or into a folder. Skips for a root that may not mount."""
    if os.geteuid() != 0:
        mode = path.stat().st_mode
        path.chmod(mode & 0o555)
        yield
        path.chmod(mode)
        return
    with ExitStack() as stack:
        if not mounted("--bind", path, path):
            pytest.skip("root may not mount anything here, and modes do not bind it")
        stack.callback(subprocess.run, ["umount", "--lazy", path], check=True)
        assert mounted("-o", "remount,bind,ro", path)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_database_that_is_read_only(tmp_path: Path, what: str, undisturbed: Record) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    database = folder / "arena.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    process.terminate()
    ended(process, 1)
    with read_only(database if what == "file" else folder):
        done = arena(*TOURNAMENT, "--db", database, cwd=tmp_path)
        assert done.returncode == 2
        said = done.stderr.splitlines()[-1]
        assert said.startswith("Error: ")
        assert str(database) in said
        assert "may not be written to" in said
        assert "with --db" in said
        assert "Traceback" not in done.stderr
    goes_on(tmp_path, database, undisturbed)


GONE = "was deleted, moved or replaced while it was in use, so nothing more is written"


@pytest.mark.slow
def test_a_database_that_is_deleted(tmp_path: Path, undisturbed: Record) -> None:
    database = tmp_path / "arena.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    for ending in ("", "-wal", "-shm"):
        Path(f"{database}{ending}").unlink()
    said, _ = ended(process, 1)
    assert f"Attention: {database} {GONE}" in said
    assert MEND in said
    assert not database.exists(), "nothing was put in its place"
    goes_on(tmp_path, database, undisturbed)


@pytest.mark.slow
def test_a_database_that_is_replaced(tmp_path: Path, undisturbed: Record) -> None:
    """By an earlier copy: what the run commits later goes into neither."""
    database, copy = tmp_path / "arena.db", tmp_path / "copy.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    before = outcomes(copy)
    copy.replace(database)
    said, _ = ended(process, 1)
    assert f"Attention: {database} {GONE}" in said
    assert outcomes(database) == before
    goes_on(tmp_path, database, undisturbed)
