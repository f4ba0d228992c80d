"""Opening a database: created, migrated after a backup, or refused with advice."""

import shutil
import sqlite3
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from agents.language_model.book import Came
from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.schedule import plan
from arena.store import Bill, Call, Registration, RunStatus, Store, StoreError, migrate
from tests.arena.running import rows
from tests.arena.store.matches import design, fill, freeze, play_some, row
from tests.arena.store.raw import contents, difference, execute, make_as_of, revision

NOW = migrate.REVISIONS[-1]
NEXT = f'''"""A later release."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "9999", "{NOW}"


def upgrade():
    op.add_column("matches", sa.Column("mood", sa.Text()))
    op.execute("UPDATE matches SET mood = 'calm'")
'''


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that makes this release one that knows a revision more."""

    def release() -> None:
        scripts = tmp_path / "migrations"
        shutil.copytree(migrate.SCRIPTS, scripts)
        (scripts / "versions" / "9999_mood.py").write_text(NEXT)
        monkeypatch.setattr(migrate, "SCRIPTS", scripts)
        monkeypatch.setattr(migrate, "REVISIONS", (*migrate.REVISIONS, "9999"))

    return release


def on_server(address: str) -> bool:
    return "://" in address


def everything(store: Store) -> None:
    """Put something into every table."""
    plan_of, other = design(), design(seed=3)
    (key, *_) = play_some(store)
    store.withdraw_match(key, "a test")
    scenarios = freeze(store, other)
    place = next(iter(plan(other)))
    void = {"ending": "provider_error", "deal": None, "seller_utility": None, "buyer_utility": None}
    store.add_void(row(other, place, scenarios[place.scenario], trouble="server", **void))
    agent = spec_of("linear")
    store.add_registrations([Registration("a", agent, "both", Profile(), Connection(), "2026")])
    store.add_deviation(plan_of.hash, "n", "fewer", "no money")
    store.add_audit(agent.version, {"exploitable": False})
    store.add_training_run("run", {"seed": 1})
    store.add_training_steps("run", [(1, {"reward": 0.5})])
    store.end_training_run("run", RunStatus.STOPPED, "it had collapsed")
    call = Call("0" * 12, 1, agent.version, key, 1, "2026", Came.ANSWER, None, 9, 7, 100, 10, 0.5)
    store.enter(Bill("0" * 12, plan_of.hash, "2026", 7), [call], [], [("f" * 32, b"\0\xff")])


def measured(store: Store) -> dict[str, tuple[bytes, str | None]]:
    """Return each match's measures and words, by its key."""
    found = store.results(design())
    rows = zip(found.key_M, found.measures_M, found.words_M, strict=True)
    return {str(key): (row.tobytes(), said) for key, row, said in rows}


def test_the_migrations_make_what_the_models_say(unopened: str) -> None:
    Store.open(unopened).close()
    assert difference(unopened) == []


@pytest.mark.parametrize("release", migrate.REVISIONS[:-1])
def test_a_database_of_every_release_is_migrated(unopened: str, tmp_path: Path, release: str) -> None:
    source = str(tmp_path / "source.db")
    with Store.open(source) as store:
        everything(store)
        expected = measured(store)
    assert all(contents(source).values())
    make_as_of(unopened, release, source)
    before = contents(unopened)
    with Store.open(unopened) as store:
        assert (store.backup is None) == on_server(unopened)
        assert store.backup is None or contents(str(store.backup)) == before
        assert measured(store) == expected
        after = contents(unopened)
        for table in before.keys() - {"state"}:
            for old, new in zip(before[table], after[table], strict=True):
                assert new == dict.fromkeys(new) | old  # what older releases did not know is null
        everything(store)
    assert revision(unopened) == NOW
    assert difference(unopened) == []


def test_the_known_revisions_are_those_there_are() -> None:
    scripts = ScriptDirectory(str(migrate.SCRIPTS))
    assert [s.revision for s in scripts.walk_revisions()][::-1] == list(migrate.REVISIONS)


def test_an_older_database_is_migrated_after_a_backup(address: str, later) -> None:
    with Store.open(address) as store:
        made = fill(store, design())
    before = rows(address)
    later()
    with Store.open(address) as store:
        assert (store.backup is None) == on_server(address)
        if store.backup is not None:
            assert revision(str(store.backup)) == NOW
            assert rows(store.backup) == before
    assert revision(address) == "9999"
    after = rows(address)
    assert {row.pop("mood") for row in after.values()} == {"calm"}
    assert after == before
    assert len(after) == len(made)
    with Store.open(address) as store:
        assert store.backup is None


def test_the_backup_holds_what_is_still_in_the_write_ahead_log(tmp_path: Path, later) -> None:
    database = tmp_path / "arena.db"
    with Store.open(str(database)) as writer:
        made = fill(writer, design())
        assert (tmp_path / "arena.db-wal").stat().st_size > 0
        later()
        with Store.open(str(database)) as store:
            assert store.backup is not None
            assert len(rows(store.backup)) == len(made)


def test_a_failed_migration_leaves_the_database_as_it_was(address: str, later) -> None:
    with Store.open(address) as store:
        fill(store, design())
    before = rows(address)
    later()
    script = migrate.SCRIPTS / "versions" / "9999_mood.py"
    script.write_text(script.read_text() + "    raise RuntimeError('no')\n")
    with pytest.raises(RuntimeError):
        Store.open(address)
    assert revision(address) == NOW
    assert rows(address) == before


def test_a_newer_database_is_refused_untouched(address: str, tmp_path: Path) -> None:
    Store.open(address).close()
    execute(address, "UPDATE alembic_version SET version_num = '0099'")
    with pytest.raises(StoreError, match=r"0099.*upgrade bargaining-arena"):
        Store.open(address)
    assert revision(address) == "0099"
    assert list(tmp_path.glob("*backup*")) == []


@pytest.mark.parametrize("content", [b"seller,buyer\n1,2\n" * 99, b"\x89PNG" + bytes(5000)])
def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.csv"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(str(file))
    assert file.read_bytes() == content


def test_another_programs_database_is_refused(unopened: str) -> None:
    execute(unopened, "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreError, match="another program's database"):
        Store.open(unopened)


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "arena.db").touch()
    with Store.open(str(tmp_path / "arena.db")) as store:
        assert store.designs() == []


def test_what_may_not_be_written_to_is_said_to_be(tmp_path: Path) -> None:
    Store.open(str(tmp_path / "arena.db")).close()
    with (
        Store.open(f"sqlite:///file:{tmp_path}/arena.db?mode=ro&uri=true") as store,
        pytest.raises(StoreError, match="copy the file to a folder of your own"),
    ):
        fill(store, design())


def test_a_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    Store.open(str(tmp_path / "arena.db")).close()

    def limit(connection: sqlite3.Connection, record: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # no more than there are

    sa.event.listen(sa.Engine, "connect", limit)
    try:
        with (
            Store.open(str(tmp_path / "arena.db")) as store,
            pytest.raises(StoreError, match="is full: make room"),
        ):
            fill(store, design())
    finally:
        sa.event.remove(sa.Engine, "connect", limit)


def test_where_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open().close()
    assert (tmp_path / "arena.db").exists()
    Store.open("a folder's % name?.db").close()
    assert (tmp_path / "a folder's % name?.db").exists()
    Store.open(f"sqlite:///{tmp_path}/url.db").close()
    assert (tmp_path / "url.db").exists()
    with pytest.raises(StoreError, match="one that does not exist"):
        Store.open("nowhere/x.db")
    with pytest.raises(StoreError, match="no database address"):
        Store.open("://x")
    with pytest.raises(StoreError, match=r"there is no database at other\.db"):
        Store.open("other.db", create=False)
    assert not (tmp_path / "other.db").exists()


def test_a_password_is_never_shown() -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("nosuchserver://user:hunter2@host/name")
    assert "hunter2" not in str(caught.value)
    assert "nosuchserver" in str(caught.value)


def _open(database: str) -> int:
    with Store.open(database) as store:
        return store.revision()


def test_processes_that_create_it_at_once_agree(tmp_path: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        assert pool.map(_open, [str(tmp_path / "arena.db")] * 6, chunksize=1) == [0] * 6


def test_connections_that_create_it_at_once_agree(unopened: str) -> None:
    with ThreadPool(6) as pool:
        assert pool.map(_open, [unopened] * 6, chunksize=1) == [0] * 6
