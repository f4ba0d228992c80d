"""Which agents' replies are awaited, found out by beginning a match."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from agents.agent import Brief, Reply, View, accept
from agents.spec import AgentSpec
from arena import conversations
from arena.conversations import in_blocks, waits
from arena.play import briefs
from arena.protocol import Rules
from arena.schedule import Place
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


def planned(scenarios: int) -> list[Place]:
    """The matches of sellers a, b and api on so many scenarios, scenario by scenario."""
    return [
        Place("lamps", number, True, seller, "linear", "seller", 0)
        for number in range(scenarios)
        for seller in ("a", "b", "api")
    ]


def weights(place: Place) -> tuple[int, ...]:
    return {"a": (0,), "b": (1,), "api": ()}[place.seller_version]


def test_weights_take_turns_by_blocks_of_the_same_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MATCHES_A_LOAD", 2)
    found = [(place.seller_version, place.number) for place in in_blocks(planned(3), weights)]
    assert found == [
        *(("api", 0), ("api", 1), ("a", 0), ("a", 1), ("b", 0), ("b", 1)),
        *(("api", 2), ("a", 2), ("b", 2)),
    ]


def test_what_needs_no_weights_stays_as_it_was_planned() -> None:
    places = planned(300)
    assert in_blocks(places, lambda _: ()) == places
