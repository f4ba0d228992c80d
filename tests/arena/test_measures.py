"""What is measured on a transcript: against hand-made matches and spaces that are enumerated in full."""

import json
from math import hypot
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.agent import UNNAMED, ActionKind, Usage
from agents.build import build
from agents.scripted import spec_of
from arena.drivers import run
from arena.measures import DTYPE, FAULTS, KINDS, NONE, VERSION, Yardstick, first_words, leaks, words
from arena.play import Attempt, Outcome, Turn, briefs, play
from arena.protocol import Ending, Fault, Rules
from scenarios.canonical import digest
from scenarios.catalogue import bundled
from scenarios.domain import Kind
from scenarios.draw import draw
from scenarios.scenario import SCALE, Preferences, Role, Scenario, Split
from tests.scenarios.spaces import packages, scenario_of, small_scenarios

SELLER = Preferences((60, 40), ((0, 50, 100), (100, 0)), 3_000)
BUYER = Preferences((30, 70), ((100, 40, 0), (0, 100)), 2_000)
SCENARIO = scenario_of(SELLER, BUYER)
"""Term 0 is opposed at a weight ratio of 2, so integrative; term 1 at 1.75, so mixed. Both defaults are
option 0."""


def row(turns, deal=None, scenario: Scenario = SCENARIO) -> np.void:
    return np.frombuffer(Yardstick(scenario).row(turns, deal), DTYPE)[0]


def turn(role: Role, kind=ActionKind.TALK, offer=None, message="", faults=()) -> Turn:
    attempts = [Attempt("?", fault, Usage(5, 5, None, None)) for fault in faults]
    if faults:
        attempts.append(Attempt("!", None, None))
    return Turn(role, kind, offer, message, "", tuple(attempts))


def propose(role: Role, *offer: int) -> Turn:
    return turn(role, ActionKind.PROPOSE, offer)


def test_what_a_field_holds_changes_only_with_the_version() -> None:
    """Whoever changes the layout, a kind's or a fault's place raises VERSION, and writes both here."""
    layout = [str(DTYPE.descr), *(kind.value for kind in KINDS), *(fault.value for fault in FAULTS)]
    assert (VERSION, digest(layout, 12)) == (2, "5de57480b629")


def test_every_field_of_a_hand_made_match() -> None:
    """Packages with both utilities: 00 .40 .30; 01 0 1; 10 .70 .12; 11 .30 .82; 20 1 0; 21 .60
    .70. All but 00 are on the frontier, 10 the nearest to it; of 00, 11 and 21, which are rational for
    both, 21 has the largest sum of gains, .30 + .50."""
    measured = row(
        [
            turn(Role.BUYER, ActionKind.PROPOSE, (0, 1), "Hello there, friend", [Fault.EMPTY]),
            turn(Role.SELLER, ActionKind.PROPOSE, (2, UNNAMED), 'so: {"action": "propose"}'),
            turn(
                Role.BUYER, message="No deal gives me 20 points.", faults=[Fault.NOT_JSON, Fault.EMPTY]
            ),
            propose(Role.SELLER, 0, 0),
            turn(Role.BUYER, ActionKind.ACCEPT),
        ],
        (0, 0),
    )
    integrative, mixed = KINDS.index(Kind.INTEGRATIVE), KINDS.index(Kind.MIXED)
    assert list(measured["walk_away"]) == [3_000, 2_000]
    assert measured["surplus"] == 8_000
    assert measured["distance"] == pytest.approx(hypot(0.30, 0.18))
    assert list(measured["by_kind"][:, integrative]) == [0, 3_000]
    assert list(measured["by_kind"][:, mixed]) == [4_000, 0]
    assert measured["by_kind"].sum() == 7_000
    assert measured["terms"] == 2
    assert list(measured["opening_terms"]) == [1, 2]
    assert list(measured["opening"]) == [10_000, 10_000]
    assert list(measured["opening_named"]) == [6_000, 10_000]
    assert list(measured["turns"]) == [2, 3]
    assert list(measured["messages"]) == [1, 2]
    assert list(measured["leaks"]) == [1, 0]
    assert list(measured["disclosures"]) == [0, 1]
    assert list(measured["faulty_turns"]) == [0, 2]
    found = {
        (r, FAULTS[f]): measured["faults"][r, f]
        for r, f in zip(*np.nonzero(measured["faults"]), strict=True)
    }
    assert found == {(1, Fault.EMPTY): 2, (1, Fault.NOT_JSON): 1}


def test_a_match_without_turns_or_deal_has_nothing_to_measure() -> None:
    measured = row([])
    assert np.isnan(measured["distance"])
    for field in ("by_kind", "turns", "messages", "leaks", "faulty_turns", "faults", "disclosures"):
        assert measured[field].sum() == 0
    for field in ("opening_terms", "opening", "opening_named"):
        assert list(measured[field]) == [NONE, NONE]


def test_a_first_turn_that_is_no_proposal_is_an_opening_without_terms() -> None:
    measured = row(
        [turn(Role.SELLER, message="Hi."), propose(Role.BUYER, 0, 0), propose(Role.SELLER, 0, 0)]
    )
    assert list(measured["opening_terms"]) == [0, 2]
    assert list(measured["opening"]) == [NONE, 3_000]
    assert list(measured["opening_named"]) == [NONE, 3_000]


def test_the_longest_match_of_the_largest_space_fits() -> None:
    """30 terms, 10,000 turns a side, three faults a turn: the most that a domain and a design allow."""
    side = Preferences((1,) * 29 + (71,), ((0, 100),) * 30, 0)
    faulty = turn(Role.SELLER, ActionKind.PROPOSE, (1,) * 30, "x", [Fault.EMPTY] * 3)
    turns = [faulty, replace(faulty, role=Role.BUYER)] * 10_000
    measured = row(turns, (1,) * 30, scenario_of(side, side))
    assert measured["surplus"] == 20_000
    assert list(measured["opening"]) == [10_000, 10_000]
    assert list(measured["turns"]) == list(measured["messages"]) == [10_000, 10_000]
    assert list(measured["faults"].sum(axis=1)) == [30_000, 30_000]


@given(small_scenarios(), st.data())
def test_distance_and_surplus_agree_with_enumeration(scenario: Scenario, data: st.DataObject) -> None:
    sides = (scenario.seller, scenario.buyer)
    assume(all(min(side.weights) > 0 for side in sides))  # as every draw has them
    points = {tuple(side.points(package) for side in sides) for package in packages(scenario)}
    best = {p for p in points if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in points)}
    gains = [
        (s - scenario.seller.walk_away_points, b - scenario.buyer.walk_away_points) for s, b in points
    ]
    deal = data.draw(st.sampled_from(list(packages(scenario))))
    at = tuple(side.points(deal) for side in sides)
    measured = row([], deal, scenario)
    assert measured["surplus"] == max((sum(gain) for gain in gains if min(gain) >= 0), default=NONE)
    nearest = min(hypot(at[0] - s, at[1] - b) for s, b in best) / SCALE
    assert measured["distance"] == pytest.approx(nearest, abs=1e-6)
    assert (measured["distance"] == 0) == (at in best)


@given(small_scenarios(), st.data())
def test_what_a_side_got_by_kind_is_its_utility(scenario: Scenario, data: st.DataObject) -> None:
    assume(all(min(side.weights) > 0 for side in (scenario.seller, scenario.buyer)))
    deal = data.draw(st.sampled_from(list(packages(scenario))))
    by_kind_R_K = row([], deal, scenario)["by_kind"]
    for got_K, side in zip(by_kind_R_K, (scenario.seller, scenario.buyer), strict=True):
        assert got_K.sum() == side.points(deal)
        for kind, got in zip(KINDS, got_K, strict=True):
            own = [t for t, of in enumerate(scenario.kinds) if of is kind]
            assert got == sum(side.table[t][deal[t]] for t in own)


@pytest.mark.parametrize(
    "pair", [("boulware", "linear"), ("random", "conceder"), ("hardliner", "stall")]
)
def test_a_played_match_is_measured_as_it_went(pair: tuple[str, str]) -> None:
    domain, rules = bundled()["car_sale"], Rules()
    scenario = draw(domain, Split.EVAL, 5)
    agents = {role: build(spec_of(name)) for role, name in zip(Role, pair, strict=True)}
    rngs = {role: Random(1) for role in Role}
    outcome = run(play(scenario, briefs(domain, scenario, rules), rules, Role.BUYER), agents, rngs)
    content, said = Yardstick(scenario).measure(outcome)
    measured = np.frombuffer(content, DTYPE)[0]
    assert measured["turns"].sum() == len(outcome.turns)
    assert measured["terms"] == len(domain.terms)
    assert said is None
    deal = outcome.ending is Ending.AGREEMENT
    scores = (outcome.seller_score, outcome.buyer_score)
    assert list(measured["by_kind"].sum(axis=1) / SCALE) == (list(scores) if deal else [0, 0])
    assert np.isnan(measured["distance"]) == (not deal)


LEAKING = [
    '{"reasoning": "", "message": "Hi", "action": "propose", "terms": {"price": "low"}}',
    'I can do that. "action": "accept"',
    "Let us agree on this. 'terms': {'price': 'low'}",
    '```json\n{ "message" : "ok"',
    '{\\"action\\": \\"propose\\"}',
    "“action”: “accept”",
    "Here is my offer. action: propose, terms: price low",
    "action=accept",
    "ACTION: Talk",
    "I choose walk_away.",
    'I will now use "propose" with these terms.',
]
CLEAN = [
    "",
    "I propose a price of 100 and delivery in May.",
    "These terms are fine: price, delivery. I accept.",
    "We should take action on delivery: propose something better!",
    "My message is short: no.",
    "If not, I will walk away, and that is my final word.",
    'You call that "fair"? My reasoning: it costs me more than it brings you.',
    "The action plan: accept the low price, or talk to my boss.",
    'Terms: net 30, warranty 2 years. "Free" delivery: yes.',
]


@pytest.mark.parametrize("message", LEAKING)
def test_a_fragment_of_the_action_leaks(message: str) -> None:
    assert leaks(message)


@pytest.mark.parametrize("message", CLEAN)
def test_plain_talk_does_not_leak(message: str) -> None:
    assert not leaks(message)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Thank you for your offer.", "thank you"),
        ("  **Hello**, there!", "hello there"),
        ("I'm sorry; I can't.", "i'm sorry"),
        ("I’m sorry", "i’m sorry"),  # noqa: RUF001
        ("Ok", "ok"),
        ("...", ""),
        ("$100? 5 percent", "100 5"),
        ("Größer geht's nicht", "größer geht's"),
        ("deal_maker here", "deal maker"),
    ],
)
def test_first_words(message: str, expected: str) -> None:
    assert first_words(message) == expected


def test_words_are_kept_by_side_in_order() -> None:
    turns = [
        turn(Role.BUYER, message="Hello my friend"),
        turn(Role.SELLER, message="Good day to you"),
        turn(Role.BUYER),
        turn(Role.SELLER, message="!"),
        turn(Role.BUYER, message="価格 は"),
    ]
    assert json.loads(words(turns) or "") == [["good day", ""], ["hello my", "価格 は"]]
    assert words([turn(Role.BUYER)]) is None
    assert words([]) is None


def test_words_are_those_of_the_outcome() -> None:
    said = [turn(Role.SELLER, message="Well, then.")]
    outcome = Outcome(Ending.DEADLINE, None, None, 0.3, 0.2, said)
    assert Yardstick(SCENARIO).measure(outcome)[1] == '[["well then"],[]]'
