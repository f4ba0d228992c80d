"""The driver of training plays the same matches as the others do, all of them turn by turn together."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any, Literal

import pytest

from agents.agent import Agent, Brief, ProviderError, Reply, View, propose
from agents.build import build
from agents.occasion import OCCASION
from agents.scripted import spec_of
from agents.spec import AgentSpec
from arena import drivers
from arena.drivers import run
from arena.lockstep import Answer, Seat, run_lockstep
from arena.play import Failure, Game, Outcome, briefs, play
from arena.protocol import Ending, Rules
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Split

MATCHES = 12
BUYERS = ("random", "boulware", "accept_first", "walk_away", "hardliner", "tit_for_tat")


def game(index: int) -> Game:
    """Return a match on scenario `index`; the seller opens every other one."""
    domain = bundled("small")["lamps"]
    scenario = draw(domain, Split.TRAIN, index)
    opener = Role.SELLER if index % 2 else Role.BUYER
    return play(scenario, briefs(domain, scenario, Rules()), Rules(), opener)


def buyers() -> list[Agent]:
    return [build(spec_of(BUYERS[index % len(BUYERS)])) for index in range(MATCHES)]


def answers_of(seller: Agent) -> tuple[Answer, list[set[int]]]:
    """Return `seller` as the learner of all matches, and the places that waited in each round."""
    minds: dict[int, Any] = {}
    rounds: list[set[int]] = []

    def answer(views: Mapping[int, View]) -> dict[int, Reply | Failure]:
        rounds.append(set(views))
        for place, view in views.items():
            if place not in minds:
                minds[place] = seller.begin(Role.SELLER, view.brief, Random(place))
        return {place: minds[place].reply(view) for place, view in views.items()}

    return answer, rounds


@pytest.mark.parametrize("name", ["random", "linear", "micro_quantile"])
def test_matches_are_those_of_the_plain_loop(name: str) -> None:
    seller = build(spec_of(name))
    answer, rounds = answers_of(seller)
    seats = [Seat(game(index), buyer, Random(index)) for index, buyer in enumerate(buyers())]
    together = asyncio.run(run_lockstep(seats, Role.SELLER, answer))
    alone = [
        run(
            game(index),
            {Role.SELLER: seller, Role.BUYER: buyer},
            {Role.SELLER: Random(index), Role.BUYER: Random(index)},
        )
        for index, buyer in enumerate(buyers())
    ]
    assert together == alone
    own = [sum(turn.role is Role.SELLER for turn in outcome.turns) for outcome in alone]
    assert len(set(own)) > 3
    # One round a turn of the longest match; each round holds every match that is not over.
    assert len(rounds) == max(own)
    assert rounds == [{p for p, turns in enumerate(own) if turns > number} for number in range(max(own))]


class Waiting:
    """A buyer with an awaited reply, as a language model's; `kind` says what it passes for."""

    deterministic = False

    def __init__(self, kind: Literal["model", "local", "plugin"], seconds: float) -> None:
        self.spec = AgentSpec(kind=kind, model="test/waiting")
        self.seconds, self.now, self.most = seconds, 0, 0

    def begin(self, role: Role, brief: Brief, rng: Random) -> "Waiting":
        return self

    async def reply(self, view: View) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.now -= 1
        return propose(tuple(0 for _ in view.brief.terms))


def ended(buyer: Any, turn_timeout: float | None = None, matches: int = 8) -> list[Outcome]:
    answer, _ = answers_of(build(spec_of("linear")))
    seats = [Seat(game(index), buyer, Random(index)) for index in range(matches)]
    return asyncio.run(run_lockstep(seats, Role.SELLER, answer, turn_timeout))


def test_buyers_answer_at_the_same_time() -> None:
    buyer = Waiting("model", 0.01)
    outcomes = ended(buyer, matches=8)
    assert not any(outcome.ending.void for outcome in outcomes)
    assert buyer.most >= 4  # the buyer opens half of the matches


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("model", Ending.HARNESS_ERROR),
        ("local", Ending.PROVIDER_ERROR),
        ("plugin", Ending.FORFEIT_TIMEOUT),
    ],
)
def test_a_buyer_that_hangs_loses_its_own_match_only(
    monkeypatch: pytest.MonkeyPatch, kind: Literal["model", "local", "plugin"], ending: Ending
) -> None:
    monkeypatch.setattr(drivers, "HUNG_S", 0.1)
    answer, _ = answers_of(build(spec_of("linear")))
    quick, slow = build(spec_of("linear")), Waiting(kind, 600.0)
    agents: list[Any] = [quick, slow, quick, slow]
    seats = [Seat(game(index), agent, Random(index)) for index, agent in enumerate(agents)]
    outcomes = asyncio.run(run_lockstep(seats, Role.SELLER, answer, 0.05, model_timeout=0.05))
    assert [outcome.ending is ending for outcome in outcomes] == [False, True, False, True]
    assert outcomes[1].at_fault is Role.BUYER
    assert (outcomes[1].seller_score is None) is ending.void


def test_a_served_models_gateway_is_told_its_limit_and_keeps_it() -> None:
    class Told(Waiting):
        async def reply(self, view: View) -> Reply:
            limits.add(getattr(OCCASION.get(), "limit_s", None))
            return await super().reply(view)

    limits: set[float | None] = set()
    seats = [Seat(game(0), Told("model", 0.05), Random(0))]
    answer, _ = answers_of(build(spec_of("linear")))
    (outcome,) = asyncio.run(run_lockstep(seats, Role.SELLER, answer, model_timeout=0.01))
    assert not outcome.ending.void
    assert limits == {0.01}


@pytest.mark.parametrize("kind", ["model", "local"])
def test_language_models_have_the_time_that_tournaments_give_them(
    kind: Literal["model", "local"],
) -> None:
    """A plug-in's limit would void the matches whose turns are slow or long, and select the others."""
    outcomes = ended(Waiting(kind, 0.1), turn_timeout=0.02, matches=2)
    assert not any(outcome.ending.void for outcome in outcomes)


def test_a_providers_trouble_is_void() -> None:
    class Down(Waiting):
        async def reply(self, view: View) -> Reply:
            raise ProviderError("429: slow down")

    for outcome in ended(Down("model", 0.0)):
        assert (outcome.ending, outcome.seller_score) == (Ending.PROVIDER_ERROR, None)
        assert "429" in outcome.detail


def test_a_learner_that_fails_forfeits_or_is_void_like_any_other() -> None:
    lost = Failure(Ending.FORFEIT_CODE, "out of memory")
    seats = [Seat(game(index), build(spec_of("linear")), Random(index)) for index in range(2)]
    outcomes = asyncio.run(
        run_lockstep(seats, Role.SELLER, lambda views: dict.fromkeys(views, lost), None)
    )
    assert [(o.ending, o.seller_score) for o in outcomes] == [(Ending.FORFEIT_CODE, 0.0)] * 2


def test_a_process_goes_on_as_long_as_another_has_matches() -> None:
    """It calls `answer` without views, so that both generate equally often."""
    answer, rounds = answers_of(build(spec_of("linear")))
    asked: list[bool] = []

    def in_step(live: bool) -> bool:
        asked.append(live)
        return len(asked) < 30

    seats = [Seat(game(1), build(spec_of("accept_first")), Random(1))]
    (outcome,) = asyncio.run(run_lockstep(seats, Role.SELLER, answer, None, in_step))
    assert outcome.ending is Ending.AGREEMENT
    assert rounds == [{0}] + [set()] * 28
    assert asked == [True] + [False] * 29


def test_no_matches_are_over_at_once() -> None:
    answer, rounds = answers_of(build(spec_of("linear")))
    assert asyncio.run(run_lockstep([], Role.SELLER, answer)) == []
    assert rounds == []


def test_no_match_is_dropped_in_silence() -> None:
    """Where `in_step` says that it is over and it is not, outcomes would belong to other places."""
    answer, _ = answers_of(build(spec_of("linear")))
    seats = [Seat(game(index), build(spec_of("linear")), Random(index)) for index in range(2)]
    with pytest.raises(AssertionError, match="while matches were live"):
        asyncio.run(run_lockstep(seats, Role.SELLER, answer, None, lambda live: False))
