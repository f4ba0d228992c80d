"""Opening a database: created, migrated after a backup, or refused with advice."""

import shutil
import sqlite3
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlmodel import SQLModel

from arena.store import Store, StoreError, migrate
from tests.arena.running import rows
from tests.arena.store.matches import design, fill

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


def revision(database: Path) -> str:
    with closing(sqlite3.connect(database)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_the_migrations_make_what_the_models_say(tmp_path: Path) -> None:
    Store.open(str(tmp_path / "x.db")).close()
    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), SQLModel.metadata)
    engine.dispose()
    assert found == []


def test_the_known_revisions_are_those_there_are() -> None:
    scripts = ScriptDirectory(str(migrate.SCRIPTS))
    assert [s.revision for s in scripts.walk_revisions()][::-1] == list(migrate.REVISIONS)


def test_an_older_database_is_migrated_after_a_backup(tmp_path: Path, later) -> None:
    database = tmp_path / "arena.db"
    with Store.open(str(database)) as store:
        made = fill(store, design())
    before = rows(database)
    later()
    with Store.open(str(database)) as store:
        assert store.backup is not None
        assert revision(store.backup) == NOW
        assert rows(store.backup) == before
    assert revision(database) == "9999"
    after = rows(database)
    assert {row.pop("mood") for row in after.values()} == {"calm"}
    assert after == before
    assert len(after) == len(made)
    with Store.open(str(database)) as store:
        assert store.backup is None


def test_runs_of_before_reasons_were_kept_have_none(tmp_path: Path) -> None:
    database = tmp_path / "arena.db"
    with Store.open(str(database)) as store:
        store.add_training_run("old", {"seed": 1})
        store.add_training_steps("old", [(1, {"reward": 0.5})])
        store.end_training_run("old", "stopped")
        before = store.training_runs()
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(
            "ALTER TABLE training_runs DROP COLUMN why; ALTER TABLE voids DROP COLUMN trouble;"
            "DROP TABLE calls; DROP TABLE bills; DROP TABLE answers;"
        )
        connection.execute("UPDATE alembic_version SET version_num = '0002'")
        connection.commit()
    with Store.open(str(database)) as store:
        assert store.backup is not None
        assert revision(store.backup) == "0002"
        assert store.training_runs() == before
        assert [run.why for run in before] == [None]
        assert store.training_steps("old") == [(1, {"reward": 0.5})]
        store.end_training_run("old", "stopped", "it had collapsed")
        assert [run.why for run in store.training_runs()] == ["it had collapsed"]
    assert revision(database) == NOW


def test_the_backup_holds_what_is_still_in_the_write_ahead_log(tmp_path: Path, later) -> None:
    database = tmp_path / "arena.db"
    with Store.open(str(database)) as writer:
        made = fill(writer, design())
        assert (tmp_path / "arena.db-wal").stat().st_size > 0
        later()
        with Store.open(str(database)) as store:
            assert store.backup is not None
            assert len(rows(store.backup)) == len(made)


def test_a_failed_migration_leaves_the_database_as_it_was(tmp_path: Path, later) -> None:
    database = tmp_path / "arena.db"
    with Store.open(str(database)) as store:
        fill(store, design())
    before = rows(database)
    later()
    script = migrate.SCRIPTS / "versions" / "9999_mood.py"
    script.write_text(script.read_text() + "    raise RuntimeError('no')\n")
    with pytest.raises(RuntimeError):
        Store.open(str(database))
    assert revision(database) == NOW
    assert rows(database) == before


def test_a_newer_database_is_refused_untouched(tmp_path: Path) -> None:
    database = tmp_path / "arena.db"
    Store.open(str(database)).close()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0099'")
        connection.commit()
    with pytest.raises(StoreError, match=r"0099.*upgrade bargaining-arena"):
        Store.open(str(database))
    assert revision(database) == "0099"
    assert list(tmp_path.glob("*backup*")) == []


@pytest.mark.parametrize("content", [b"seller,buyer\n1,2\n" * 99, b"\x89PNG" + bytes(5000)])
def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.csv"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(str(file))
    assert file.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.commit()
    with pytest.raises(StoreError, match="another program's database"):
        Store.open(str(tmp_path / "x.db"))


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
