"""A match as text: what each side was shown on each ask, what it answered, what came of it."""

import re
from collections.abc import Iterator

from agents.agent import UNNAMED, View
from arena.play import Attempt, Outcome, Turn
from arena.protocol import Rules
from scenarios.scenario import Package, Role, Scenario
from tests.arena.protocol.flat import Replay

WIDTH = 300
"""Longer answers are shown with their middle left out."""


def render(
    scenario: Scenario, rules: Rules, opener: Role, agents: dict[Role, Replay], outcome: Outcome
) -> str:
    """Return the playthrough as readable text that ends in a newline."""
    return "\n".join([*_header(scenario, rules, opener), *_turns(scenario, agents, outcome)]) + "\n"


def _header(scenario: Scenario, rules: Rules, opener: Role) -> Iterator[str]:
    limit = "announced" if rules.turns else "hidden"
    yield f"{opener.value} opens; {rules.limit(scenario)} turns a side, {limit}"
    yield "defaults: " + _offer(scenario, scenario.default)
    for role in Role:
        yield f"{role.value} walks away to {scenario.preferences(role).walk_away:.4f}"


def _turns(scenario: Scenario, agents: dict[Role, Replay], outcome: Outcome) -> Iterator[str]:
    views = {role: iter(agent.views) for role, agent in agents.items()}
    for turn in outcome.turns:
        # A turn without attempts was asked for once; a side that failed was asked once more.
        asks = len(turn.attempts) or 1
        if turn.kind is None and turn.attempts and not outcome.ending.value.endswith("format"):
            asks += 1
        seen = [view for _, view in zip(range(asks), views[turn.role], strict=False)]
        yield ""
        yield from _sees(scenario, turn, seen)
        yield from _does(scenario, turn)
    yield ""
    yield from _end(scenario, outcome)


def _sees(scenario: Scenario, turn: Turn, seen: list[View]) -> Iterator[str]:
    attempts: list[Attempt | None] = [*turn.attempts] or [None] * len(seen)
    if not seen:
        yield f"{turn.role.value}, before its first turn"
    for number, view in enumerate(seen):
        attempt = attempts[number] if number < len(attempts) else None
        if number == 0:
            last = view.history[-1] if view.history else None
            yield f"{turn.role.value}, turn {view.turn + 1}"
            if last is not None and last.message:
                yield f"  hears     {_short(last.message)!r}"
            if view.standing is not None and view.standing_by is not None:
                yield f"  sees      {view.standing_by.value}'s offer: {_offer(scenario, view.standing)}"
        else:
            yield f"  is told   {view.fault}"
        if attempt is not None:
            yield f"  answers   {_short(attempt.text)}"
            if attempt.reasoning:
                yield f"  thinking  {_short(attempt.reasoning)}"
            if attempt.fault is not None:
                yield f"  fault     {attempt.fault.value}"


def _does(scenario: Scenario, turn: Turn) -> Iterator[str]:
    if turn.reasoning:
        yield f"  thinks    {_short(turn.reasoning)!r}"
    if turn.message:
        yield f"  says      {_short(turn.message)!r}"
    if turn.offer is not None:
        yield f"  proposes  {_offer(scenario, turn.offer)}"
    elif turn.kind is not None:
        yield f"  action    {turn.kind.value}"


def _end(scenario: Scenario, outcome: Outcome) -> Iterator[str]:
    detail = re.sub(r" \(\w+\.py, line \d+\)$", "", outcome.detail)
    yield f"ending: {outcome.ending.value}" + (f" ({detail})" if detail else "")
    if outcome.at_fault is not None:
        yield f"at fault: {outcome.at_fault.value}"
    if outcome.deal is not None:
        yield f"deal: {_offer(scenario, outcome.deal)}"
    if outcome.seller_score is None or outcome.buyer_score is None:
        yield "scores: none"
    else:
        yield f"scores: seller {outcome.seller_score:.4f}, buyer {outcome.buyer_score:.4f}"


def _offer(scenario: Scenario, offer: Package) -> str:
    return "; ".join(
        f"{term.name} {'-' if option == UNNAMED else term.options[option]}"
        for term, option in zip(scenario.terms, offer, strict=True)
    )


def _short(words: str | None) -> str:
    if words is None:
        return "(nothing)"
    words = words.encode("ascii", "backslashreplace").decode().replace("\n", "\\n")
    if len(words) <= WIDTH:
        return words
    return f"{words[:60]} [... {len(words) - 120:,} characters ...] {words[-60:]}"
