"""Who bargains: the interface that every agent implements, and what passes across it.

An :class:`Agent` is a stateless player; :meth:`Agent.begin` returns the :class:`Negotiator` that plays
one side of one match and may keep state. Each turn the negotiator is shown a :class:`View` and returns
a :class:`Reply`: either a structured :class:`Action`, or the raw text of a language model, which the
arena parses and judges.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from random import Random
from typing import Any, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from agents.spec import AgentSpec
from scenarios.domain import Term
from scenarios.scenario import Package, Preferences, Role

UNNAMED = -1
"""In an offer: the term was not named, so it stands at its public default."""


class ActionKind(StrEnum):
    """What a turn does. Only the action binds; prose never does."""

    PROPOSE = "propose"
    """Put a package on the table; it replaces the standing offer whole."""
    ACCEPT = "accept"
    """Take the other side's standing offer: the match ends in agreement."""
    WALK_AWAY = "walk_away"
    """End the match with no deal; both sides get their walk-away value."""
    TALK = "talk"
    """Say something and leave the standing offer as it is."""

    __hash__ = str.__hash__  # as that of Role


PROPOSE = ActionKind.PROPOSE
"""For what every turn runs through: Python 3.11 looks members up in their class by Python code."""


class Action(NamedTuple):
    """The binding part of a turn.

    `terms` belongs to a proposal only: either names to option texts (terms left out stand at their
    default), or the fast form: one option index per term, UNNAMED (-1) where a term is left out.
    """

    kind: ActionKind
    terms: Mapping[str, str] | Package | None = None


class Event(Struct, frozen=True, gc=False):
    """One past turn as both sides saw it: `offer` has UNNAMED at terms that were left out."""

    role: Role
    kind: ActionKind
    offer: Package | None
    message: str


@dataclass(frozen=True)
class Brief:
    """All that one side is told before the first turn: its own preferences, never the other's."""

    role: Role
    domain: str
    title: str
    prose: str
    terms: tuple[Term, ...]
    preferences: Preferences
    least_turns: int
    """The match may end any time after each side has had this many turns."""
    most_turns: int
    """A side never has more turns than this; equal to `least_turns` where the limit is announced."""
    message_limit: int
    """Characters of a public message; a longer one is a fault."""

    @cached_property
    def default(self) -> Package:
        """The package of public defaults."""
        return tuple(term.options.index(term.default) for term in self.terms)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many options each term has."""
        return tuple(len(term.options) for term in self.terms)


class View(Struct, frozen=True):
    """What one side sees on its turn."""

    brief: Brief
    turn: int
    """Turns this side has used already: 0 on its first."""
    history: tuple[Event, ...]
    """Every public turn so far, both sides', oldest first."""
    standing: Package | None
    """The offer on the table, defaults filled in; None before the first proposal."""
    standing_by: Role | None
    """Who made the standing offer. Only the other side can accept it."""
    fault: str | None = None
    """What was wrong with the last attempt at this turn, where it is asked for again."""

    @property
    def theirs(self) -> Package | None:
        """The standing offer if it is the other side's, and so open to acceptance; else None."""
        return None if self.standing_by is self.brief.role else self.standing


MOST_TOKENS = 10**9
"""More than one side reads or writes in a match, let alone in a call: a larger count is not believed.
Two of them still fit a database's whole numbers. This project's choice."""


class Usage(NamedTuple):
    """What one call to a language model took; None where it is not known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    cached: bool = False
    """Whether the answer came from the cache: nobody was asked, and it cost nothing; its tokens and its
    latency are those of when it was given."""


class Reply(Struct):
    """A negotiator's answer to a View.

    Either `action` with its channels, or `text`: a model's raw answer, from which the arena reads all
    three channels. `fault` names a fault that only the agent can see: "cut_off" (the token limit),
    "refusal" or "context_overrun". `receipt` says what was effectively sent (model, sampling, schema,
    prompt hash).
    """

    action: Action | None = None
    message: str = ""
    reasoning: str = ""
    text: str | None = None
    fault: str | None = None
    usage: Usage | None = None
    receipt: Mapping[str, Any] | None = None


class Negotiator(Protocol):
    """One side of one match."""

    def reply(self, view: View) -> Reply | Awaitable[Reply]:
        """Answer the view. May be a coroutine function (language models)."""
        ...


@runtime_checkable
class Agent(Protocol):
    """A player. `spec` is its identity; `deterministic` says that equal views give equal replies."""

    spec: AgentSpec
    deterministic: bool

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        """Return the negotiator for one match. All its randomness must come from `rng`."""
        ...


class Trouble(StrEnum):
    """What kind of trouble kept a model's answer away, none of it the model's doing."""

    CONNECTION = "connection"
    """No connection came about, or it broke."""
    SILENCE = "silence"
    """Nothing came before the timeout."""
    RATE_LIMIT = "rate_limit"
    """429: too many requests or tokens."""
    SERVER = "server"
    """408, 5xx, 529: the provider failed."""
    MALFORMED = "malformed"
    """What came is no completion."""
    REJECTED = "rejected"
    """400, 422: the request was refused for what it holds."""
    CONTEXT = "context"
    """The conversation fits no context of the model's, and not for its own words."""
    AUTHENTICATION = "authentication"
    """401, 403: the key is missing or wrong."""
    UNKNOWN_MODEL = "unknown_model"
    """404, or no provider by this name."""
    QUOTA = "quota"
    """402, or a 429 that says that the account has no money left."""
    WEIGHTS = "weights"
    """Weights on this machine that cannot be loaded, or a server here that does not come up."""

    @property
    def permanent(self) -> bool:
        """Whether asking again is useless until someone mends it: the agent is stopped at once."""
        return self in _PERMANENT

    @property
    def passing(self) -> bool:
        """Whether the same request may well be answered a little later."""
        return self in _PASSING


_PERMANENT = {Trouble.AUTHENTICATION, Trouble.UNKNOWN_MODEL, Trouble.QUOTA, Trouble.WEIGHTS}
_PASSING = {Trouble.CONNECTION, Trouble.RATE_LIMIT, Trouble.SERVER, Trouble.MALFORMED}


class ProviderError(Exception):
    """A model's provider failed: the match is void, not scored.

    `retry_after_s` is how long the provider asks to be left alone, where it says so; `reached` is false
    where no connection came about, so that nobody can have worked on the request.
    """

    def __init__(
        self,
        message: str,
        trouble: Trouble = Trouble.SERVER,
        retry_after_s: float | None = None,
        reached: bool = True,
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.retry_after_s = retry_after_s
        self.reached = reached


class StillAnsweringError(Exception):
    """A model's stream was still running when its time was up: its own doing, and a forfeit."""


class GivenUpError(Exception):
    """The run cannot go on, through nobody's fault, as where the disk is full: the match is given up,
    neither scored nor void, and left to be played."""


class BudgetSpentError(GivenUpError):
    """What is left of a budget does not suffice for the next call of one agent, by version: it plays no
    more in this run, and others may go on."""

    def __init__(self, message: str, agent: str) -> None:
        super().__init__(message)
        self.agent = agent


def propose(package: Package, message: str = "", reasoning: str = "") -> Reply:
    """Reply with a proposal of the full package (one option index per term)."""
    return Reply(Action(PROPOSE, package), message, reasoning)


def accept(message: str = "", reasoning: str = "") -> Reply:
    """Reply by accepting the other side's standing offer."""
    return Reply(Action(ActionKind.ACCEPT), message, reasoning)


def walk_away(message: str = "", reasoning: str = "") -> Reply:
    """Reply by ending the match without a deal."""
    return Reply(Action(ActionKind.WALK_AWAY), message, reasoning)
