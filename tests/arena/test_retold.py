"""What a transcript comes to when the rules tell it again: what it came to, or an objection."""

from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from agents.agent import ActionKind, Reply
from arena.play import Attempt, Outcome, Turn, briefs
from arena.protocol import Ending, Fault, Rules
from arena.retold import retold
from arena.transcript import decode, encode
from scenarios.scenario import Role
from tests.arena.protocol.flat import FLAT, RULES, SCENARIO, Replay, match
from tests.arena.protocol.playthroughs import PLAYTHROUGHS
from tests.arena.protocol.test_play import openers, played, rules, sides


def again(turns: list[Turn], ending: Ending, opener: Role = Role.SELLER, rule: Rules = RULES) -> Outcome:
    return retold(SCENARIO, briefs(FLAT, SCENARIO, rule), rule, opener, turns, ending)


def said_of(outcome: Outcome) -> tuple[Any, ...]:
    scores = (outcome.seller_score, outcome.buyer_score)
    return (outcome.ending, outcome.at_fault, outcome.deal, scores, len(outcome.turns))


@given(sides, sides, openers, rules)
def test_it_comes_to_what_was_played(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules
) -> None:
    _, outcome = played(seller, buyer, opener, rule)
    turns = decode(encode(outcome.turns))
    assert said_of(again(turns, outcome.ending, opener, rule)) == said_of(outcome)


@pytest.mark.parametrize("name", PLAYTHROUGHS)
def test_every_ending_and_fault_can_be_told_again(name: str) -> None:
    shown = PLAYTHROUGHS[name]
    agents = (
        Replay(shown.seller, shown.kinds[0], shown.seller_begin),
        Replay(shown.buyer, shown.kinds[1]),
    )
    timeout = 0.01 if name == "forfeit_timeout" else None
    outcome = match(*agents, shown.opener, shown.rules, timeout=timeout)
    turns = decode(encode(outcome.turns))
    assert said_of(again(turns, outcome.ending, shown.opener, shown.rules)) == said_of(outcome)


@pytest.mark.parametrize("role", Role)
def test_whose_code_ended_its_process_forfeits_without_a_turn(role: Role) -> None:
    told = briefs(FLAT, SCENARIO, RULES)
    outcome = retold(SCENARIO, told, RULES, Role.SELLER, [], Ending.FORFEIT_CODE, role)
    left = SCENARIO.preferences(role.other).walk_away
    found = {Role.SELLER: outcome.seller_score, Role.BUYER: outcome.buyer_score}
    assert found == {role: 0.0, role.other: left}
    assert (outcome.ending, outcome.at_fault, outcome.turns) == (Ending.FORFEIT_CODE, role, [])


OFFER = Turn(Role.SELLER, ActionKind.PROPOSE, (2, -1, 1), "", "")
ACCEPTANCE = Turn(Role.BUYER, ActionKind.ACCEPT, None, "", "")
FAULTY = Attempt("?", Fault.NO_OBJECT, None)
FAILED = Turn(Role.BUYER, None, None, "", "", (FAULTY,) * 3)


@pytest.mark.parametrize(
    ("turns", "ending", "objection"),
    [
        ([], Ending.AGREEMENT, "after turn 0 it is not over"),
        ([OFFER], Ending.DEADLINE, "after turn 1 it is not over"),
        ([OFFER, ACCEPTANCE, OFFER], Ending.AGREEMENT, "it goes on after turn 2"),
        ([OFFER, OFFER], Ending.AGREEMENT, "turn 2 was not the seller's"),
        ([ACCEPTANCE], Ending.AGREEMENT, "turn 1 was not the buyer's"),
        (
            [structs.replace(ACCEPTANCE, role=Role.SELLER)],
            Ending.AGREEMENT,
            "turn 1 is against the rules: There is no standing offer",
        ),
        ([structs.replace(OFFER, offer=(2, 1, 7))], Ending.DEADLINE, "does not have"),
        ([structs.replace(OFFER, offer=(2, 1))], Ending.DEADLINE, "turn 1 is against the rules"),
        ([structs.replace(OFFER, message="x" * 2_001)], Ending.DEADLINE, "longer than the limit"),
        ([OFFER, FAILED], Ending.AGREEMENT, "yet it ended by agreement"),
        ([OFFER, FAILED], Ending.FORFEIT_CODE, "ended by forfeit_code after 3 faulty answers"),
        (
            [OFFER, structs.replace(FAILED, attempts=(FAULTY,) * 2)],
            Ending.FORFEIT_FORMAT,
            "after 2 faulty answers",
        ),
    ],
)
def test_what_no_match_can_consist_of_is_objected_to(
    turns: list[Turn], ending: Ending, objection: str
) -> None:
    with pytest.raises(ValueError, match=objection):
        again(turns, ending)
