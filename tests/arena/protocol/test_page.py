"""`docs/protocol.md` says what the code does: its tables, its examples and its numbers."""

import re
from pathlib import Path

import pytest

from agents.agent import ActionKind
from arena.answer import Answer, parse
from arena.play import briefs
from arena.protocol import (
    ANSWER_LIMIT,
    ATTEMPTS,
    LEAST_TURNS,
    MESSAGE_LIMIT,
    MOST_TURNS,
    Ending,
    Fault,
    Rules,
    judge,
    scores,
)
from scenarios.scenario import Role
from tests.arena.protocol.flat import FLAT, SCENARIO

PAGE = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading that starts with this."""
    section = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines()[2:]]
    return [[cell.strip() for cell in row] for row in rows]


FAULTS = table("fault")
EXAMPLES = [(row[0].strip("`"), row[2].strip("`")) for row in FAULTS if row[2].startswith("`")]


def judged(text: str) -> Answer | Fault:
    """The answer, or what is wrong with it when nothing is on the table yet."""
    answer = parse(text)
    if isinstance(answer, Fault):
        return answer
    brief = briefs(FLAT, SCENARIO, Rules())[Role.SELLER]
    offer = judge(answer.action, answer.message, brief, None)
    return offer if isinstance(offer, Fault) else answer


def test_the_table_of_faults_is_the_codes_own() -> None:
    assert [row[:2] for row in FAULTS] == [[f"`{fault.value}`", fault.description] for fault in Fault]


@pytest.mark.parametrize(("fault", "text"), EXAMPLES)
def test_an_example_of_a_fault_is_one(fault: str, text: str) -> None:
    assert judged(text) is Fault(fault)


def test_nearly_every_fault_has_an_example() -> None:
    assert len(EXAMPLES) >= len(Fault) - 7


def test_the_examples_of_answers_are_legal() -> None:
    blocks = re.findall(r"^(`{3,})json\n(.*?)^\1$", PAGE, re.MULTILINE | re.DOTALL)
    answers = [judged(text) for _, text in blocks]
    # `accept` needs an offer on the table; here there is none.
    assert answers.pop(2) is Fault.NOTHING_TO_ACCEPT
    kinds = [answer.action.kind for answer in answers if isinstance(answer, Answer)]
    assert kinds == [ActionKind.PROPOSE, ActionKind.TALK, ActionKind.PROPOSE, ActionKind.WALK_AWAY]


def test_the_table_of_actions_is_complete() -> None:
    assert {row[0] for row in table("action")} == {f"`{kind.value}`" for kind in ActionKind}


def test_the_table_of_endings_is_the_codes_own() -> None:
    rows = table("ending")
    assert [row[0] for row in rows] == [f"`{ending.value}`" for ending in Ending]
    deal = (2, 1, 0)
    worth = {
        "its utility of the deal": (SCENARIO.seller.utility(deal), SCENARIO.buyer.utility(deal)),
        "its walk-away value": (SCENARIO.seller.walk_away, SCENARIO.buyer.walk_away),
        "0": (0.0, 0.0),
    }
    for name, _, at_fault, other in rows:
        ending = Ending(name.strip("`"))
        if ending.void:
            assert at_fault == other == "void"
            with pytest.raises(ValueError, match="void"):
                scores(SCENARIO, ending, None, Role.SELLER)
            continue
        blamed = None if at_fault.startswith("(no fault) ") else Role.BUYER
        assert ending.forfeit == (blamed is not None)
        expected = worth[other][0], worth[at_fault.removeprefix("(no fault) ")][1]
        agreed = deal if ending is Ending.AGREEMENT else None
        assert scores(SCENARIO, ending, agreed, blamed) == expected
        if blamed is not None:
            assert scores(SCENARIO, ending, agreed, Role.SELLER) == (0.0, worth[other][1])


def test_the_numbers_are_the_codes_own() -> None:
    prose = " ".join(PAGE.split())
    assert f"from {LEAST_TURNS} to {MOST_TURNS} turns a side" in prose
    assert f"at most {MESSAGE_LIMIT:,} characters" in prose
    assert f"has at most {ANSWER_LIMIT:,} characters" in prose
    assert ATTEMPTS == 3
    assert "at most twice; after the third one the side forfeits" in prose
