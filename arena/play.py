"""One match: a generator that owns the rules and nothing else.

It yields (role, view) and is sent a :class:`Reply`, or a :class:`Failure` where the reply could not
be had. It returns the :class:`Outcome`. It knows nothing of databases, prices or screens; tournaments
and training run this same function.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agents.agent import UNNAMED, Action, ActionKind, Brief, Event, Reply, Usage, View
from arena.answer import parse
from arena.protocol import ATTEMPTS, LEAST_TURNS, MOST_TURNS, Ending, Fault, Rules, judge, scores
from scenarios.domain import Domain
from scenarios.scenario import Package, Role, Scenario


class Attempt(NamedTuple):
    """One answer to one turn, as it came; `fault` is None for the one that counted."""

    text: str | None
    fault: Fault | None
    usage: Usage | None


class Turn(NamedTuple):
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

    def finish(ending: Ending, at_fault: Role | None = None, detail: str = "") -> Outcome:
        deal = standing if ending is Ending.AGREEMENT else None
        seller, buyer = (None, None) if ending.void else scores(scenario, ending, deal, at_fault)
        return Outcome(ending, at_fault, deal, seller, buyer, turns, detail, receipts)

    for number in range(2 * rules.limit(scenario)):
        role = opener if number % 2 == 0 else opener.other
        view = View(told[role], number // 2, tuple(history), standing, standing_by)
        turn = yield from _turn(role, view, rules, receipts)
        if isinstance(turn, _Stop):
            turns.append(turn.turn)
            return finish(turn.failure.ending, role, turn.failure.detail)
        turns.append(turn)
        kind = turn.kind
        if kind is ActionKind.ACCEPT:
            return finish(Ending.AGREEMENT)
        if kind is ActionKind.WALK_AWAY:
            return finish(Ending.WALK_AWAY)
        if turn.offer is not None:
            standing, standing_by = _filled(turn.offer, told[role].default), role
        history.append(Event(role, kind, turn.offer, turn.message))  # type: ignore[arg-type]
    return finish(Ending.DEADLINE)


class _Stop(NamedTuple):
    turn: Turn
    failure: Failure


def _turn(
    role: Role, view: View, rules: Rules, receipts: dict[Role, Mapping[str, Any]]
) -> Generator[tuple[Role, View], Reply | Failure, Turn | _Stop]:
    """Ask `role` until an answer is legal, it fails, or it has no attempts left."""
    attempts: list[Attempt] = []
    while True:
        reply = yield role, view
        if isinstance(reply, Failure):
            return _Stop(Turn(role, None, None, "", "", tuple(attempts)), reply)
        if reply.receipt is not None:
            receipts[role] = reply.receipt
        fault, action, offer, message, reasoning = _read(reply, view, rules)
        if fault is None:
            if attempts or reply.text is not None or reply.usage is not None:
                attempts.append(Attempt(reply.text, None, reply.usage))
            return Turn(role, action.kind, offer, message, reasoning, tuple(attempts))
        attempts.append(Attempt(_shown(reply), fault, reply.usage))
        if len(attempts) == ATTEMPTS:
            failure = Failure(Ending.FORFEIT_FORMAT, fault.value)
            return _Stop(Turn(role, None, None, "", "", tuple(attempts)), failure)
        view = view._replace(fault=fault.description)


def _read(
    reply: Reply, view: View, rules: Rules
) -> tuple[Fault | None, Action, Package | None, str, str]:
    """Return (fault, action, offer, message, reasoning) of a reply."""
    action, message, reasoning = reply.action, reply.message, reply.reasoning
    fault = Fault(reply.fault) if reply.fault is not None else None
    if fault is None and action is None:
        answer = parse(reply.text or "")
        if isinstance(answer, Fault):
            fault = answer
        else:
            action, message = answer.action, answer.message
            reasoning = reasoning or answer.reasoning
    if fault is not None or action is None:
        return fault or Fault.EMPTY, _NOTHING, None, "", ""
    table, by, role = view.brief.terms, view.standing_by, view.brief.role
    judged = judge(action, message, table, rules.message_limit, by, role)
    if isinstance(judged, Fault):
        return judged, _NOTHING, None, "", ""
    return None, action, judged, message, reasoning


_NOTHING = Action(ActionKind.TALK)


def _filled(offer: Package, default: Package) -> Package:
    if UNNAMED not in offer:
        return offer
    return tuple(d if o == UNNAMED else o for o, d in zip(offer, default, strict=True))


def _shown(reply: Reply) -> str:
    """What is kept of a faulty attempt: the raw text, or the structured reply as it stood."""
    if reply.text is not None:
        return reply.text
    return repr((reply.action, reply.message))
