"""Matches and void attempts: their keys, what transcripts come to, and what was measured on them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from arena.measures import VERSION, words
from arena.play import Outcome, Turn
from arena.protocol import PROTOCOL_VERSION, Ending
from arena.record import of_side, spent
from arena.retold import retold
from arena.schedule import Cell, MatchKey
from arena.store.checking.ground import Ground, rules_of
from arena.store.checking.looked import RESTORE, Check, Looking, judged
from arena.store.models import MATCHES, MEASURES, VOIDS
from arena.transcript import decode
from scenarios.scenario import Role

MEND = f"{RESTORE}, or take them off the boards: arena withdraw --match KEY --reason WHY"


class Told(NamedTuple):
    """A transcript's turns, and what the rules make of them."""

    turns: Sequence[Turn]
    outcome: Outcome


def played(looking: Looking, doubted: set[str]) -> Iterator[Check]:
    """Look at every match and every void attempt, those of one scenario together; put the keys of
    matches that something is wrong with into `doubted`.

    One fault is told once: what its key does not fit is not looked into further, nor what stands on a
    scenario or a domain that is damaged itself. Matches of other releases' rules are not told again.
    """
    keys, transcripts = Check("keys of matches", MEND), Check("transcripts of matches", MEND)
    measures, ground = Check("measures of matches", MEND), Ground(looking.connection)
    measured = (MEASURES.c.version, MEASURES.c.content, MEASURES.c.words)
    query = sa.select(MATCHES, *(column.label(f"measured_{column.name}") for column in measured))
    joined = query.select_from(MATCHES.outerjoin(MEASURES, MATCHES.c.key == MEASURES.c.key))
    for row in looking.rows(joined.order_by(MATCHES.c.scenario_key)):
        before = keys.wrong + transcripts.wrong + measures.wrong
        told = _look(row, ground, keys, transcripts)
        measures.note(row.key, _measures(row, told, ground))
        if keys.wrong + transcripts.wrong + measures.wrong > before:
            doubted.add(row.key)
    yield from (keys, transcripts, measures)
    keys, transcripts = (Check(f"{what} of void attempts", RESTORE) for what in ("keys", "transcripts"))
    for row in looking.rows(sa.select(VOIDS).order_by(VOIDS.c.scenario_key)):
        _look(row, ground, keys, transcripts)
    yield from (keys, transcripts)


def _look(row: Any, ground: Ground, keys: Check, transcripts: Check) -> Told | None:
    """Look at a row's key, then at its transcript; return what that comes to, None where that is not
    known."""
    fits = keys.note(row.key, judged(_key, row))
    if not fits or row.protocol != PROTOCOL_VERSION or not ground.go_to(row.scenario_key):
        return None
    told: list[Told] = []
    problem = judged(lambda row: _transcript(row, ground, told), row)
    return told[0] if transcripts.note(row.key, problem) else None


def _key(row: Any) -> str | None:
    cell = Cell(row.scenario_key, row.buyer_version, Role(row.opener), row.replicate)
    made = MatchKey(cell, row.seller_version, rules_of(row), row.protocol).text
    return None if made == row.key else f"its parts make the key {made}"


def _transcript(row: Any, ground: Ground, told: list[Told]) -> str | None:
    """Return in what a row differs from what its transcript comes to, which is put into `told`."""
    turns = decode(row.transcript)
    rules, opener = rules_of(row), Role(row.opener)
    at_fault = None if row.at_fault is None else Role(row.at_fault)
    ended = (Ending(row.ending), at_fault)
    outcome = retold(ground.scenario, ground.told(rules), rules, opener, turns, *ended)
    told.append(Told(turns, outcome))
    made = {
        "ending": outcome.ending.value,
        "at_fault": None if outcome.at_fault is None else outcome.at_fault.value,
        "seller_utility": outcome.seller_score,
        "buyer_utility": outcome.buyer_score,
        "turns": len(turns),
    }
    differ = [name for name, value in made.items() if getattr(row, name) != value]
    if (None if row.deal is None else tuple(json.loads(row.deal))) != outcome.deal:
        differ.append("deal")
    differ += [f"{role}'s calls" for role in Role if of_side(row, role) != spent(turns, role)]
    return f"does not say the same of {', '.join(differ)}" if differ else None


def _measures(row: Any, told: Told | None, ground: Ground) -> str | None:
    if row.measured_content is None:
        return "there are none"
    if row.measured_version != VERSION:
        return f"of version {row.measured_version}, not {VERSION}"
    if told is None:
        return None
    made = ground.yardstick.row(told.turns, told.outcome.deal), words(told.turns)
    same = made == (row.measured_content, row.measured_words)
    return None if same else "not those that its transcript gives"
