"""A match's HTML: the dialogue as two people would read it, and the terms as rows."""

from collections.abc import Sequence

from agents.agent import ActionKind
from arena.play import Turn
from leaderboard.markup import cell, heading, table, text
from leaderboard.replay import Replay, chip, offered_terms
from leaderboard.wording import NONE
from scenarios.scenario import Role, Scenario

ENDINGS = {
    "agreement": "Agreement",
    "walk_away": "No deal: a side walked away",
    "deadline": "No deal: both sides used all their turns",
    "forfeit_format": "Forfeit: three faulty answers to one turn",
    "forfeit_timeout": "Forfeit: an agent's own code took too long",
    "forfeit_code": "Forfeit: an agent's own code failed",
    "provider_error": "Void: a model's provider failed",
    "harness_error": "Void: a bug of the arena",
}


def dialogue(turns: Sequence[Turn], scenario: Scenario, names: dict[Role, str]) -> str:
    """Return the turns in order. Reasoning, raw answers and terms are folded in each."""
    shown, before = [], dict.fromkeys(Role, frozenset[tuple[str, str]]())
    for number, turn in enumerate(turns, start=1):
        shown.append(_turn(number, turn, scenario, names[turn.role], before[turn.role]))
        if turn.offer is not None:
            before[turn.role] = frozenset((t, o) for t, o, _ in offered_terms(turn, scenario))
    return "".join(shown)


def _turn(
    number: int, turn: Turn, scenario: Scenario, name: str, before: frozenset[tuple[str, str]]
) -> str:
    parts = [f'<div class="who">{number}. {text(turn.role.value)} · {text(name)}</div>']
    if turn.message:
        parts.append(f'<div class="prose">{text(turn.message)}</div>')
    parts.append(f'<span class="ba-chip">{text(chip(turn, scenario))}</span>')
    if turn.kind is ActionKind.PROPOSE:
        parts.append(_terms(turn, scenario, before))
    if turn.reasoning:
        parts.append(_folded("private reasoning (the other side never saw it)", turn.reasoning))
    parts += _attempts(turn)
    return f'<div class="ba-turn ba-{turn.role.value}">{"".join(parts)}</div>'


def _terms(turn: Turn, scenario: Scenario, before: frozenset[tuple[str, str]]) -> str:
    """Return the offer's terms; those that differ from the side's offer before are bold."""
    named = []
    for term, option, default in offered_terms(turn, scenario):
        shown = text(option) + (" (default)" if default else "")
        changed = before and (term, option) not in before
        named.append(f"{text(term)}: " + (f"<b>{shown}</b>" if changed else shown))
    return f'<div class="ba-terms">{" · ".join(named)}</div>'


def _attempts(turn: Turn) -> list[str]:
    faults = [attempt for attempt in turn.attempts if attempt.fault is not None]
    found = []
    for number, attempt in enumerate(faults, start=1):
        title = f"faulty answer {number}: {attempt.fault} ({attempt.fault.description})"  # type: ignore[union-attr]
        found.append(_folded(title, attempt.text or "(no text)"))
    if turn.attempts and turn.attempts[-1].fault is None and turn.attempts[-1].text:
        found.append(_folded("raw answer", turn.attempts[-1].text))
    return found


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{text(title)}</summary><pre>{text(content)}</pre></details>"


def terms_table(replay: Replay) -> str:
    """Return the terms as rows: what each side wanted, what was agreed, who got how much from it."""
    headings = [
        heading("term", "and its kind, derived from both sides' private tables"),
        heading("seller's best"),
        heading("buyer's best"),
        heading("agreed"),
        heading("seller got", "of the most this term can give", number=True),
        heading("buyer got", "of the most this term can give", number=True),
    ]
    rows = [
        "<tr>"
        + cell(f'{text(line.name)}<br><span class="soft">{text(line.kind)}</span>')
        + cell(text(line.seller_wants))
        + cell(text(line.buyer_wants))
        + cell(NONE if line.agreed is None else f"<b>{text(line.agreed)}</b>")
        + cell(_share(line.seller_got, line.seller_most), number=True)
        + cell(_share(line.buyer_got, line.buyer_most), number=True)
        + "</tr>"
        for line in replay.terms
    ]
    return table(headings, rows)


def _share(got: float | None, most: float) -> str:
    shown = NONE if got is None else f"{got:.3f}"
    return f'{shown}<br><span class="soft">of {most:.3f}</span>'
