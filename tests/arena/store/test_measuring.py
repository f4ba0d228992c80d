"""Matches of an older release are measured when their database is opened: all of them, once."""

import numpy as np
import pytest
import sqlalchemy as sa

from arena.measures import DTYPE, VERSION
from arena.store import Store, StoreError, measuring
from tests.arena.running import rows
from tests.arena.store.matches import design, play_some
from tests.arena.store.raw import execute

TABLES = ("answers", "calls", "bills", "training_steps", "training_runs")
SINCE = (
    *(f"DROP TABLE {name}" for name in (*TABLES, "audits", "deviations", "measures", "packs")),
    "DROP INDEX ix_matches_withdrawn",
    "ALTER TABLE state DROP COLUMN measures_version",
    "ALTER TABLE state DROP COLUMN packed",
    "ALTER TABLE voids DROP COLUMN trouble",
    "UPDATE alembic_version SET version_num = '0001'",
)
"""Takes away what revisions after the first brought."""


def stored(address: str) -> dict[str, tuple[bytes, str | None]]:
    return {key: (found["content"], found["words"]) for key, found in rows(address, "measures").items()}


def set_version(address: str, state: int, measures: int) -> None:
    execute(address, "UPDATE state SET measures_version = :version", version=state)
    changed = "UPDATE measures SET version = :version, content = :content"
    execute(address, changed, version=measures, content=b"\0")


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


def test_the_first_release_s_database_is_migrated_and_measured(address: str, counted: list[str]) -> None:
    with Store.open(address) as store:
        expected = play_some(store)
        design_before, revision = store.designs(), store.revision()
    assert stored(address) == expected
    execute(address, *SINCE)
    before = rows(address)
    told: list[tuple[int, int]] = []
    with Store.open(address, progress=lambda done, total: told.append((done, total))) as store:
        assert (store.backup is None) == ("://" in address)
        assert store.backup is None or rows(store.backup) == before
        assert store.designs() == design_before
        assert store.revision() == revision + 1
        assert store.deviations(design().hash) == store.training_runs() == []
    assert stored(address) == expected
    assert rows(address) == before
    assert told == [*((min(done, 32), 32) for done in range(5, 40, 5)), (32, 32)]  # then packed
    assert sorted(counted) == sorted(expected)
    with Store.open(address) as store:
        assert store.backup is None
    assert len(counted) == len(expected)


def test_another_version_of_the_measures_is_measured_again(address: str, counted: list[str]) -> None:
    with Store.open(address) as store:
        expected = play_some(store)
    before = rows(address)
    set_version(address, VERSION - 1, VERSION - 1)
    with Store.open(address) as store:
        assert store.backup is None
    assert stored(address) == expected
    assert sorted(counted) == sorted(expected)
    assert rows(address) == before


def test_what_was_measured_before_a_crash_is_not_measured_again(
    address: str, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(address) as store:
        expected = play_some(store)
    execute(address, *SINCE)

    def crash(done: int, total: int) -> None:
        if done == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store.open(address, progress=crash)
    assert len(counted) == len(stored(address)) == 15
    Store.open(address).close()
    assert stored(address) == expected
    assert sorted(counted) == sorted(expected)


def test_measures_of_a_newer_release_are_refused(address: str) -> None:
    Store.open(address).close()
    set_version(address, VERSION + 1, VERSION + 1)
    with pytest.raises(StoreError, match=r"measured by a newer release.*upgrade bargaining-arena"):
        Store.open(address)


def test_a_match_without_measures_is_on_the_board_all_the_same(address: str) -> None:
    """An older release's process that still plays stores matches alone."""
    with Store.open(address) as store:
        expected = play_some(store)
        gone = sorted(expected)[3:7]
        for key in gone:
            execute(address, "DELETE FROM measures WHERE key = :key", key=key)
        found = store.results(design())
    by_key = zip(found.key_M, found.measures_M, found.words_M, strict=True)
    assert {str(key): (row.tobytes(), said) for key, row, said in by_key} == expected


def test_a_damaged_transcript_leaves_the_rest_readable(address: str) -> None:
    with Store.open(address) as store:
        expected = play_some(store)
    damaged = min(expected)
    damage = "UPDATE matches SET transcript = :content WHERE key = :key"
    execute(address, damage, content=b"\1\2", key=damaged)
    execute(address, *SINCE)
    Store.open(address).close()
    found = stored(address)
    content, said = found.pop(damaged)
    measured, intact = (np.frombuffer(of, DTYPE)[0] for of in (content, expected.pop(damaged)[0]))
    assert found == expected
    assert said is None
    assert measured["turns"].sum() == 0
    assert measured["distance"] == intact["distance"]
