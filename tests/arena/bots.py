"""Plug-ins with habits that a tournament must cope with."""

import os
import time
from collections import Counter
from random import Random
from typing import Any

from agents.agent import ProviderError, Reply, Trouble, View, propose
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


class Unreachable:
    """Its provider fails in the first `failures` matches that were begun, then works.

    A tournament begins one match before it plays any, to see whether replies are awaited.
    """

    deterministic = True

    def __init__(self, failures: int) -> None:
        self._failures = failures

    def begin(self, role: Role, brief: Any, rng: Random) -> Any:
        calls["Unreachable"] += 1
        best = tuple(row.index(max(row)) for row in brief.preferences.table)
        return self.mind(best, calls["Unreachable"] <= self._failures)

    def mind(self, best: tuple[int, ...], failing: bool) -> Any:
        return _Mind(best, failing)


class Locked(_Bot):
    """Its provider refuses its key, every time."""

    def reply(self, view: View) -> Reply:
        raise ProviderError("the key is wrong", Trouble.AUTHENTICATION)


class Awaited(Unreachable):
    """The same with a coroutine function, as a client of some service would have it."""

    def mind(self, best: tuple[int, ...], failing: bool) -> Any:
        return _AwaitedMind(best, failing)


class _Mind:
    def __init__(self, best: tuple[int, ...], failing: bool) -> None:
        self._best, self._failing = best, failing

    def reply(self, view: View) -> Any:
        if self._failing:
            raise ProviderError("connection refused")
        return propose(self._best)


class _AwaitedMind(_Mind):
    async def reply(self, view: View) -> Any:
        return super().reply(view)


class Crash(_Bot):
    """Takes its whole process down: at once, or by a Ctrl-C of its own making."""

    def __init__(self, politely: bool = False) -> None:
        self._politely = politely

    def reply(self, view: View) -> Reply:
        if self._politely:
            raise KeyboardInterrupt
        os._exit(3)
