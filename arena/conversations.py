"""Matches that wait for an answer from elsewhere, many at once on one event loop."""

import asyncio
import inspect
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from random import Random

from agents.agent import Agent, Brief, GivenUpError
from arena.drivers import alarm
from arena.schedule import Place
from arena.workers import Share, StopFlag, Table
from scenarios.scenario import Role

MATCHES_A_LOAD = 256
"""Matches that weights on this machine play before others are loaded: four of their largest batches.
Already one batch takes a tiny model a hundred times as long as being loaded; for large ones, and servers
that must start, loading weighs more."""


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


def weights_needed(kinds: Mapping[str, str]) -> Callable[[Place], tuple[int, ...]]:
    """Return what tells of a match which weights on this machine it needs, as :func:`in_blocks` asks it.

    `kinds`: of the agents, by version, in the order of the line-up. A match with a side that may change
    over time, as what a provider serves does, is said to need none: it keeps its place beside those that
    it is paired with.
    """
    local = [version for version, kind in kinds.items() if kind == "local"]
    number = {version: place for place, version in enumerate(local)}

    def weights(place: Place) -> tuple[int, ...]:
        sides = place.seller_version, place.buyer_version
        if any(kinds[version] not in ("scripted", "local") for version in sides):
            return ()
        return tuple(number[version] for version in sides if version in number)

    return weights


def in_blocks(planned: Iterable[Place], weights_of: Callable[[Place], tuple[int, ...]]) -> list[Place]:
    """Return planned matches in the order to play them in: blocks of MATCHES_A_LOAD that need the same
    weights on this machine (by number, lowest first; an empty tuple: none).

    Within a block, and where no weights are told apart, the plan's order stays. Blocks are counted over
    the whole plan, whatever of it is played already: a seller's first block then has the same cells as
    every other's, and a tournament that is stopped has played them alike but for one block.
    """
    seen: Counter[tuple[int, ...]] = Counter()
    placed: list[tuple[int, tuple[int, ...], Place]] = []
    for place in planned:
        weights = weights_of(place)
        placed.append((seen[weights] // MATCHES_A_LOAD, weights, place))
        seen[weights] += 1
    return [place for _, _, place in sorted(placed, key=itemgetter(0, 1))]


async def converse(
    table: Table,
    queue: deque[Place],
    concurrency: int,
    stop: StopFlag,
    take: Callable[[Share], None],
    give_up: Callable[[str], None],
    pulse: Callable[[], None],
) -> None:
    """Play the places of `queue`, `concurrency` at once, until it is empty or `stop` is set.

    `take` is handed each finished match and may add to the queue. `give_up` is told why the run
    cannot go on, where a match says so, and is to set `stop`. `pulse` is called ten times a second. What
    is under way at a stop is given up.
    """
    under_way = 0

    async def seat() -> None:
        nonlocal under_way
        while queue or under_way:
            if not queue:
                await asyncio.sleep(0.02)  # a match under way may be lined up again
                continue
            place = queue.popleft()
            under_way += 1
            try:
                take(await table.play_async(place))
            except GivenUpError as error:
                give_up(str(error))
                return
            finally:
                under_way -= 1

    seats = [asyncio.create_task(seat()) for _ in range(min(concurrency, len(queue)))]
    pending = set(seats)
    try:
        while pending and not stop.is_set():
            done, pending = await asyncio.wait(pending, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
            pulse()
    finally:
        for task in seats:
            task.cancel()
        await asyncio.gather(*seats, return_exceptions=True)
