"""Which agents' replies are awaited, found out by beginning a match."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from agents.agent import Brief, Reply, View, accept
from agents.spec import AgentSpec
from arena.conversations import waits
from arena.play import briefs
from arena.protocol import Rules
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
