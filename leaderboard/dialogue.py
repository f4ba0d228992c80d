"""A match's HTML: the dialogue as two people would read it, and the terms as rows."""

from collections.abc import Sequence

from agents.agent import ActionKind
from arena.disclosures import Disclosures
from arena.play import Attempt, Turn
from arena.replays import replayed_block
from leaderboard import void_words
from leaderboard.figures import palette
from leaderboard.markup import cell, heading, table, text
from leaderboard.replay import Replay, Transcript, cached_answers, chip, offered_terms
from leaderboard.wording import NONE, counted
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
SHOWN = 1_000_000
"""Characters of a transcript that a page shows; beyond, each text is cut to its share of them."""
LEAST_SHOWN = 2_000
"""Characters of a text that are shown however many there are."""

STYLE = f"""<style>
.ba-private summary::before {{ content: "🔒 "; font-size: .7rem; }}
.ba-fault summary::before {{ content: "⚠ "; color: {palette.BUYER}; }}
.ba-faults {{ color: {palette.BUYER}; font-weight: 500; margin-left: .5rem; }}
.ba-turn details {{ margin-top: .2rem; }}
.ba-plain summary {{ cursor: pointer; font-size: .85rem; }}
.ba-plain .prose {{ white-space: pre-wrap; max-width: 46rem; padding: .3rem 0 .6rem 1rem; }}
.ba-plain pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; max-height: 30rem;
  overflow-y: auto; background: rgba(128,128,128,.12); padding: .5rem; border-radius: .4rem; }}
.ba-pair {{ display: grid; grid-template-columns: 1fr 1fr; column-gap: 1.5rem; align-items: start; }}
.ba-pair > div {{ min-width: 0; }}
.ba-first {{ grid-column: 1; }}
.ba-second {{ grid-column: 2; }}
.ba-bar {{ display: block; height: 4px; border-radius: 2px; margin: .15rem 0 0 auto;
  background: rgba(128,128,128,.25); width: 4.5rem; }}
.ba-inline {{ display: inline-block; margin: 0 .6rem .15rem 0; }}
.ba-bar span {{ display: block; height: 4px; border-radius: 2px; }}
@media (min-width: 641px) {{
  .stColumn:has(.st-key-ba-beside) > div {{ position: sticky; top: 3.5rem;
    max-height: calc(100vh - 4rem); overflow-y: auto; }}
}}
@media (max-width: 640px) {{
  .ba-pair {{ display: block; }}
  .ba-second.ba-top {{ margin-top: 2rem; }}
}}
</style>"""
"""What a page with a transcript needs beside `markup.STYLE`."""


def dialogue(turns: Sequence[Turn], scenario: Scenario, names: dict[Role, str]) -> str:
    """Return the turns in order. Reasoning, raw answers and terms are folded in each.

    A transcript of more than SHOWN characters is cut text by text; :func:`cut` says whether it is.
    """
    return "".join(_turns(turns, scenario, names))


def cut(turns: Sequence[Turn]) -> bool:
    """Return whether a page shows less than all of these turns' texts."""
    limit = _limit(turns)
    return any(len(given) > limit for given in _texts(turns))


def side_by_side(first: Transcript, second: Transcript) -> str:
    """Return two transcripts next to each other, turn by turn; on a narrow screen one after the other.

    The page needs STYLE as well.
    """
    columns = [
        [head(each), *_turns(each.turns, each.scenario, each.names), ending(each)]
        for each in (first, second)
    ]
    # In the order of the document a column is whole, for narrow screens and for screen readers.
    places = [
        f'<div class="{side}{" ba-top" if row == 0 else ""}" style="grid-row:{row + 1}">{block}</div>'
        for side, column in zip(("ba-first", "ba-second"), columns, strict=True)
        for row, block in enumerate(column)
    ]
    return f'<div class="ba-pair">{"".join(places)}</div>'


def head(transcript: Transcript) -> str:
    """Return who sells what to whom, and under which rules."""
    match, scenario, names = transcript.match, transcript.scenario, transcript.names
    limit = match.turns_rule or scenario.turn_limit
    told = "announced" if match.turns_rule else "hidden from both"
    panel = "" if match.feasible else " · infeasible: no package is worth it for both"
    block = replayed_block(match.replicate)
    again = f" · replicate {match.replicate + 1}" if match.replicate else ""
    if block is not None:
        again = f" · played once more after block {block}, for drift: it is in no score"
    facts = (
        f"{scenario.label}{again} · the {match.opener} opens · at most {limit} turns a side ({told}) · "
        f"walk-away values: seller {scenario.seller.walk_away:.3f}, buyer "
        f"{scenario.buyer.walk_away:.3f}{panel}"
    )
    title = f"{names[Role.SELLER]} sells to {names[Role.BUYER]}"
    return (
        f'<h3 class="ba-title">{text(title)}</h3><div class="ba-note">{_standing(transcript)}'
        f"{text(facts)}<br>key {text(match.key)}</div>"
    )


def ending(transcript: Transcript) -> str:
    """Return how the match ended and what it came to."""
    match = transcript.match
    fault = f", by the {match.at_fault}" if match.at_fault else ""
    worth = [
        f"{side} {value:.3f}"
        for side, value in (("seller", match.seller_utility), ("buyer", match.buyer_utility))
        if value is not None
    ]
    how = ENDINGS.get(match.ending, match.ending) + fault
    if match.attempt and match.trouble is not None:
        how += f" ({void_words.trouble(match.ending, match.trouble)})"
    score = f" · {', '.join(worth)}" if worth else ""
    if cached := cached_answers(transcript.turns):
        score += f" · {counted(cached, 'answer')} from the cache"
    detail = f"<br>{text(match.detail)}" if match.detail else ""
    return f'<div class="ba-end">{text(how)}{score}{detail}</div>'


def _standing(transcript: Transcript) -> str:
    match = transcript.match
    if match.attempt:
        return f"<b>Void attempt {match.attempt}</b>: it counts for nobody. "
    if match.withdrawn_at:
        return f"<b>Withdrawn</b> ({text(match.withdrawn_reason)}): it is in no score. "
    return ""


def _turns(turns: Sequence[Turn], scenario: Scenario, names: dict[Role, str]) -> list[str]:
    shown, before = [], dict.fromkeys(Role, frozenset[tuple[str, str]]())
    limit, stated = _limit(turns), Disclosures(scenario).of(turns)
    for number, turn in enumerate(turns, start=1):
        marks = _marks(turn, stated[number - 1])
        who = f"{number}. {text(turn.role.value)} · {text(names[turn.role])}{marks}"
        shown.append(_turn(who, turn, scenario, before[turn.role], limit))
        if turn.offer is not None:
            before[turn.role] = frozenset((t, o) for t, o, _ in offered_terms(turn, scenario))
    return shown


def _marks(turn: Turn, discloses: bool) -> str:
    """Return what is to be noticed about a turn."""
    faults = sum(attempt.fault is not None for attempt in turn.attempts)
    marks = [counted(faults, "faulty answer")] if faults else []
    marks += ["states its own private numbers"] if discloses else []
    return "".join(f'<span class="ba-faults">⚠ {mark}</span>' for mark in marks)


def _turn(
    who: str, turn: Turn, scenario: Scenario, before: frozenset[tuple[str, str]], limit: int
) -> str:
    parts = [f'<div class="who">{who}</div>']
    if turn.message:
        parts.append(f'<div class="prose">{_start(turn.message, limit)}</div>')
    parts.append(f'<span class="ba-chip">{text(chip(turn, scenario))}</span>')
    if turn.kind is ActionKind.PROPOSE:
        parts.append(_terms(turn, scenario, before))
    if turn.reasoning:
        parts.append(_private(turn.reasoning, limit))
    parts += _attempts(turn.attempts, limit)
    return f'<div class="ba-turn ba-{turn.role.value}">{"".join(parts)}</div>'


def _terms(turn: Turn, scenario: Scenario, before: frozenset[tuple[str, str]]) -> str:
    """Return the offer's terms; those that differ from the side's offer before are bold."""
    named = []
    for term, option, default in offered_terms(turn, scenario):
        shown = text(option) + (" (default)" if default else "")
        changed = before and (term, option) not in before
        named.append(f"{text(term)}: " + (f"<b>{shown}</b>" if changed else shown))
    return f'<div class="ba-terms">{" · ".join(named)}</div>'


def _attempts(attempts: Sequence[Attempt], limit: int) -> list[str]:
    """Return every raw answer: the faulty ones by their fault, then the one that counted."""
    found, number = [], 0
    for attempt in attempts:
        if attempt.fault is None:
            if attempt.text:
                found.append(_folded("raw answer", attempt.text, limit))
            continue
        number += 1
        title = f"faulty answer {number}: {attempt.fault} ({attempt.fault.description})"
        found.append(_folded(title, attempt.text or "(no text)", limit, "ba-fault"))
        if attempt.reasoning:
            found.append(_private(attempt.reasoning, limit, f" of faulty answer {number}"))
    return found


def _private(reasoning: str, limit: int, of: str = "") -> str:
    title = f"private reasoning{of} (the other side never saw it)"
    return _folded(title, reasoning, limit, "ba-private")


def _folded(title: str, content: str, limit: int, kind: str = "ba-raw") -> str:
    return (
        f'<details class="{kind}"><summary>{text(title)}</summary>'
        f"<pre>{_start(content, limit)}</pre></details>"
    )


def _start(given: str, limit: int) -> str:
    """Return a text's first characters, and how many are left out."""
    if len(given) <= limit:
        return text(given)
    left = f"{len(given) - limit:,} of {len(given):,} characters left out: the download has them"
    return f"{text(given[:limit])}<b> … {left}</b>"


def _limit(turns: Sequence[Turn]) -> int:
    """Return how many characters of each text are shown."""
    lengths = [len(given) for given in _texts(turns)]
    return SHOWN if sum(lengths) <= SHOWN else max(LEAST_SHOWN, SHOWN // len(lengths))


def _texts(turns: Sequence[Turn]) -> list[str]:
    attempts = [attempt for turn in turns for attempt in turn.attempts]
    return [
        *(given for turn in turns for given in (turn.message, turn.reasoning)),
        *(given for attempt in attempts for given in (attempt.text or "", attempt.reasoning)),
    ]


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
        + cell(_share(line.seller_got, line.seller_most, palette.SELLER), number=True)
        + cell(_share(line.buyer_got, line.buyer_most, palette.BUYER), number=True)
        + "</tr>"
        for line in replay.terms
    ]
    return table(headings, rows)


def _share(got: float | None, most: float, colour: str) -> str:
    if got is None:
        return f'{NONE}<br><span class="soft">of {most:.3f}</span>'
    width = 100 * got / most if most else 0.0
    bar = f'<span class="ba-bar"><span style="width:{width:.0f}%;background:{colour}"></span></span>'
    return f'{got:.3f} <span class="soft">of {most:.3f}</span>{bar}'


def terms_rows(replay: Replay) -> list[dict[str, object]]:
    """Return the table of :func:`terms_table` for a download."""
    return [vars(line) for line in replay.terms]
