"""Many processes at one SQLite file: each has its turn to write, and the log beside it stays short."""

import multiprocessing
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from arena.design import Design
from arena.schedule import plan
from arena.store import Store, Unavailable, turns
from tests.arena.store import matches

WRITERS = 16


@contextmanager
def begun(path: Path, statement: str) -> Iterator[sqlite3.Connection]:
    """Give another program's connection, in a transaction that begins with a statement."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN")
        other.execute(statement).fetchall()
        yield other


def test_a_writer_waits_for_another(tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    with Store.open(str(path)) as store:
        matches.freeze(store, matches.design())
        before = store.revision()
        with begun(path, "UPDATE state SET revision = revision + 1") as other:
            later = threading.Timer(0.2, other.execute, ("COMMIT",))
            later.start()
            store.withdraw_match("nothing", "a test")
            later.join()
        assert store.revision() == before + 2


def test_who_never_has_a_turn_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "BUSY_S", 0.05)
    path = tmp_path / "arena.db"
    with Store.open(str(path)) as store:
        locked = pytest.raises(Unavailable, match="is being written to by another process; try again")
        with begun(path, "UPDATE state SET revision = revision + 1"), locked:
            store.withdraw_match("nothing", "a test")
        store.withdraw_match("nothing", "a test")


def test_a_long_log_is_emptied_once_no_reading_prevents_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LOG_BYTES", 100_000)
    monkeypatch.setattr(turns, "EMPTYING_S", 0.05)
    path, log = tmp_path / "arena.db", tmp_path / "arena.db-wal"
    with Store.open(str(path)) as store:
        matches.fill(store, matches.design())
        with begun(path, "SELECT revision FROM state"):
            while log.stat().st_size < 300_000:  # a reading keeps it, and holds nobody up
                store.withdraw_match("nothing", "a test")
        for _ in range(200):
            store.withdraw_match("nothing", "a test")
        assert log.stat().st_size < 110_000


def _write(address: str, design: Design, share: int, found: Any) -> None:
    """Store every sixteenth match of the design, each in a transaction of its own."""
    try:
        with Store.open(address) as store:
            scenarios = matches.freeze(store, design)
            for place in [*plan(design)][share::WRITERS]:
                store.add_matches([matches.row(design, place, scenarios[place.scenario])])
    except Exception as error:
        found.put(f"{type(error).__name__}: {error}")
        raise


def _poll(address: str, design: Design, done: Any, found: Any) -> None:
    """Read the board over and over, as a page does; tell how much of it there was in the end."""
    last = -1
    with Store.open(address) as store:
        while not done.is_set() or last < 0:
            now = len(store.results(design).key_M)
            assert now >= last
            last = now
        found.put(len(store.results(design).key_M))


@pytest.mark.slow
def test_sixteen_writers_and_a_reader_never_find_it_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = str(tmp_path / "arena.db")
    design = matches.design(scenarios=64, replicates=2)
    with Store.open(address) as store:
        matches.freeze(store, design)
    # Forked, so that they share what was imported, and the short log that is set here.
    monkeypatch.setattr(turns, "LOG_BYTES", 4 * 2**20)
    context = multiprocessing.get_context("fork")
    said, read, done = context.Queue(), context.Queue(), context.Event()
    reader = context.Process(target=_poll, args=(address, design, done, read))
    writers = [
        context.Process(target=_write, args=(address, design, share, said)) for share in range(WRITERS)
    ]
    for process in (reader, *writers):
        process.start()
    longest = 0
    for writer in writers:
        while writer.is_alive():
            writer.join(0.05)
            longest = max(longest, os.path.getsize(address + "-wal"))
    done.set()
    assert read.get(timeout=60) == len(plan(design))
    reader.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS, said.get(timeout=10)
    assert said.empty()
    assert longest < 64 * 2**20
