"""Fixtures of the pages' tests."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.leaderboard.pages import visit, visit_well


@pytest.fixture
def opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Open a page at an address, of the database at the module's `path`."""
    monkeypatch.setenv("ARENA_DB", str(path))
    return visit


@pytest.fixture
def opened_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """The same for addresses where nothing is wrong."""
    monkeypatch.setenv("ARENA_DB", str(path))
    return visit_well
