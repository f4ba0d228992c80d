"""What tests of the arena begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new database, `arena.db` in the test's folder."""
    with Store.open(str(tmp_path / "arena.db")) as opened:
        yield opened


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the test's folder, where the default database is a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)
