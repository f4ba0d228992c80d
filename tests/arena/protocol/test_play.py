"""Properties of a match, whoever plays: what holds for any two lists of answers.

The replies are drawn; what has to come of them is worked out here from the record alone, by code that
shares nothing with the rules' own.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agents.agent import Action, ActionKind, Event, Reply, View
from agents.scripted import build_scripted, spec_of
from arena.play import Outcome, Turn, briefs
from arena.protocol import ATTEMPTS, LEAST_TURNS, MOST_TURNS, Ending, Fault, Rules, judge
from scenarios.scenario import Preferences, Role, Scenario
from tests.arena.protocol.flat import FLAT, SCENARIO, Replay, match, said, text

offers = st.fixed_dictionaries(
    {}, optional={term.name: st.sampled_from(term.options) for term in FLAT.terms}
)
packages = st.tuples(*[st.integers(-1, len(term.options) - 1) for term in FLAT.terms])
words = st.sampled_from(["", "Hm.", "I accept!", "x" * 2_001])
structured = st.builds(
    Reply,
    st.builds(Action, st.just(ActionKind.PROPOSE), packages)
    | st.builds(Action, st.sampled_from([ActionKind.TALK, ActionKind.TALK, ActionKind.ACCEPT])),
    words,
)
answered = st.one_of(
    st.builds(said, st.just("propose"), offers, words),
    st.builds(said, st.sampled_from(["talk", "talk", "accept", "walk_away"]), st.none(), words),
    st.sampled_from([text(""), text("{"), text("no"), Reply(text="{", fault="cut_off")]),
)
replies = structured | answered
sides = st.lists(replies, min_size=1, max_size=10)
rules = st.builds(Rules, st.none() | st.integers(1, 3), st.sampled_from([2_000, 3]))
openers = st.sampled_from(Role)

SECRET = "secret of the {}, ask {}"


class Secretive(Replay):
    """Replays its list over and over; says something private on each ask, in all channels that are."""

    def reply(self, view: View) -> Reply:
        step = self._steps[len(self.views) % len(self._steps)]
        self.views.append(view)
        assert isinstance(step, Reply)
        return structs.replace(step, reasoning=SECRET.format(view.brief.role.value, len(self.views)))


def played(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules, scenario: Scenario = SCENARIO
) -> tuple[dict[Role, Secretive], Outcome]:
    agents = {Role.SELLER: Secretive(seller), Role.BUYER: Secretive(buyer)}
    return agents, match(*agents.values(), opener, rule, scenario)


def utility(side: Preferences, package: tuple[int, ...]) -> float:
    parts = zip(side.weights, side.values, package, strict=True)
    return float(sum(Fraction(weight * row[option], 10_000) for weight, row, option in parts))


def standing_offers(turns: list[Turn]) -> Iterator[tuple[tuple[int, ...] | None, Role | None]]:
    """What lies on the table before each turn, and once more after the last."""
    offer, by = None, None
    default = (1, 2, 1)  # $1,000, 1 July, not allowed
    for turn in turns:
        yield offer, by
        if turn.kind is ActionKind.PROPOSE:
            assert turn.offer is not None
            offer = tuple(d if o < 0 else o for o, d in zip(turn.offer, default, strict=True))
            by = turn.role
    yield offer, by


@given(sides, sides, openers, rules)
def test_sides_alternate_within_the_limit(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules
) -> None:
    _, outcome = played(seller, buyer, opener, rule)
    turns, most = outcome.turns, 2 * (rule.turns or SCENARIO.turn_limit)
    order = (opener, opener.other)
    assert all(turn.role is order[number % 2] for number, turn in enumerate(turns))
    assert 1 <= len(turns) <= most
    last = turns[-1].kind
    expected = {
        ActionKind.ACCEPT: Ending.AGREEMENT,
        ActionKind.WALK_AWAY: Ending.WALK_AWAY,
        None: Ending.FORFEIT_FORMAT,
    }.get(last, Ending.DEADLINE)
    assert outcome.ending is expected
    assert outcome.ending is not Ending.DEADLINE or len(turns) == most
    ends = {ActionKind.ACCEPT, ActionKind.WALK_AWAY, None}
    assert not any(turn.kind in ends for turn in turns[:-1])


@given(sides, sides, openers, rules)
def test_the_deal_is_the_others_standing_offer_and_the_scores_follow(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules
) -> None:
    _, outcome = played(seller, buyer, opener, rule)
    offer, by = list(standing_offers(outcome.turns))[-1]
    scores = (outcome.seller_score, outcome.buyer_score)
    last = outcome.turns[-1]
    if outcome.ending is Ending.AGREEMENT:
        assert offer is not None
        assert (outcome.deal, by, outcome.at_fault) == (offer, last.role.other, None)
        assert scores == (utility(SCENARIO.seller, offer), utility(SCENARIO.buyer, offer))
        return
    assert outcome.deal is None
    forfeited = outcome.ending is Ending.FORFEIT_FORMAT
    assert outcome.at_fault is (last.role if forfeited else None)
    assert scores == (
        0.0 if outcome.at_fault is Role.SELLER else 0.35,
        0.0 if outcome.at_fault is Role.BUYER else 0.30,
    )


@given(sides, sides, openers, rules)
def test_a_side_sees_the_public_turns_and_nothing_else(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules
) -> None:
    agents, outcome = played(seller, buyer, opener, rule)
    views = {role: iter(agent.views) for role, agent in agents.items()}
    standing = list(standing_offers(outcome.turns))
    used = {Role.SELLER: 0, Role.BUYER: 0}
    for number, turn in enumerate(outcome.turns):
        public = tuple(Event(t.role, t.kind, t.offer, t.message) for t in outcome.turns[:number])
        for attempt in turn.attempts or (None,):
            view = next(views[turn.role])
            assert view.history == public
            assert (view.standing, view.standing_by) == standing[number]
            assert view.theirs == (view.standing if view.standing_by is turn.role.other else None)
            assert view.turn == used[turn.role]
            assert view.brief.role is turn.role
            assert (view.fault is None) == (attempt is None or attempt is turn.attempts[0])
        used[turn.role] += 1
    assert all(next(rest, None) is None for rest in views.values())


@given(sides, sides, openers, rules)
def test_faults_are_asked_again_at_most_twice_and_all_are_kept(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules
) -> None:
    agents, outcome = played(seller, buyer, opener, rule)
    asks = sum(len(agent.views) for agent in agents.values())
    assert asks == sum(len(turn.attempts) or 1 for turn in outcome.turns)
    for turn in outcome.turns:
        *earlier, last = turn.attempts or (None,)
        assert all(attempt.fault for attempt in earlier)
        assert all("secret" in attempt.reasoning for attempt in turn.attempts if attempt.fault)
        if turn.kind is None:
            assert len(turn.attempts) == ATTEMPTS
            assert last.fault
        else:
            assert last is None or last.fault is None
            assert "secret" in turn.reasoning


@given(sides, sides, openers, rules)
def test_nothing_private_reaches_the_other_side(
    seller: list[Reply], buyer: list[Reply], opener: Role, rule: Rules
) -> None:
    agents, outcome = played(seller, buyer, opener, rule)
    kept = {turn.message for turn in outcome.turns}
    for role, agent in agents.items():
        for view in agent.views:
            assert "secret" not in repr(view)
            assert repr(SCENARIO.preferences(role.other)) not in repr(view)
            assert {event.message for event in view.history} <= kept


@given(sides, sides, openers, st.data())
def test_what_a_side_sees_does_not_depend_on_what_it_must_not_know(
    seller: list[Reply], buyer: list[Reply], opener: Role, data: st.DataObject
) -> None:
    """Another opponent's preferences and another hidden limit give equal views, for as long as both
    matches last."""
    limit = data.draw(st.integers(LEAST_TURNS, MOST_TURNS))
    other = Preferences((10, 80, 10), ((0, 50, 100), (100, 0, 50), (0, 100)), 7_000)
    here, _ = played(seller, buyer, opener, Rules())
    there, _ = played(seller, buyer, opener, Rules(), replace(SCENARIO, buyer=other, turn_limit=limit))
    shorter = min(len(here[Role.SELLER].views), len(there[Role.SELLER].views))
    assert shorter >= 1 or not here[Role.SELLER].views
    for one, two in zip(here[Role.SELLER].views, there[Role.SELLER].views, strict=False):
        assert one == two


def test_the_announced_limit_is_told_and_the_hidden_one_is_not() -> None:
    hidden, announced = briefs(FLAT, SCENARIO, Rules()), briefs(FLAT, SCENARIO, Rules(turns=9))
    for role in Role:
        assert (hidden[role].least_turns, hidden[role].most_turns) == (6, 12)
        assert (announced[role].least_turns, announced[role].most_turns) == (9, 9)


def test_a_receipt_is_kept_a_side_and_is_the_last_one_sent() -> None:
    def receipt(name: Any) -> Reply:
        return Reply(Action(ActionKind.TALK), receipt={"model": name})

    outcome = match(
        Replay([receipt("a"), receipt("b")]), Replay([receipt("c")] * 2), rules=Rules(turns=2)
    )
    assert outcome.receipts == {Role.SELLER: {"model": "b"}, Role.BUYER: {"model": "c"}}


def test_an_offer_that_was_legal_is_judged_again_where_it_is_another_one_or_another_brief_reads_it() -> (
    None
):
    told = briefs(FLAT, SCENARIO, Rules())
    less = tuple(replace(told[Role.SELLER], terms=FLAT.terms[:number]) for number in (2, 3))
    offer, twin, nested = (1, 1, 1), (True, 1, 1), ([1], 1, 1)
    for _ in range(2):
        assert judge(Action(ActionKind.PROPOSE, offer), "", told[Role.SELLER], None) is offer
        assert (
            judge(Action(ActionKind.PROPOSE, twin), "", told[Role.SELLER], None) is Fault.OPTION_NOT_TEXT
        )
        assert (
            judge(Action(ActionKind.PROPOSE, nested), "", told[Role.SELLER], None)
            is Fault.OPTION_NOT_TEXT
        )
        assert judge(Action(ActionKind.PROPOSE, offer), "", less[0], None) is Fault.POSITIONAL_TERMS
        assert judge(Action(ActionKind.PROPOSE, offer), "", less[1], None) is offer


def test_a_strategy_that_is_said_to_be_deterministic_draws_nothing() -> None:
    agent = build_scripted(spec_of("random"))
    agent.deterministic = False
    honest = match(agent, agent)
    agent.deterministic = True
    drawing = match(agent, agent)
    assert not honest.ending.void
    assert (drawing.ending, drawing.at_fault) == (Ending.HARNESS_ERROR, Role.SELLER)
    assert "drew a random number" in drawing.detail
