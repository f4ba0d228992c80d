"""What tests of the store begin with: each database that the arena can be on."""

from collections.abc import Iterator

import pytest

from arena.store import Store


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """A new database, an SQLite file and one on PostgreSQL."""
    with Store.open(address) as opened:
        yield opened
