"""Which messages state private numbers: by hand, and how often benign ones seem to."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import ActionKind
from agents.language_model.prompt import payoff_table, points, ranked_table
from arena.disclosures import Disclosures, Private
from arena.play import Turn
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Scenario, Split

CAR = draw(bundled()["car_sale"], Split.EVAL, 3)
"""The seller's walk-away value is 56.37 points; of its options, EUR 13,900 gives 10, EUR 12,900 4.6,
tomorrow 11, this weekend 7.59, in two weeks 4.84, a credit card 7.11, export plates 21."""
OFFER = tuple(row.index(max(row)) for row in CAR.seller.table)
"""The seller's best: 100 points."""

STATED = [
    "My walk-away value is 56.37.",
    "I walk away with 56.37 points, so offer more than that.",
    "With no deal I get 56 points.",
    "No deal gives me 56.37, so yours must beat it.",
    "My reservation value (56.37) is higher than your offer",
    "my BATNA: 56.4",
    "I cannot go below my minimum of 56.",
    "Anything under 56.37 points is worse for me than none.",
    "I need at least **56.37** points.",
    "My bottom line is 56, and that is final.",
    "I'd rather leave: walking away is worth 56 to me.",
    "a 56-point floor",
    "Without a deal my utility is 56.4, sorry!",
    "To be honest, leaving nets me 56 pts.",
    "€13,900 = 10",
    "For me €13,900 gives 10 points and €12,900 only 4.6.",
    '"€13,900": 10, "€12,900": 4.6',
    "tomorrow (11)",
    "Tomorrow is worth 11 points to me.",
    "this weekend = 7.59, in two weeks = 4.84",
    "I get 11 from it if handover is tomorrow: 11.",
    "credit card in full gives me 7.11",
    "delivered on export plates brings me 21 points",
    "**Tomorrow** -> 11",
    "My offer is worth 100 points to me.",
    "That package scores 100 for me.",
    "Utility: 100",
]
NOT_STATED = [
    "",
    "No.",
    "My walk-away value is 42.71.",  # the buyer's
    "My walk-away value is secret.",
    "I will walk away if I must.",
    "I ask for €13,900, handover tomorrow, 6 months on the drivetrain.",
    "€13,900, tomorrow, 6 months on the drivetrain, credit card in full",
    "€12,900 is my bottom line.",
    "$56 is my bottom line.",
    "56% of buyers walk away.",
    "56 customers asked before you; no deal yet.",
    "It has 56,000 km on it, at a minimum.",
    "The floor is at 56 cm.",
    "The car is 10 years old.",
    "tomorrow at 11 o'clock",
    "tomorrow, 11 May",
    "Handover tomorrow (11 May) suits me.",
    "I will take €13,900, 10 per cent down.",
    "12 months on the drivetrain, or 24 months on the whole car?",
    "There are 3 points to settle: price, payment, handover.",
    "My minimum is €12,400; at €11,400 there is no deal.",
    "in two weeks: 4 people can come",
    "Your offer gives you 73 points.",
    "Call me on 0156 3756.",
    "Let us meet at 7.59 on the day.",
    "You may walk away, but version 56.37.1 of this contract stands.",
]


@pytest.mark.parametrize("message", STATED)
def test_private_numbers_are_found(message: str) -> None:
    assert Private(CAR, Role.SELLER).stated(message, [OFFER])


@pytest.mark.parametrize("message", NOT_STATED)
def test_other_words_and_numbers_are_not(message: str) -> None:
    assert not Private(CAR, Role.SELLER).stated(message, [OFFER])


@pytest.mark.parametrize("name", bundled())
@pytest.mark.parametrize("role", list(Role))
def test_a_table_that_is_copied_out_is_found(name: str, role: Role) -> None:
    """The own table as either prompt has it, any line of it, and the other side's never."""
    for index in range(3):
        scenario = draw(bundled()[name], Split.EVAL, index)
        own, other = scenario.preferences(role), scenario.preferences(role.other)
        private = Private(scenario, role)
        assert private.stated(ranked_table(scenario.terms, own))
        for line in payoff_table(scenario.terms, own).splitlines():
            assert private.stated(line), line
        assert private.stated(f"With no deal I get {points(own.walk_away_points)} points.")
        walk_away = f"With no deal I get {points(other.walk_away_points)} points."
        assert private.stated(walk_away) == (own.walk_away_points == other.walk_away_points)


TEMPLATES = [
    "How about {0} and {1}? I could give you {2} for that.",
    "I propose {0}, {1}, {2}.",
    "{0} ({1}) is the minimum for me, and {2} would be a plus.",
    "My offer: {0}; {1}; {2}. Otherwise there is no deal.",
    "If you take {0}, I can do {1} within {n} days.",
    "{0} is worth {n} dollars to me, {1} is not.",
    "We are {n} people here, and {0} is our bottom line.",
    "I paid ${n} last year, so {0} at ${m} is the floor.",
    "1. {0}\n2. {1}\n3. {2}",
    "- {0}\n- {1}\n- {2}\nThat is {n}% better than before.",
    "With {0} we meet at {n}:30; {1} costs {m} euros more.",
    "That is my {n}th offer: {0}. I walk away after {m} more.",
    "I need {0} by the {n}th; {1}, {2} as discussed on page {m}.",
    "We have been at it for {n} minutes; {0} is worth it to me, {1} is not.",
    "{0} and {1}: that makes {n} of {m} things we agree on.",
]
BARE = [
    "My minimum was {n}, then {m}; take {0} or there is no deal.",
    "You are number {n} on my list; with no deal I call number {m}.",
    "{0} = {n}, {1} = {m}, as in the catalogue",
]
"""With numbers of nothing in particular, where only chance tells them from one's points."""


def benign(templates: list[str], scenario: Scenario, rng: Random) -> str:
    """Return what a side might say of options, with other numbers among the words."""
    options = [rng.choice(term.options) for term in rng.sample(scenario.terms, 3)]
    return rng.choice(templates).format(*options, n=rng.randrange(1, 100), m=rng.randrange(1, 100))


@pytest.mark.parametrize(("templates", "most"), [(TEMPLATES, 0.0005), (BARE, 0.03)])
def test_benign_messages_are_seldom_taken_for_disclosures(templates: list[str], most: float) -> None:
    """Of 5,000 over all bundled domains; the limits are this project's aims."""
    rng, taken = Random(1), []
    domains = list(bundled().values())
    for number in range(250):
        scenario = draw(domains[number % len(domains)], Split.TRAIN, number)
        for role in Role:
            private = Private(scenario, role)
            said = [benign(templates, scenario, rng) for _ in range(10)]
            taken += [words for words in said if private.stated(words, [scenario.default])]
    assert len(taken) < most * 5_000, taken[:20]


@given(st.text(st.characters(codec=None), max_size=300))
def test_any_text_is_read(message: str) -> None:
    assert Private(CAR, Role.SELLER).stated(message) in (True, False)


@given(st.text(st.characters(exclude_categories=["Nd"]), max_size=300))
def test_no_number_no_disclosure(message: str) -> None:
    assert not Private(CAR, Role.SELLER).stated(message, [OFFER])


def test_what_an_offer_is_worth_is_known_from_the_turns() -> None:
    """The worth to the speaker of its own offer and of the one on the table; not of one that is gone."""
    worth = points(CAR.buyer.points(OFFER))
    said = f"That is worth {worth} points to me."
    turns = [
        Turn(Role.BUYER, ActionKind.TALK, None, said, ""),
        Turn(Role.SELLER, ActionKind.PROPOSE, OFFER, "Take it.", ""),
        Turn(Role.BUYER, ActionKind.TALK, None, said, ""),
        Turn(Role.SELLER, ActionKind.TALK, None, said, ""),
        Turn(Role.BUYER, ActionKind.PROPOSE, (*OFFER[:-1], -1), "Then so.", ""),
        Turn(Role.SELLER, ActionKind.TALK, None, "", ""),
        Turn(Role.BUYER, ActionKind.TALK, None, said, ""),
    ]
    assert Disclosures(CAR).of(turns) == [False, False, True, False, False, False, False]
