"""Which agents' replies are awaited, found out by beginning a match."""

import asyncio
import gc
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from random import Random
from typing import Any

import pytest

from agents.agent import Brief, GivenUpError, Reply, View, accept
from agents.spec import AgentSpec
from arena.conversations import converse, waits
from arena.play import briefs
from arena.protocol import Rules
from arena.schedule import Place
from arena.workers import Share, Stop
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Split

DOMAIN = bundled()["car_sale"]
BRIEF = briefs(DOMAIN, draw(DOMAIN, Split.TRAIN, 0), Rules())[Role.SELLER]


class Plain:
    def reply(self, view: View) -> Reply:
        return accept()


class Awaited:
    async def reply(self, view: View) -> Reply:
        return accept()


class Made:
    deterministic = False
    spec = AgentSpec(kind="plugin", target="tests:agent")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def begin(self, role: Role, brief: Brief, rng: Random) -> Any:
        return self.make()


def exits() -> None:
    raise SystemExit(3)


def hangs() -> None:
    while True:
        pass


class Deaf:
    """Plays matches that a first cancellation is lost on."""

    def __init__(self) -> None:
        self.asked = 0

    async def play_async(self, place: Place) -> Share:
        self.asked += 1
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)
        raise AssertionError("it goes on after a stop")


def test_a_stop_ends_what_is_under_way_even_where_a_cancellation_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table, stop, taken = Deaf(), Stop(), []
    queue = deque(range(100))
    work = converse(table, queue, 4, stop, taken.append, lambda why: None, stop.set)
    asyncio.run(asyncio.wait_for(work, 30))
    assert (table.asked, len(queue), taken) == (4, 96, [])
    gc.collect()
    assert not caplog.text, "what nobody reads, asyncio logs"


@pytest.mark.parametrize("raised", [GivenUpError("the disk is full"), KeyError("a bug")])
def test_what_ends_a_run_is_said_once(raised: Exception, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def play_async(self, place: Place) -> Share:
            await asyncio.sleep(0.01)
            raise raised

    async def main(stop: Stop) -> None:
        queue = deque(range(8))
        await converse(Broken(), queue, 4, stop, print, lambda place, why: stop.set(), lambda: None)

    ours = isinstance(raised, KeyError)
    with pytest.raises(KeyError) if ours else nullcontext():
        asyncio.run(main(Stop()))
    gc.collect()
    assert not caplog.text


@pytest.mark.parametrize(
    ("make", "awaited"),
    [(Plain, False), (Awaited, True), (lambda: None, False), (exits, False), (hangs, False)],
)
def test_a_plug_in_is_awaited_where_its_reply_is_a_coroutine(
    make: Callable[[], Any], awaited: bool
) -> None:
    assert waits(Made(make), BRIEF, limit=0.2) is awaited


def test_an_interrupt_is_the_users_not_the_plug_ins() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waits(Made(interrupted), BRIEF, limit=0.2)
