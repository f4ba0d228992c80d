"""What tests of the arena begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from arena.store import Store
from tests.arena.store.server import Server, serving


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new database, `arena.db` in the test's folder."""
    with Store.open(str(tmp_path / "arena.db")) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def ready(postgres: Server) -> Iterator[str]:
    """The name of a database on it with every table, which others are copied from."""
    with postgres.database() as address:
        Store.open(address).close()
        yield str(make_url(address).database)


BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
"""The databases that the arena can be on; that they answer alike is tested at once (test_alike.py)."""


@pytest.fixture(params=BOTH)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new database is: `arena.db` in the test's folder, and on a server, opened before."""
    yield from _made(request, tmp_path, opened=True)


@pytest.fixture(params=BOTH)
def unopened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where there is no database yet, or an empty one on a server."""
    yield from _made(request, tmp_path, opened=False)


def _made(request: pytest.FixtureRequest, folder: Path, opened: bool) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(folder / "arena.db")
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database(request.getfixturevalue("ready") if opened else "template0") as made:
        yield made


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the test's folder, where the default database is a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)
