"""Conformance finds nothing in good agents, and finds each way of breaking the interface."""

import random
import time
from collections.abc import Callable
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from agents.agent import Action, ActionKind, Brief, Reply, View, accept, propose
from agents.build import build
from agents.conformance import Finding, check_agent
from agents.scripted import STRATEGIES, spec_of
from agents.spec import AgentSpec
from scenarios.scenario import Role

SPEC = AgentSpec(kind="plugin", target="tests:agent", source_hash="0")


class Made:
    """An agent whose every turn is answered by one function of (own memory, rng, view)."""

    def __init__(self, answer: Callable[..., Any], deterministic: bool = False) -> None:
        self.spec, self.deterministic, self.answer = SPEC, deterministic, answer
        self.shared: list[View] = []

    def begin(self, role: Role, brief: Brief, rng: Random) -> Any:
        return Mind(self, rng)


class Mind:
    def __init__(self, agent: Made, rng: Random) -> None:
        self.agent, self.rng = agent, rng

    def reply(self, view: View) -> Any:
        return self.agent.answer(self, view)


def first(view: View) -> tuple[int, ...]:
    return tuple(0 for _ in view.brief.terms)


def drawn(mind: Mind, view: View) -> Reply:
    return propose(tuple(mind.rng.randrange(len(term.options)) for term in view.brief.terms))


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_scripted_strategy_conforms(name: str) -> None:
    assert check_agent(build(spec_of(name))) == []


def named(mind: Mind, view: View) -> Reply:
    term = view.brief.terms[-1]
    return Reply(Action(ActionKind.PROPOSE, {term.name: term.options[0]}), message="This?")


async def later(mind: Mind, view: View) -> Reply:
    return accept() if view.theirs is not None else propose(first(view))


def text(mind: Mind, view: View) -> Reply:
    return Reply(text='{"action": "walk_away"}')


@pytest.mark.parametrize("answer", [drawn, named, later, text])
def test_good_agents_of_every_form_conform(answer: Callable[..., Any]) -> None:
    assert check_agent(Made(answer)) == []


def counts_all_matches(mind: Mind, view: View) -> Reply:
    mind.agent.shared.append(view)
    return propose((len(mind.agent.shared) % 2,) * len(view.brief.terms))


def remembers_the_last_brief(mind: Mind, view: View) -> Reply:
    if view.turn == 0:
        mind.agent.shared[:] = [view]
    return propose((int(mind.agent.shared[0].brief.role is Role.SELLER),) * len(view.brief.terms))


def touches_the_view(mind: Mind, view: View) -> Reply:
    object.__setattr__(view.brief, "most_turns", view.brief.most_turns + 1)
    return propose(first(view))


def sleeps(mind: Mind, view: View) -> Reply:
    if view.turn == 0:
        time.sleep(0.02)
    return propose(first(view))


def chokes_on_faults(mind: Mind, view: View) -> Reply:
    return accept() if view.fault else propose(first(view))


def is_best(view: View) -> bool:
    return view.theirs is not None and view.brief.preferences.utility(view.theirs) == 1


def chokes_on_accepting(role: Role) -> Callable[..., Any]:
    def answer(mind: Mind, view: View) -> Reply:
        """Misspells what it calls where it accepts, in one role alone."""
        if is_best(view) and view.brief.role is role:
            return accep()  # type: ignore[name-defined, no-any-return]  # noqa: F821
        return propose(first(view))

    return answer


def chokes_on_walking_away(mind: Mind, view: View) -> Reply:
    """Misspells what it calls where it gave up hope."""
    mine = view.brief.preferences
    offers = [event.offer for event in view.history if event.role is view.brief.role.other]
    if len(offers) > 8 and all(offer and mine.utility(offer) < mine.walk_away for offer in offers):
        return walk_awy()  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return propose(first(view))


def draws_at_the_end(mind: Mind, view: View) -> Reply:
    """Draws where it accepts, and there alone."""
    return accept(str(random.random())) if is_best(view) else propose(first(view))


def chokes_on_the_last_turn(mind: Mind, view: View) -> Reply:
    return propose((99,) if view.turn == 11 else first(view))


def reseeds(mind: Mind, view: View) -> Reply:
    random.seed(1)
    return propose((random.randrange(2),) * len(view.brief.terms))


def raises(mind: Mind, view: View) -> Reply:
    raise KeyError("price")


def leaves_python(mind: Mind, view: View) -> Reply:
    raise SystemExit(3)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raises_without_words(mind: Mind, view: View) -> Reply:
    raise Unprintable


def a_list(view: View) -> Any:
    return Reply(Action(ActionKind.PROPOSE, list(first(view))))  # type: ignore[arg-type]


BROKEN: list[tuple[str, Callable[..., Any], str, str]] = [
    ("no Reply", lambda mind, view: first(view), "reply", "returned tuple, not agents.agent.Reply"),
    ("no action", lambda mind, view: Reply(), "reply", "needs an action, or a text"),
    (
        "bare action",
        lambda mind, view: Reply(("propose", ())),
        "reply",
        "must be an agents.agent.Action",
    ),
    ("message", lambda mind, view: propose(first(view), 7), "reply", "must be strings"),
    ("exception", raises, "reply", "reply() raised KeyError: 'price'"),
    ("exit", leaves_python, "reply", "reply() raised SystemExit: 3"),
    ("unprintable", raises_without_words, "reply", "raised Unprintable, whose str() fails"),
    (
        "huge index",
        lambda mind, view: propose((10**5_000, *first(view)[1:])),
        "reply",
        "cannot be looked at",
    ),
    (
        "both",
        lambda mind, view: Reply(Action(ActionKind.PROPOSE, first(view)), text="{}"),
        "reply",
        "not both",
    ),
    ("half", lambda mind, view: propose(first(view), "\ud83d"), "legality", "half a surrogate pair"),
    ("long", lambda mind, view: propose(first(view), "x" * 2_001), "legality", "2000 are allowed"),
    ("index", lambda mind, view: propose((99, *first(view)[1:])), "legality", "99 is no option index"),
    ("bool", lambda mind, view: propose((True, *first(view)[1:])), "legality", "True is no option"),
    ("short", lambda mind, view: propose((0,)), "legality", "a tuple of 9 option indices"),
    ("list", lambda mind, view: a_list(view), "legality", "a tuple of 9 option indices"),
    ("nothing", lambda mind, view: propose((-1,) * len(first(view))), "legality", "name at least one"),
    (
        "unknown term",
        lambda mind, view: Reply(Action(ActionKind.PROPOSE, {"colour": "red"})),
        "legality",
        "there is no term 'colour'",
    ),
    (
        "unknown option",
        lambda mind, view: Reply(Action(ActionKind.PROPOSE, {view.brief.terms[0].name: "red"})),
        "legality",
        "has no option 'red'",
    ),
    (
        "stray terms",
        lambda mind, view: Reply(Action(ActionKind.TALK, first(view))),
        "legality",
        "talk takes no terms",
    ),
    ("nothing on the table", lambda mind, view: accept(), "legality", "with nothing on the table"),
    (
        "own offer",
        lambda mind, view: accept() if view.standing else propose(first(view)),
        "legality",
        "it accepted its own offer",
    ),
    ("last turn", chokes_on_the_last_turn, "legality", "a tuple of 9 option indices"),
    ("accepting as seller", chokes_on_accepting(Role.SELLER), "reply", "name 'accep' is not defined"),
    ("accepting as buyer", chokes_on_accepting(Role.BUYER), "reply", "name 'accep' is not defined"),
    ("walking away", chokes_on_walking_away, "reply", "name 'walk_awy' is not defined"),
    ("drawing at the end", draws_at_the_end, "randomness", "global generator"),
    ("faults", chokes_on_faults, "faults", "asked again after a fault: it accepted"),
    ("global generator", reseeds, "randomness", "global generator"),
    ("own generator", counts_all_matches, "randomness", "equal views and an equal rng"),
    ("shared state", remembers_the_last_brief, "shared state", "two negotiators at once"),
    ("view", touches_the_view, "view", "changed the view"),
    ("time", sleeps, "time", "0.01 s are allowed"),
]


@pytest.mark.parametrize(
    ("answer", "check", "words"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN]
)
def test_each_way_of_breaking_the_interface_is_found(
    answer: Callable[..., Any], check: str, words: str
) -> None:
    found = check_agent(Made(answer), slow_s=0.01 if check == "time" else 1.0)
    assert {finding.check for finding in found} == {check}
    assert any(words in finding.problem for finding in found), found


def test_a_stochastic_agent_that_calls_itself_deterministic_is_found() -> None:
    (finding,) = check_agent(Made(drawn, deterministic=True))
    assert finding.check == "randomness"
    assert "deterministic is True" in finding.problem


def test_shape() -> None:
    class Nothing:
        pass

    assert [finding.check for finding in check_agent(Nothing())] == ["shape"] * 3  # type: ignore[arg-type]

    class NoReply(Made):
        def begin(self, role: Role, brief: Brief, rng: Random) -> Any:
            return object()

    assert check_agent(NoReply(drawn)) == [
        Finding("shape", "begin() must return an object with reply(view)")
    ]


def test_begin_that_raises_is_a_finding() -> None:
    class Fails(Made):
        def begin(self, role: Role, brief: Brief, rng: Random) -> Any:
            raise OSError("no such file")

    (finding,) = check_agent(Fails(drawn))
    assert finding.problem == "begin() raised OSError: no such file"


def test_the_guard_stops_an_agent_that_hangs() -> None:
    class Late(BaseException):
        pass

    @contextmanager
    def guard() -> Any:
        yield
        raise Late("no answer")

    (finding,) = check_agent(Made(drawn), guard=guard)
    assert "raised Late: no answer" in finding.problem


def test_a_language_model_is_not_rehearsed() -> None:
    asked = []

    class Model(Made):
        def begin(self, role: Role, brief: Brief, rng: Random) -> Any:
            asked.append(role)

    model = Model(drawn)
    model.spec = AgentSpec(kind="model", model="some/model")
    assert check_agent(model) == []
    assert asked == []
