"""A small scenario made by hand, and agents that replay what they are given."""

import asyncio
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from agents.agent import Agent, Brief, Negotiator, Reply, View
from agents.spec import AgentSpec
from arena.drivers import MODEL_TIMEOUT_S, run, run_async
from arena.play import Outcome, briefs, play
from arena.protocol import Rules
from scenarios.domain import Briefs, Domain, Kind, Term
from scenarios.scenario import Preferences, Role, Scenario, Split

FLAT = Domain(
    name="flat",
    title="Letting a flat",
    briefs=Briefs(seller="You let the flat.", buyer="You look for a flat."),
    aim={Kind.DISTRIBUTIVE: 1, Kind.MIXED: 1, Kind.INTEGRATIVE: 1},
    terms=(
        Term(name="rent", options=("$900", "$1,000", "$1,100"), default="$1,000", ordered=True),
        Term(name="start", options=("1 May", "1 June", "1 July"), default="1 July"),
        Term(name="pets", options=("allowed", "not allowed"), default="not allowed"),
    ),
)
SCENARIO = Scenario(
    domain=FLAT.name,
    domain_version=FLAT.version,
    split=Split.EVAL,
    index=0,
    feasible=True,
    terms=FLAT.terms,
    seller=Preferences((60, 30, 10), ((0, 50, 100), (100, 40, 0), (0, 100)), 3_500),
    buyer=Preferences((50, 20, 30), ((100, 50, 0), (0, 100, 60), (100, 0)), 3_000),
    turn_limit=7,
)
RULES = Rules()

Step = Reply | BaseException | Callable[[View], Any]
"""What a replaying agent does on one ask: a reply, something to raise, or something to call."""


class Replay:
    """An agent that takes its steps in order, one an ask, and keeps the views it was shown."""

    deterministic = True

    def __init__(self, steps: Sequence[Step], kind: Any = "plugin", begin: Step | None = None) -> None:
        self.spec = AgentSpec(kind=kind)
        self.views: list[View] = []
        self._steps = list(steps)
        self._begin = begin

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        if isinstance(self._begin, BaseException):
            raise self._begin
        if callable(self._begin):
            self._begin(None)  # type: ignore[arg-type]
        return self

    def reply(self, view: View) -> Reply:
        self.views.append(view)
        step = self._steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step(view) if callable(step) else step


def text(raw: str) -> Reply:
    """A model's raw answer."""
    return Reply(text=raw)


def said(action: str, terms: Any = None, message: str = "", **more: Any) -> Reply:
    """A model's answer with these channels, as JSON."""
    content = {"message": message, "action": action, **more}
    return text(json.dumps(content if terms is None else content | {"terms": terms}))


def run_loop(game: Any, agents: Any, rngs: Any, timeout: float | None) -> Outcome:
    """The plain loop."""
    return run(game, agents, rngs, timeout)


def run_event_loop(game: Any, agents: Any, rngs: Any, timeout: float | None) -> Outcome:
    """The asyncio driver, on an event loop of its own, with one limit for agents of every kind."""
    return asyncio.run(run_async(game, agents, rngs, timeout, timeout or MODEL_TIMEOUT_S))


def match(
    seller: Agent,
    buyer: Agent,
    opener: Role = Role.SELLER,
    rules: Rules = RULES,
    scenario: Scenario = SCENARIO,
    driver: Callable[..., Outcome] = run_loop,
    timeout: float | None = None,
) -> Outcome:
    """Play one match of the flat."""
    agents = {Role.SELLER: seller, Role.BUYER: buyer}
    rngs = {Role.SELLER: Random(1), Role.BUYER: Random(2)}
    return driver(play(scenario, briefs(FLAT, scenario, rules), rules, opener), agents, rngs, timeout)
