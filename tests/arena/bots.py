"""Plug-ins with habits that a tournament must cope with."""

import time
from collections import Counter
from random import Random
from typing import Any

from agents.agent import ProviderError, Reply, View, propose
from scenarios.scenario import Role

calls: Counter[str] = Counter()
"""How often a match was begun, for tests that play in their own process."""


class _Bot:
    deterministic = True

    def begin(self, role: Role, brief: Any, rng: Random) -> Any:
        calls[type(self).__name__] += 1
        self._best = tuple(row.index(max(row)) for row in brief.preferences.table)
        return self

    def reply(self, view: View) -> Reply:
        return propose(self._best)


class Slow(_Bot):
    """Takes a few milliseconds a turn, so that a run lasts without keeping a processor busy."""

    def reply(self, view: View) -> Reply:
        time.sleep(0.004)
        return propose(self._best)


class Hang(_Bot):
    """Never answers."""

    def reply(self, view: View) -> Reply:
        time.sleep(600)
        raise AssertionError("unreachable")


class Unreachable(_Bot):
    """Its provider fails in the first `failures` matches, then works."""

    def __init__(self, failures: int) -> None:
        self._failures = failures

    def reply(self, view: View) -> Reply:
        if calls["Unreachable"] <= self._failures:
            raise ProviderError("connection refused")
        return propose(self._best)


class Awaited(Unreachable):
    """The same with a coroutine function, as a client of some service would have it."""

    def begin(self, role: Role, brief: Any, rng: Random) -> Any:
        calls["Unreachable"] += 1
        return super().begin(role, brief, rng)

    async def reply(self, view: View) -> Reply:  # type: ignore[override]
        return Unreachable.reply(self, view)


class Crash(_Bot):
    """Takes its whole process down."""

    def reply(self, view: View) -> Reply:
        import os

        os._exit(3)
