"""Plug-ins with habits that a tournament must cope with."""

import os
import time
from collections import Counter
from random import Random
from typing import Any

from agents.agent import GivenUpError, ProviderError, Reply, Trouble, Usage, View, accept, propose
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


class Spin(_Bot):
    """Keeps a processor busy for ever."""

    def reply(self, view: View) -> Reply:
        while True:
            pass


class GivesUp(_Bot):
    """Says that the run cannot go on."""

    def reply(self, view: View) -> Reply:
        raise GivenUpError("no more of this")


class _Bound(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("cannot be pickled")


class Breaks(_Bot):
    """Raises an exception that passes to no other process."""

    def reply(self, view: View) -> Reply:
        raise _Bound("broken")


class Huge(_Bot):
    """Answers with more than anyone reads."""

    def reply(self, view: View) -> Reply:
        return Reply(text="x" * 2**24)


class Draws(_Bot):
    """Proposes by chance, and keeps what it drew in its negotiator; its replies may be awaited."""

    def __init__(self, awaited: bool = False) -> None:
        self._awaited = awaited

    def begin(self, role: Role, brief: Any, rng: Random) -> Any:
        return (_LaterDraw if self._awaited else _Draw)(brief, rng)


class _Draw:
    def __init__(self, brief: Any, rng: Random) -> None:
        self._brief, self._rng, self._said = brief, rng, list[str]()

    def reply(self, view: View) -> Any:
        assert view.brief is self._brief
        self._said.append(f"{self._rng.random():.3f}")
        if view.theirs is not None and self._rng.random() < 0.1:
            return accept(f"{self._said}", "Chance.")
        drawn = tuple(self._rng.randrange(len(term.options)) for term in view.brief.terms)
        reply = propose(drawn, f"{self._said}", "Chance.")
        reply.usage, reply.receipt = Usage(12, 3, 0.25, 0.5), {"drawn": [*drawn], "\ud83d": None}
        return reply


class _LaterDraw(_Draw):
    async def reply(self, view: View) -> Any:
        return super().reply(view)


class Odd(_Bot):
    """Names what no offer can hold, another thing every time, and then a text with a fault in it."""

    def begin(self, role: Role, brief: Any, rng: Random) -> Any:
        self._asked = 0
        return super().begin(role, brief, rng)

    def reply(self, view: View) -> Reply:
        name = view.brief.terms[0].name
        odd: list[Any] = [
            *([*self._best], self._best[:-1], (True, *self._best[1:]), (10**5000, *self._best[1:])),
            *({name: Role.SELLER}, {name: b"no"}, {name: Spin}, {name: {"a": 1}}, {}, "prose", 5, Spin),
        ]
        self._asked += 1
        if self._asked % 3 == 0:  # not thrice in a row
            return propose(self._best, "as before")
        return propose(odd[self._asked % len(odd)])
