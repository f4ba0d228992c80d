"""Whether an agent keeps to the interface: :func:`check_agent`, for anyone to run on his own agent.

It rehearses short negotiations in both roles on a small and a full domain, against partners that talk
and offer by a script (:class:`_Partner`), and looks at every reply. Language models are not rehearsed,
since every turn would cost money: for them only what needs no call is checked.
"""

import asyncio
import copy
import inspect
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from agents.agent import UNNAMED, ActionKind, Agent, Brief, Event, Reply, View
from agents.build import refusal
from agents.legality import IllegalReply, check_reply, indices
from agents.spec import AgentSpec
from scenarios.catalogue import bundled
from scenarios.domain import Domain, Term
from scenarios.draw import draw
from scenarios.scenario import Package, Preferences, Role, Split

SLOW_S = 1.0
"""A turn that takes longer than this is reported, unless the caller sets another limit."""


Guard = Callable[[], AbstractContextManager[None]]


class Finding(NamedTuple):
    """One way in which an agent does not keep to the interface."""

    check: str
    """What was looked at: shape, reply, legality, faults, randomness, shared state, view, time."""
    problem: str
    """What is wrong, and what to do."""


def check_agent(agent: Agent, slow_s: float = SLOW_S, guard: Guard = nullcontext) -> list[Finding]:
    """Return what is wrong with `agent`; an empty list when it keeps to the interface.

    An exception of the agent is a finding, never raised. `slow_s` is the most seconds a turn may take.
    `guard()` is entered around every call of the agent; one that raises stops an agent that hangs.
    """
    found = list(_shape(agent))
    if found or agent.spec.is_language_model:
        return found
    for brief in _briefs(agent.spec):
        found += _Rehearsal(agent, brief, slow_s, guard).findings()
    if not found:
        found += _shared_state(agent, guard)
    return list(dict.fromkeys(found))


def _shape(agent: Agent) -> Iterator[Finding]:
    if not isinstance(getattr(agent, "spec", None), AgentSpec):
        yield Finding("shape", "spec must be an agents.spec.AgentSpec")
    if not isinstance(getattr(agent, "deterministic", None), bool):
        yield Finding("shape", "deterministic must be True or False")
    if not callable(getattr(agent, "begin", None)):
        yield Finding("shape", "begin(role, brief, rng) is missing")


def _briefs(spec: AgentSpec) -> list[Brief]:
    """What the agent is told in each rehearsal: both roles; a small domain with one announced turn, and
    one of full size with a hidden limit where the agent can play that."""
    domain = bundled()["car_sale"]
    scenario = draw(domain, Split.TRAIN, 0)
    small = domain.model_copy(update={"terms": domain.terms[:3]})
    briefs = [_brief(small, small.terms, _plain(small, role), role, (1, 1)) for role in Role]
    if refusal(spec, domain) is None:
        briefs += [
            _brief(domain, scenario.terms, scenario.preferences(role), role, (6, 12)) for role in Role
        ]
    return briefs


def _brief(
    domain: Domain, terms: tuple[Term, ...], mine: Preferences, role: Role, turns: tuple[int, int]
) -> Brief:
    prose = getattr(domain.briefs, role.value)
    return Brief(role, domain.name, domain.title, prose, terms, mine, *turns, message_limit=2_000)


def _plain(domain: Domain, role: Role) -> Preferences:
    """Preferences over three terms whose options get better from first to last, or for the buyer from
    last to first."""
    rows = [tuple(100 * i // (len(t.options) - 1) for i in range(len(t.options))) for t in domain.terms]
    values = rows if role is Role.SELLER else [row[::-1] for row in rows]
    return Preferences((50, 30, 20), tuple(values), walk_away_points=4_500)


class _Stop(Exception):
    """The rehearsal cannot go on; carries the finding that says why."""

    def __init__(self, check: str, problem: str) -> None:
        super().__init__(problem)
        self.finding = Finding(check, problem)


class _Mind:
    """One negotiator under watch. `ask` returns its reply, or raises _Stop with the finding."""

    def __init__(self, agent: Agent, brief: Brief, seed: int, guard: Guard) -> None:
        self.brief, self._guard = brief, guard
        self.slowest = 0.0
        with _Watch("begin"), guard():
            self._negotiator = agent.begin(brief.role, brief, Random(seed))
        if not callable(getattr(self._negotiator, "reply", None)):
            raise _Stop("shape", "begin() must return an object with reply(view)")

    def ask(self, view: View) -> Reply:
        before = copy.deepcopy(view)
        started = time.perf_counter()
        with _Watch("reply"), self._guard():
            answer: Any = self._negotiator.reply(view)
            if inspect.isawaitable(answer):
                answer = asyncio.run(_awaited(answer))
        self.slowest = max(self.slowest, time.perf_counter() - started)
        if view != before:
            raise _Stop("view", "reply() changed the view it was shown; copy what you want to change")
        try:
            check_reply(answer, view)
        except IllegalReply as illegal:
            raise _Stop(illegal.check, illegal.problem) from None
        except Exception as error:
            words = f"the reply holds something that cannot be looked at ({type(error).__name__})"
            raise _Stop("reply", words) from None
        return answer  # type: ignore[no-any-return]


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


class _Watch:
    """Turns an exception of the agent's code into a finding, and guards the global generator."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        self._state = random.getstate()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and not isinstance(error, KeyboardInterrupt):
            try:
                words = f"{type(error).__name__}: {error}"
            except Exception:
                words = f"{type(error).__name__}, whose str() fails"
            raise _Stop("reply", f"{self._where}() raised {words}") from error
        if error is None and random.getstate() != self._state:
            raise _Stop(
                "randomness",
                f"{self._where}() drew from Python's global generator; use the rng given to begin()",
            )


class _Partner(Enum):
    """With whom an agent rehearses, so that it comes to accept, to walk away, and to the last turn."""

    YIELDING = auto()
    """Talks on every third turn, and offers what gets better for the agent term by term."""
    GENEROUS = auto()
    """Always offers the agent what is best for it, which whoever accepts anything accepts."""
    STUBBORN = auto()
    """Always offers the agent what is worst for it."""

    def offer(self, brief: Brief, turn: int) -> Package | None:
        """Return what it proposes on its turn, counted from 0; None where it talks."""
        if self is _Partner.YIELDING and turn % 3 == 0:
            return None
        rows = brief.preferences.table
        yielded = (turn + 1) * len(rows) // brief.most_turns
        best = {_Partner.YIELDING: yielded, _Partner.GENEROUS: len(rows), _Partner.STUBBORN: 0}[self]
        return tuple(row.index(max(row) if index < best else min(row)) for index, row in enumerate(rows))


_GAMES = (
    (_Partner.YIELDING, True),
    (_Partner.YIELDING, False),
    (_Partner.GENEROUS, False),
    (_Partner.STUBBORN, False),
)
"""What is rehearsed on each brief: with whom, and whether the agent opens."""


class _Rehearsal:
    """An agent's turns on one brief, played several times over."""

    def __init__(self, agent: Agent, brief: Brief, slow_s: float, guard: Guard) -> None:
        self.agent, self.brief, self.slow_s, self.guard = agent, brief, slow_s, guard

    def _mind(self, seed: int) -> "_Mind":
        return _Mind(self.agent, self.brief, seed, self.guard)

    def findings(self) -> list[Finding]:
        try:
            return list(self._randomness()) + list(self._faults())
        except _Stop as stop:
            return [stop.finding]

    def _randomness(self) -> Iterator[Finding]:
        for partner, opens in _GAMES:
            mind = self._mind(seed=1)
            first = _play(mind, partner, opens)
            if mind.slowest > self.slow_s:
                yield Finding("time", f"a turn took {mind.slowest:.2g} s; {self.slow_s:g} s are allowed")
            if _play(self._mind(seed=1), partner, opens) != first:
                yield Finding(
                    "randomness",
                    "equal views and an equal rng gave different replies; draw from the rng given to "
                    "begin(), and keep what a match must remember in the negotiator",
                )
            elif self.agent.deterministic and _play(self._mind(seed=2), partner, opens) != first:
                yield Finding(
                    "randomness",
                    "deterministic is True, yet another rng changed a reply; set it to False",
                )

    def _faults(self) -> Iterator[Finding]:
        """A turn that is asked for again after a fault must be answered legally too."""
        mind = self._mind(seed=1)
        view = View(self.brief, 0, (), None, None)
        mind.ask(view)
        try:
            mind.ask(replace(view, fault="Your answer was empty."))
        except _Stop as stop:
            yield Finding("faults", f"asked again after a fault: {stop.finding.problem}")


def _shared_state(agent: Agent, guard: Guard) -> Iterator[Finding]:
    """Two negotiators of one agent that take turns must reply as each would alone."""
    one, other = _briefs(agent.spec)[-2:]
    partner = _Partner.YIELDING
    try:
        alone = [_play(_Mind(agent, brief, 3, guard), partner, True) for brief in (one, other)]
        minds = [_Mind(agent, brief, 3, guard) for brief in (one, other)]
        games = [_turns(mind, partner, True) for mind in minds]
        together: list[list[tuple[Any, ...]]] = [[], []]
        for _ in range(one.most_turns):
            for game, replies in zip(games, together, strict=True):
                replies += [reply for reply in (next(game, None),) if reply is not None]
    except _Stop as stop:
        yield stop.finding
        return
    if together != alone:
        yield Finding(
            "shared state",
            "two negotiators at once replied otherwise than each alone; keep state in the negotiator "
            "that begin() returns, not in the agent",
        )


def _play(mind: _Mind, partner: _Partner, opens: bool) -> list[tuple[Any, ...]]:
    return list(_turns(mind, partner, opens))


def _turns(mind: _Mind, partner: _Partner, opens: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the mind's replies, as (action, message, text), to `partner`, who begins unless the mind
    `opens`. The rehearsal ends where a match would."""
    brief, history = mind.brief, list[Event]()
    standing: Package | None = None
    standing_by: Role | None = None
    other = brief.role.other
    for turn in range(brief.most_turns):
        for role in (brief.role, other) if opens else (other, brief.role):
            if role is other:
                offer = partner.offer(brief, turn)
                kind = ActionKind.TALK if offer is None else ActionKind.PROPOSE
                history.append(Event(other, kind, offer, "Let us settle this."))
            else:
                view = View(brief, turn, tuple(history), standing, standing_by)
                reply = mind.ask(view)
                yield reply.action, reply.message, reply.text
                if reply.action is None or reply.action.kind in (
                    ActionKind.ACCEPT,
                    ActionKind.WALK_AWAY,
                ):
                    return
                offer = indices(reply.action.terms, brief)
                history.append(Event(role, reply.action.kind, offer, reply.message))
            if offer is not None:
                pairs = zip(offer, brief.default, strict=True)
                standing = tuple(d if o == UNNAMED else o for o, d in pairs)
                standing_by = role
