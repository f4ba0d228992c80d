"""A PostgreSQL server that is started again, cuts off connections, or stays away in mid-run."""

import signal
from pathlib import Path

import pytest

from arena import patience
from arena.store import Store
from tests.arena.chaos.disturbed import (
    PLANNED,
    TOURNAMENT,
    Record,
    ended,
    goes_on,
    start,
    wait_until_at_play,
)
from tests.arena.processes import committed
from tests.arena.running import invoke, rows
from tests.arena.store.server import Breakable

pytestmark = pytest.mark.slow
AWAY = "waiting for the database, up to 3 min, and keeping what is played"
BACK = "the database can be used again"


def test_a_server_that_is_started_again(
    tmp_path: Path, server: Breakable, on_server: str, undisturbed: Record
) -> None:
    """It ends at once, and answers again only when the run has noticed."""
    process = start(tmp_path, on_server)
    wait_until_at_play(on_server)
    server.crash()
    assert process.stderr is not None
    assert any(AWAY in line for line in process.stderr)
    server.start()
    said, progress = ended(process, 0)
    assert BACK in progress
    assert f"{PLANNED:,} of {PLANNED:,} scored" in said
    goes_on(tmp_path, on_server, undisturbed)


def test_connections_that_are_cut_off(
    tmp_path: Path, server: Breakable, on_server: str, undisturbed: Record
) -> None:
    name = on_server.rpartition("/")[2]
    process = start(tmp_path, on_server)
    wait_until_at_play(on_server)
    for _ in range(5):
        server.do(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    ended(process, 0)
    goes_on(tmp_path, on_server, undisturbed)


def test_a_server_that_stays_away(
    own_folder: None,
    tmp_path: Path,
    server: Breakable,
    on_server: str,
    undisturbed: Record,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run ends in good order, counts what is committed, and says what is not."""
    add, kept = Store.add_matches, []

    def crash_at_the_third(store: Store, batch: list[object]) -> None:
        kept.append(len(batch))
        if len(kept) == 3:
            server.crash()
        add(store, batch)

    monkeypatch.setattr(patience, "PATIENCE_S", 1.0)
    with monkeypatch.context() as crashing:
        crashing.setattr(Store, "add_matches", crash_at_the_third)
        said = invoke(*TOURNAMENT[:-1], 1, "--db", on_server, code=1)
    server.start()
    assert "Connection refused" in said
    assert "(finished, but not written: " in said
    assert f"; {len(rows(on_server)):,} of {PLANNED:,} scored" in said
    goes_on(tmp_path, on_server, undisturbed)


def test_a_wait_that_is_broken_off(
    tmp_path: Path, server: Breakable, on_server: str, undisturbed: Record
) -> None:
    process = start(tmp_path, on_server)
    wait_until_at_play(on_server)
    there = committed(on_server)
    server.crash()
    assert process.stderr is not None
    assert any(AWAY in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    assert any("yet to be written to the database; Ctrl-C again" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    ended(process, 1)
    server.start()
    assert committed(on_server) >= there
    goes_on(tmp_path, on_server, undisturbed)
