"""Matches of an older release are measured when their database is opened: all of them, once."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from agents.agent import ActionKind, Usage
from arena.measures import DTYPE, VERSION, Yardstick, words
from arena.play import Attempt, Turn
from arena.protocol import Fault
from arena.schedule import plan
from arena.store import Store, StoreError, measuring
from arena.transcript import encode
from scenarios.scenario import Role
from tests.arena.running import rows
from tests.arena.store.matches import design, freeze, row

TABLES_SINCE = (
    *(
        "answers",
        "calls",
        "bills",
        "training_steps",
        "training_runs",
        "audits",
        "deviations",
        "measures",
    ),
)


def play_some(store: Store) -> dict[str, tuple[bytes, str | None]]:
    """Store a match with turns at every place; return what is to be measured, by key."""
    plan_of, expected = design(), {}
    scenarios = freeze(store, plan_of)
    for number, place in enumerate(plan(plan_of)):
        scenario = scenarios[place.scenario]
        deal = tuple((number + t) % len(term.options) for t, term in enumerate(scenario.terms))
        fault = Attempt("x", Fault.EMPTY, Usage(1, 1, None, None))
        turns = [
            Turn(Role.SELLER, ActionKind.PROPOSE, deal, f"Take {number} of them", "", (fault,)),
            Turn(Role.BUYER, ActionKind.ACCEPT, None, "", "because"),
        ]
        content, said = Yardstick(scenario).row(turns, deal), words(turns)
        changes = {"deal": str(list(deal)), "transcript": encode(turns), "measures": content}
        made = row(plan_of, place, scenario, **changes, words=said)
        store.add_matches([made])
        expected[made.key] = (content, said)
    return expected


def make_older(database: Path) -> None:
    """Take away what revisions from 0002 on brought."""
    with closing(sqlite3.connect(database)) as connection:
        for table in TABLES_SINCE:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE state DROP COLUMN measures_version")
        connection.execute("ALTER TABLE voids DROP COLUMN trouble")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
        connection.commit()


def stored(database: Path) -> dict[str, tuple[bytes, str | None]]:
    return {key: (found["content"], found["words"]) for key, found in rows(database, "measures").items()}


def set_version(database: Path, state: int, measures: int) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE state SET measures_version = ?", (state,))
        connection.execute("UPDATE measures SET version = ?, content = x'00'", (measures,))
        connection.commit()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "arena.db"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that every measured key goes to."""
    keys: list[str] = []
    before = measuring.measure

    def measure(connection: sa.Connection, wanted: list[str]) -> object:
        keys.extend(wanted)
        return before(connection, wanted)

    monkeypatch.setattr(measuring, "measure", measure)
    monkeypatch.setattr(measuring, "BATCH", 5)
    return keys


def test_the_first_release_s_database_is_migrated_and_measured(
    database: Path, counted: list[str]
) -> None:
    with Store.open(str(database)) as store:
        expected = play_some(store)
        design_before, revision = store.designs(), store.revision()
    assert stored(database) == expected
    make_older(database)
    before = rows(database)
    told: list[tuple[int, int]] = []
    with Store.open(str(database), progress=lambda done, total: told.append((done, total))) as store:
        assert store.backup is not None
        assert rows(store.backup) == before
        assert store.designs() == design_before
        assert store.revision() == revision + 1
        assert store.deviations(design().hash) == store.training_runs() == []
    assert stored(database) == expected
    assert rows(database) == before
    assert told == [(min(done, 32), 32) for done in range(5, 40, 5)]
    assert sorted(counted) == sorted(expected)
    with Store.open(str(database)) as store:
        assert store.backup is None
    assert len(counted) == len(expected)


def test_another_version_of_the_measures_is_measured_again(database: Path, counted: list[str]) -> None:
    with Store.open(str(database)) as store:
        expected = play_some(store)
    before = rows(database)
    set_version(database, VERSION - 1, VERSION - 1)
    with Store.open(str(database)) as store:
        assert store.backup is None
    assert stored(database) == expected
    assert sorted(counted) == sorted(expected)
    assert rows(database) == before


def test_what_was_measured_before_a_crash_is_not_measured_again(
    database: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(str(database)) as store:
        expected = play_some(store)
    make_older(database)

    def crash(done: int, total: int) -> None:
        if done == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store.open(str(database), progress=crash)
    assert len(counted) == len(stored(database)) == 15
    Store.open(str(database)).close()
    assert stored(database) == expected
    assert sorted(counted) == sorted(expected)


def test_measures_of_a_newer_release_are_refused(database: Path) -> None:
    Store.open(str(database)).close()
    set_version(database, VERSION + 1, VERSION + 1)
    with pytest.raises(StoreError, match=r"measured by a newer release.*upgrade bargaining-arena"):
        Store.open(str(database))


def test_a_match_without_measures_is_on_the_board_all_the_same(database: Path) -> None:
    """An older release's process that still plays stores matches alone."""
    with Store.open(str(database)) as store:
        expected = play_some(store)
        gone = sorted(expected)[3:7]
        with closing(sqlite3.connect(database)) as connection:
            connection.executemany("DELETE FROM measures WHERE key = ?", [(key,) for key in gone])
            connection.commit()
        found = store.results(design())
    by_key = zip(found.key_M, found.measures_M, found.words_M, strict=True)
    assert {str(key): (row.tobytes(), said) for key, row, said in by_key} == expected


def test_a_damaged_transcript_leaves_the_rest_readable(database: Path) -> None:
    with Store.open(str(database)) as store:
        expected = play_some(store)
    damaged = min(expected)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE matches SET transcript = x'0102' WHERE key = ?", (damaged,))
        connection.commit()
    make_older(database)
    Store.open(str(database)).close()
    found = stored(database)
    content, said = found.pop(damaged)
    measured, intact = (np.frombuffer(of, DTYPE)[0] for of in (content, expected.pop(damaged)[0]))
    assert found == expected
    assert said is None
    assert measured["turns"].sum() == 0
    assert measured["distance"] == intact["distance"]
