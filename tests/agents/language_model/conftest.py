"""Fixtures of the language-model tests."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from agents.language_model import gateway
from agents.language_model.library import library
from tests.agents.language_model.faulty_api import FaultyApi, faulty_api
from tests.agents.language_model.scripted_api import Api, chat, scripted_api
from tests.served import smollm2

__all__ = ["smollm2"]


@pytest.fixture(scope="session")
def _warm() -> None:
    """LiteLLM imports much at its first call; no test's timeout is to count that."""
    with contextlib.suppress(Exception), scripted_api() as api:
        api.answers = [chat()]
        asyncio.run(
            library().acompletion(model="hosted_vllm/m", api_base=api.address, messages=[], api_key="x")
        )


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch, _warm: None) -> Iterator[FaultyApi]:
    """A provider that fails as it is told to, with waits between tries too short to notice."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    monkeypatch.setattr(gateway, "FIRST_PAUSE_S", 0.01)
    with faulty_api() as running:
        yield running


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, _warm: None) -> Iterator[Api]:
    """A scripted provider, with waits between tries too short to notice."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    with scripted_api() as running:
        yield running
