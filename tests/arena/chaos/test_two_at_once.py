"""Two tournaments on one database at once, and one on a file that another process keeps for itself."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from arena.lineup import request_from, resolve
from arena.store import Filter, Store, turns
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.arena.chaos.disturbed import Record, ended, goes_on, record, start
from tests.arena.running import arena, in_a_group


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that there is not, or an empty one on a server."""
    if request.param == "sqlite":
        return str(tmp_path / "arena.db")
    return str(request.getfixturevalue("on_server"))


@pytest.mark.slow
def test_of_the_same_design(tmp_path: Path, database: str, undisturbed: Record) -> None:
    """Both come to their end; a match that both play is kept once."""
    both = [start(tmp_path, database) for _ in range(2)]
    for process in both:
        said, _ = ended(process, 0)
        assert "Attention: nothing" in said
    goes_on(tmp_path, database, undisturbed)


@pytest.mark.slow
def test_of_designs_that_share_matches(tmp_path: Path, database: str, undisturbed: Record) -> None:
    fewer = ("--sellers", "boulware,hardliner", "--buyers", "linear", "--scenarios", "96")
    other = ("run-tournament", *fewer, "--domains", "car_sale,coffee_import", "--db")
    process, beside = start(tmp_path, database), in_a_group(*other, database, cwd=tmp_path)
    ended(process, 0)
    ended(beside, 0)
    alone = tmp_path / "alone.db"
    assert arena(*other, alone, cwd=tmp_path).returncode == 0
    ours, theirs = record(database), record(alone)
    shared = undisturbed.matches.keys() & theirs.matches.keys()
    assert len(shared) == 64 * 2
    assert ours.matches == undisturbed.matches | theirs.matches
    assert ours.measures == undisturbed.measures | theirs.measures


def test_a_file_that_is_locked_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run waits for it, and tells so."""
    asked = {"sellers": ["boulware"], "buyers": ["linear"], "domains": ["car_sale"], "scenarios": 8}
    monkeypatch.setattr(turns, "BUSY_S", 0.05)
    away: list[str | None] = []
    with (
        Store.open(str(tmp_path / "arena.db")) as store,
        closing(sqlite3.connect(tmp_path / "arena.db", isolation_level=None)) as other,
    ):

        def lock(summary: Summary) -> None:
            if not away:
                other.execute("BEGIN IMMEDIATE")
            elif summary.away is not None and other.in_transaction:
                other.execute("ROLLBACK")
            away.append(summary.away)

        run = Tournament(store, resolve(request_from(asked), store), Settings(workers=1))
        assert run.run(lock).complete
        assert f"{store.address} is being written to by another process; try again" in away
        assert away[-1] is None
        assert store.count(Filter()) == 8
