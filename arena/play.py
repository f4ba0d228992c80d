"""One match: a generator that owns the rules and nothing else.

It yields (role, view) and is sent a :class:`Reply`, or a :class:`Failure` where the reply could not
be had. It returns the :class:`Outcome`. It knows nothing of databases, prices or screens; tournaments
and training run this same function.
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.agent import UNNAMED, ActionKind, Brief, Event, Reply, Trouble, Usage, View
from arena.answer import parse
from arena.protocol import ATTEMPTS, LEAST_TURNS, MOST_TURNS, Ending, Fault, Rules, judge, scores
from scenarios.domain import Domain
from scenarios.scenario import Package, Role, Scenario


class Attempt(NamedTuple):
    """One answer to one turn, as it came; `fault` is None for the one that counted.

    `text` is the raw text; for a faulty structured reply its message and action as JSON. `reasoning`
    is kept for faulty attempts only: the one that counted has it in its turn.
    """

    text: str | None
    fault: Fault | None
    usage: Usage | None
    reasoning: str = ""


class Turn(Struct, frozen=True, gc=False):
    """One turn of the record. `offer` has UNNAMED (-1) at terms that the proposal left out.

    `attempts` is empty where a structured reply was legal at once: there is nothing more to keep.
    `kind` is None for the turn on which a side failed or forfeited.
    """

    role: Role
    kind: ActionKind | None
    offer: Package | None
    message: str
    reasoning: str
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Sent into :func:`play` instead of a reply: how the match ends, and why."""

    ending: Ending
    detail: str
    trouble: Trouble | None = None
    """Of a provider's failure, its kind."""


@dataclass(slots=True)
class Outcome:
    """A finished match. Scores are None where it is void; `deal` has the defaults filled in."""

    ending: Ending
    at_fault: Role | None
    deal: Package | None
    seller_score: float | None
    buyer_score: float | None
    turns: list[Turn]
    detail: str = ""
    trouble: Trouble | None = None
    receipts: dict[Role, Mapping[str, Any]] = field(default_factory=dict)


Game = Generator[tuple[Role, View], Reply | Failure, Outcome]


def briefs(domain: Domain, scenario: Scenario, rules: Rules) -> dict[Role, Brief]:
    """Return what each side is told before the first turn."""
    least, most = (rules.turns or LEAST_TURNS), (rules.turns or MOST_TURNS)
    return {
        role: Brief(
            role=role,
            domain=domain.name,
            title=domain.title,
            prose=getattr(domain.briefs, role.value),
            terms=scenario.terms,
            preferences=scenario.preferences(role),
            least_turns=least,
            most_turns=most,
            message_limit=rules.message_limit,
        )
        for role in Role
    }


def play(scenario: Scenario, told: Mapping[Role, Brief], rules: Rules, opener: Role) -> Game:
    """Play one match of `scenario`; `opener` moves first and turns alternate.

    `told` is :func:`briefs` of the same scenario and rules. This function alone asks again for faulty
    answers (at most twice) and declares the forfeit after the third.
    """
    history: list[Event] = []
    turns: list[Turn] = []
    receipts: dict[Role, Mapping[str, Any]] = {}
    standing: Package | None = None
    standing_by: Role | None = None
    sides = [(role, told[role]) for role in (opener, opener.other)]

    def finish(
        ending: Ending,
        deal: Package | None = None,
        at_fault: Role | None = None,
        detail: str = "",
        trouble: Trouble | None = None,
    ) -> Outcome:
        seller, buyer = (None, None) if ending.void else scores(scenario, ending, deal, at_fault)
        return Outcome(ending, at_fault, deal, seller, buyer, turns, detail, trouble, receipts)

    for used in range(rules.limit(scenario)):
        for role, brief in sides:
            view = View(brief, used, tuple(history), standing, standing_by)
            reply = yield role, view
            turn = _at_once(reply, brief, standing_by)
            failure: Failure | None = None
            if turn is None:
                turn, failure = yield from _turn(reply, view, receipts)
            turns.append(turn)
            if failure is not None:
                return finish(failure.ending, None, role, failure.detail, failure.trouble)
            if turn.offer is not None:
                standing_by = role
                standing = _filled(turn.offer, scenario.default) if UNNAMED in turn.offer else turn.offer
            elif turn.kind is ActionKind.ACCEPT:
                return finish(Ending.AGREEMENT, standing)
            elif turn.kind is ActionKind.WALK_AWAY:
                return finish(Ending.WALK_AWAY)
            history.append(Event(role, turn.kind, turn.offer, turn.message))  # type: ignore[arg-type]
    return finish(Ending.DEADLINE)


def _at_once(reply: Reply | Failure, brief: Brief, standing_by: Role | None) -> Turn | None:
    """Return the turn of a legal structured reply of which nothing else is to be kept, else None. Nearly
    all turns of scripted matches are such."""
    if isinstance(reply, Failure) or reply.action is None or reply.text is not None:
        return None
    if reply.usage is not None or reply.receipt is not None or reply.fault is not None:
        return None
    action, message = reply.action, reply.message
    offer = judge(action, message, brief, standing_by)
    if type(offer) is Fault:  # isinstance() takes its time with an Enum
        return None
    return Turn(brief.role, action.kind, offer, message, reply.reasoning)  # type: ignore[arg-type]


def _turn(
    reply: Reply | Failure, view: View, receipts: dict[Role, Mapping[str, Any]]
) -> Generator[tuple[Role, View], Reply | Failure, tuple[Turn, Failure | None]]:
    """Take a reply, and ask again until an answer is legal, it fails, or no attempts are left."""
    attempts: tuple[Attempt, ...] = ()
    role = view.brief.role
    while True:
        if isinstance(reply, Failure):
            return Turn(role, None, None, "", "", attempts), reply
        if reply.receipt is not None:
            receipts[role] = reply.receipt
        turn = _read(reply, view)
        if not isinstance(turn, Fault):
            if attempts or reply.text is not None or reply.usage is not None:
                turn = replace(turn, attempts=(*attempts, Attempt(reply.text, None, reply.usage)))
            return turn, None
        attempts = (*attempts, Attempt(_shown(reply), turn, reply.usage, reply.reasoning))
        if len(attempts) == ATTEMPTS:
            forfeit = Failure(Ending.FORFEIT_FORMAT, turn.value)
            return Turn(role, None, None, "", "", attempts), forfeit
        view = replace(view, fault=turn.description)
        reply = yield role, view


def _read(reply: Reply, view: View) -> Turn | Fault:
    """Return the turn that a reply makes, or the first thing that is wrong with it."""
    if reply.fault is not None:
        return Fault(reply.fault)
    action, message, reasoning = reply.action, reply.message, reply.reasoning
    if action is None:
        answer = parse(reply.text or "")
        if isinstance(answer, Fault):
            return answer
        action, message = answer.action, answer.message
        reasoning = reasoning or answer.reasoning
    brief = view.brief
    offer = judge(action, message, brief, view.standing_by)
    if isinstance(offer, Fault):
        return offer
    return Turn(brief.role, action.kind, offer, message, reasoning)


def _filled(offer: Package, default: Package) -> Package:
    return tuple(d if o == UNNAMED else o for o, d in zip(offer, default, strict=True))


def _shown(reply: Reply) -> str | None:
    """What is kept of a faulty attempt: the raw text, or the structured reply as JSON."""
    if reply.text is not None or reply.action is None:
        return reply.text
    kind, terms = reply.action
    shown: Any = None if terms is None else _plain(terms)
    if isinstance(terms, Mapping):
        shown = {name: _plain(option) for name, option in terms.items()}
    elif isinstance(terms, (list, tuple)):
        shown = [_plain(option) for option in terms]
    content = {"message": reply.message, "action": kind, "terms": shown}
    return json.dumps(content, ensure_ascii=False)


def _plain(value: object) -> str | int:
    """The value, or the name of its type where it is nothing that an offer can hold."""
    if isinstance(value, str) or (type(value) is int and abs(value) < 10**9):
        return value
    return f"<{type(value).__name__}>"
