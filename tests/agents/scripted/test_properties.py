"""What holds for every scripted strategy on any drawn scenario, in either role."""

import time
from random import Random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.agent import UNNAMED, ActionKind
from agents.build import build
from agents.scripted import PANEL_BUYERS, PANEL_SELLERS, STRATEGIES, spec_of
from arena.play import Outcome
from arena.protocol import Ending
from scenarios.scenario import Role, Scenario
from tests.agents.table import brief, drawn, match, view

PLAYED = [name for name in STRATEGIES if name != "micro"]
RATIONAL = [name for name in PLAYED if name not in ("accept_first", "random")]
DETERMINISTIC = [name for name in PLAYED if name != "random"]

scenarios = st.builds(drawn, st.integers(0, 8), st.integers(0, 200))
turn_rules = st.none() | st.integers(1, 15)
roles = st.sampled_from(Role)


def against(
    name: str, role: Role, scenario: Scenario, partner: str, turns: int | None, opener: Role, seed: int
) -> Outcome:
    sides = {role: build(spec_of(name)), role.other: build(spec_of(partner))}
    seeds = (seed, seed + 1)
    return match(scenario, sides[Role.SELLER], sides[Role.BUYER], turns, opener, seeds)


@pytest.mark.parametrize("name", PLAYED)
@settings(max_examples=40, deadline=None)
@given(
    role=roles,
    scenario=scenarios,
    partner=st.sampled_from(["random", "conceder", "hardliner", "logroller"]),
    turns=turn_rules,
    opener=roles,
    seed=st.integers(0, 2**32),
)
def test_plays_by_the_rules_and_never_below_its_walk_away_value(
    name: str,
    role: Role,
    scenario: Scenario,
    partner: str,
    turns: int | None,
    opener: Role,
    seed: int,
) -> None:
    outcome = against(name, role, scenario, partner, turns, opener, seed)
    mine = scenario.preferences(role)
    assert outcome.ending in (Ending.AGREEMENT, Ending.WALK_AWAY, Ending.DEADLINE)
    for turn in outcome.turns:
        assert not turn.attempts
        if turn.role is role and turn.offer is not None:
            assert len(turn.offer) == len(scenario.terms)
            assert UNNAMED not in turn.offer
            if name in RATIONAL:
                assert mine.points(turn.offer) >= mine.walk_away_points
    if name in RATIONAL and outcome.deal is not None:
        assert mine.points(outcome.deal) >= mine.walk_away_points


@pytest.mark.parametrize("name", DETERMINISTIC)
@settings(max_examples=10, deadline=None)
@given(role=roles, scenario=scenarios, seed=st.integers(0, 2**32), another=st.integers(0, 2**32))
def test_only_random_draws_from_its_generator(
    name: str, role: Role, scenario: Scenario, seed: int, another: int
) -> None:
    sides = {role: build(spec_of(name)), role.other: build(spec_of("random"))}
    both = [
        match(
            scenario,
            sides[Role.SELLER],
            sides[Role.BUYER],
            seeds=(mine, seed) if role is Role.SELLER else (seed, mine),
        )
        for mine in (seed, another)
    ]
    assert both[0].turns == both[1].turns
    assert STRATEGIES[name].deterministic


@settings(max_examples=10, deadline=None)
@given(scenario=scenarios, seed=st.integers(0, 2**32))
def test_random_follows_its_generator(scenario: Scenario, seed: int) -> None:
    gambler, partner = build(spec_of("random", accept_probability=0)), build(spec_of("hardliner"))
    first, again, other = (
        match(scenario, gambler, partner, turns=8, seeds=(s, 0)).turns for s in (seed, seed, seed + 1)
    )
    assert first == again
    assert first != other
    assert not gambler.deterministic


@settings(max_examples=30, deadline=None)
@given(
    scenario=scenarios,
    role=roles,
    exponent=st.floats(0.05, 20),
    floor=st.floats(0, 1),
    turns=turn_rules,
)
def test_time_dependent_offers_never_rise(
    scenario: Scenario, role: Role, exponent: float, floor: float, turns: int | None
) -> None:
    conceding = build(spec_of("linear", exponent=exponent, floor=floor))
    sides = {role: conceding, role.other: build(spec_of("hardliner"))}
    outcome = match(scenario, sides[Role.SELLER], sides[Role.BUYER], turns)
    mine = scenario.preferences(role)
    sent = [mine.points(t.offer) for t in outcome.turns if t.role is role and t.offer is not None]
    r = mine.walk_away_points
    assert sent == sorted(sent, reverse=True)
    assert all(points >= r + floor * (10_000 - r) - 1 for points in sent)


@pytest.mark.parametrize("name", PLAYED)
def test_a_turn_takes_well_under_a_millisecond_at_nine_terms_of_six(name: str) -> None:
    rows = tuple(tuple((term * 7 + option * 20) % 101 for option in range(6)) for term in range(9))
    told = brief((20, 16, 14, 12, 10, 9, 8, 6, 5), rows, 0.45)
    mind = build(spec_of(name)).begin(told.role, told, Random(0))
    rng, seconds = Random(1), []
    for turn in range(300):
        shown = view(told, turn % 12, tuple(rng.randrange(6) for _ in told.terms))
        before = time.thread_time()
        mind.reply(shown)
        seconds.append(time.thread_time() - before)
    assert median(seconds) < 1e-3


def test_the_panels_are_strategies() -> None:
    assert set(PANEL_BUYERS) < set(PANEL_SELLERS) < set(STRATEGIES)
    assert {"hardliner", "random", "accept_first", "walk_away"} < set(PANEL_SELLERS)


@pytest.mark.parametrize("name", ["accept_first", "hardliner", "walk_away"])
def test_anchors_do_what_their_names_say(name: str) -> None:
    scenario = drawn(0, 0)
    outcome = match(scenario, build(spec_of(name)), build(spec_of("boulware")), opener=Role.BUYER)
    first, second = outcome.turns[:2]
    match name:
        case "accept_first":
            assert second.kind is ActionKind.ACCEPT
            assert outcome.deal == first.offer
        case "walk_away":
            assert outcome.ending is Ending.WALK_AWAY
        case _:
            own = [turn.offer for turn in outcome.turns if turn.role is Role.SELLER]
            assert {scenario.seller.points(offer) for offer in own if offer} == {10_000}
            assert outcome.ending is Ending.DEADLINE
