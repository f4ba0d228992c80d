"""Buyers with habits that a training must cope with: plug-ins, named as ``module:object``."""

import asyncio
import threading
from random import Random
from typing import Any

from agents.agent import Reply, View, propose
from scenarios.scenario import Role

released = threading.Event()
"""Set by a test once a rollout is over; a buyer that hangs waits for it."""


class _Buyer:
    deterministic = True

    def begin(self, role: Role, brief: Any, rng: Random) -> Any:
        self._best = tuple(row.index(max(row)) for row in brief.preferences.table)
        return self


class Asleep(_Buyer):
    """Awaits an answer that never comes."""

    async def reply(self, view: View) -> Reply:
        await asyncio.sleep(600)
        raise AssertionError("unreachable")


class Hanging(_Buyer):
    """Hangs in an ordinary call, until the test lets it go."""

    def reply(self, view: View) -> Reply:
        released.wait(60)
        return propose(self._best)


class Rubbish(_Buyer):
    """Answers in prose."""

    def reply(self, view: View) -> Reply:
        return Reply(text="That is far too dear!")


class Raising(_Buyer):
    """Its own code has a bug."""

    def reply(self, view: View) -> Reply:
        raise ZeroDivisionError("a plug-in's own")
