"""Matches that wait for an answer from elsewhere, many at once on one event loop."""

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from random import Random

from agents.agent import Agent, Brief, GivenUpError
from arena.drivers import alarm
from arena.schedule import Place
from arena.workers import Share, StopFlag, Table
from scenarios.scenario import Role

GRACE_S = 20.0
"""Answers that are under way when a user stops a run are waited for so long: they are paid for. This
project's choice."""
CANCEL_AGAIN_S = 0.2
"""What has not ended so long after it was cancelled is cancelled again."""


def waits(agent: Agent, brief: Brief, limit: float) -> bool:
    """Return whether the agent's replies are awaited: a language model's, and those of a plug-in whose
    `reply` is a coroutine function, which beginning a match shows (within `limit` seconds)."""
    if agent.spec.kind != "plugin":
        return agent.spec.is_language_model
    try:
        with alarm(limit):
            mind = agent.begin(Role.SELLER, brief, Random(0))
        return inspect.iscoroutinefunction(getattr(mind, "reply", None))
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever an agent's code may raise, an exit included
        return False  # it fails in its matches too, where that is its forfeit


async def converse(
    table: Table,
    queue: deque[Place],
    concurrency: int,
    stop: StopFlag,
    take: Callable[[Share], None],
    give_up: Callable[[Place, GivenUpError], None],
    pulse: Callable[[], None],
    hold: Callable[[Place], AbstractAsyncContextManager[None]] = lambda place: nullcontext(),
    awaited: Callable[[], int] = lambda: 0,
) -> None:
    """Play the places of `queue`, `concurrency` at once, until it is empty or `stop` is set.

    `hold` has what a match needs, such as servers, ready for as long as it is played. `take` is handed
    each finished match and may add to the queue. `give_up` is told which match cannot go on, and why: it
    takes from the queue what cannot either, or sets `stop`. `pulse` is called ten times a second. What
    is under way at a stop is given up once no answer is `awaited`, at the latest after GRACE_S.
    """

    async def seat() -> None:
        # A match that is lined up again finds at least the seat that it was played at.
        while queue and not stop.is_set():
            place = queue.popleft()
            try:
                async with hold(place):
                    share = await table.play_async(place)
                take(share)
            except GivenUpError as error:
                give_up(place, error)

    seats = [asyncio.create_task(seat()) for _ in range(min(concurrency, len(queue)))]
    together = asyncio.gather(*seats)  # to wait for hundreds of tasks ten times a second takes time
    try:
        while not together.done() and not stop.is_set():
            await asyncio.wait({together}, timeout=0.1)
            pulse()
        given_up_at = time.monotonic() + GRACE_S
        while not together.done() and awaited() and time.monotonic() < given_up_at:
            await asyncio.wait({together}, timeout=0.1)
            pulse()
        if together.done():
            together.result()
    finally:
        await _end(seats)
        # What it came to is read, or asyncio prints it as one that nobody did.
        await asyncio.gather(together, return_exceptions=True)


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: a library may lose a cancellation that comes as an answer
    does, as `asyncio.wait_for` of Python 3.11 may."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_S)
