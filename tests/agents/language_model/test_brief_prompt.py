"""The brief prompt: what its table says, what it never contains, and that words stay data."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import ActionKind, Event, View
from agents.language_model.prompt import (
    BRIEF_PROMPT,
    Conversation,
    first_messages,
    quoted,
    ranked_table,
)
from arena.answer import Answer, parse
from arena.play import briefs
from arena.protocol import Rules
from scenarios.catalogue import every
from scenarios.domain import Term
from scenarios.draw import draw
from scenarios.scenario import Preferences, Role, Split
from tests.arena.protocol.flat import FLAT, SCENARIO

TERMS = (
    Term(name="rent", options=("low", "middle", "high"), default="middle", ordered=True),
    Term(name="pets", options=("yes", "no"), default="no"),
    Term(name="start", options=("may", "june", "july"), default="july"),
)


def side(*values: tuple[int, ...], weights: tuple[int, ...] = (60, 30, 10)) -> Preferences:
    return Preferences(weights, values, 3_550)


def test_options_stand_best_first_with_the_default_starred() -> None:
    table = ranked_table(TERMS, side((0, 41, 100), (100, 0), (0, 100, 52)))
    assert table == (
        '{"pets":"yes" 30 "no"* 0,"rent":"high" 60 "middle"* 25 "low" 0,'
        '"start":"june" 10 "july"* 5 "may" 0}'
    )


def test_ties_stand_in_the_order_of_display() -> None:
    alike = side((50, 100, 50), (0, 0), (100, 100, 100))
    assert ranked_table(TERMS, alike) == (
        '{"pets":"yes" 0 "no"* 0,"rent":"middle"* 60 "low" 30 "high" 30,'
        '"start":"may" 10 "june" 10 "july"* 10}'
    )


def read(table: str) -> dict[str, list[tuple[str, bool, int]]]:
    """Return what a table says, by term: its options in order, whether starred, with their points."""
    assert (table[0], table[-1]) == ("{", "}")
    found = {}
    for part in table[1:-1].split(","):
        name, _, options = part.partition(":")
        parts = re.findall(r'"([^"]+)"(\*?) (\d+)', options)
        found[json.loads(name)] = [(o, bool(star), int(worth)) for o, star, worth in parts]
    return found


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("name", ["boats", "bread", "chairs", "lamps"])
def test_the_table_says_all_that_is_in_the_payoffs_to_the_nearest_point(name: str, role: Role) -> None:
    for index in range(8):
        scenario = draw(every()[name], Split.EVAL, index)
        mine = scenario.preferences(role)
        said = read(ranked_table(scenario.terms, mine))
        assert list(said) == sorted(term.name for term in scenario.terms)
        for term, row in zip(scenario.terms, mine.table, strict=True):
            worth = dict(zip(term.options, row, strict=True))
            order = [worth[option] for option, _, _ in said[term.name]]
            assert order == sorted(row, reverse=True)
            for option, starred, points in said[term.name]:
                assert abs(100 * points - worth[option]) <= 50
                assert starred == (option == term.default)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("domain", every().values(), ids=lambda domain: domain.name)
def test_the_other_sides_preferences_never_show(domain, role: Role) -> None:  # type: ignore[no-untyped-def]
    for index in range(3):
        scenario = draw(domain, Split.EVAL, index)
        theirs = scenario.preferences(role.other)
        other = Preferences(
            theirs.weights[::-1],
            tuple(row[::-1] for row in theirs.values),
            theirs.walk_away_points // 2 + 7,
        )
        changed = replace(scenario, **{role.other.value: other}, turn_limit=13 - scenario.turn_limit)
        for offer, by in ((None, None), (scenario.default, role.other), (scenario.default, role)):
            event = () if by is None else (Event(by, ActionKind.PROPOSE, offer, "Here."),)
            asked = [
                Conversation(told, BRIEF_PROMPT).ask(View(told, 0, event, offer, by))
                for told in (briefs(domain, s, Rules())[role] for s in (scenario, changed))
            ]
            assert asked[0] == asked[1]


def turn(message: str) -> str:
    """Return what the seller reads of an offer with these words."""
    told = briefs(FLAT, SCENARIO, Rules())[Role.SELLER]
    event = Event(Role.BUYER, ActionKind.PROPOSE, (1, 1, 1), message)
    return Conversation(told, BRIEF_PROMPT).ask(View(told, 0, (event,), (1, 1, 1), Role.BUYER))[-1][
        "content"
    ]


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=60))
def test_the_other_sides_words_stay_one_quoted_string(words: str) -> None:
    content = turn(words)
    assert content == turn("MARK").replace('"MARK"', quoted(words))
    (line,) = [line for line in content.split("\n") if line.endswith(quoted(words))]
    assert json.loads(line[line.index('"') :]) == words


def test_a_turn_says_what_the_offer_is_worth_beyond_no_deal() -> None:
    mine = SCENARIO.seller
    edge = round((mine.points((1, 1, 1)) - mine.walk_away_points) / 100)
    assert turn("MARK").split("\n")[-1] == f"{edge:+d} over no deal, turn 1"


def test_a_turn_says_where_there_is_nothing_to_accept() -> None:
    told = briefs(FLAT, SCENARIO, Rules())[Role.SELLER]
    assert first_messages(told, BRIEF_PROMPT)[-1]["content"] == "nothing to accept, turn 1"
    talk = Event(Role.BUYER, ActionKind.TALK, None, "Well?")
    asked = Conversation(told, BRIEF_PROMPT).ask(View(told, 3, (talk,), (1, 1, 1), Role.SELLER))
    assert asked[-1]["content"].endswith("nothing to accept, turn 4")


def test_the_answers_that_it_shows_are_answers_by_the_rules() -> None:
    told = briefs(FLAT, SCENARIO, Rules())[Role.SELLER]
    system = first_messages(told, BRIEF_PROMPT)[0]["content"]
    shape = next(line for line in system.split("\n") if '"action":"propose"' in line)
    propose, accept = shape.split(" or ")
    propose = propose.replace("<term>", "rent").replace("<option>", "$900")
    for text, kind in ((propose, ActionKind.PROPOSE), (accept, ActionKind.ACCEPT)):
        answer = parse(text)
        assert isinstance(answer, Answer)
        assert answer.action.kind is kind


def test_it_is_brief() -> None:
    """A whole opening of a small domain takes a few hundred characters; the full prompt thousands."""
    scenario = draw(every()["bread"], Split.EVAL, 0)
    told = briefs(every()["bread"], scenario, Rules())[Role.SELLER]
    sizes = {v: sum(len(m["content"]) for m in first_messages(told, v)) for v in (BRIEF_PROMPT, "v1")}
    assert sizes[BRIEF_PROMPT] * 3 < sizes["v1"]
    assert sizes[BRIEF_PROMPT] < 800
