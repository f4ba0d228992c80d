"""What tests of disturbed tournaments begin with."""

from collections.abc import Iterator

import pytest

from tests.arena.chaos.disturbed import PLANNED, TOURNAMENT, Record, record
from tests.arena.running import arena
from tests.arena.store.server import Breakable, breakable


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """What the tournament comes to when nothing disturbs it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    done = arena(*TOURNAMENT, "--db", "arena.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = record(folder / "arena.db")
    assert len(found.matches) == len(found.measures) == PLANNED
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Breakable]:
    """A PostgreSQL server of these tests' own, which they break."""
    with breakable() as found:
        yield found


@pytest.fixture
def on_server(server: Breakable) -> Iterator[str]:
    """The address of an empty database on it."""
    with server.database() as address:
        yield address
