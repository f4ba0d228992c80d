"""Fixtures of the language-model tests."""

from collections.abc import Iterator

import pytest

from agents.language_model import gateway
from tests.agents.language_model.scripted_api import Api, scripted_api
from tests.served import smollm2

__all__ = ["smollm2"]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """A scripted provider, with waits between tries too short to notice."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    with scripted_api() as running:
        yield running
