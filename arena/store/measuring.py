"""Measuring stored matches again: those of an older release, which measured other things or nothing."""

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, delete, or_, select, update

from arena.measures import VERSION, Yardstick, words
from arena.play import Turn
from arena.record import undrawn
from arena.store.database import StoreError, shown, upsert, writing
from arena.store.models import MATCHES, MEASURES, PACKS, SCENARIOS, STATE
from arena.transcript import decode

BATCH = 200
"""Matches measured in one transaction, so that other writers get their turn."""

DAMAGED = (ValueError, TypeError, LookupError, zlib.error)
"""What reading a transcript, or other content, raises where it is damaged."""
Progress = Callable[[int, int], None]
"""Is told how many matches are measured, and of how many."""


def bring_up_to_date(engine: Engine, progress: Progress | None = None) -> None:
    """Measure every match that has no measures, or those of an older release.

    Batches are committed one by one: what is done when the process ends is not done again. Raises
    StoreError for a database that a newer release has measured.
    """
    with engine.connect() as connection:
        found = int(connection.execute(select(STATE.c.measures_version)).scalar_one())
        if found > VERSION:
            raise StoreError(
                f"{shown(engine.url)} was measured by a newer release of bargaining-arena: upgrade "
                "bargaining-arena, or give another file with --db"
            )
        if found == VERSION:
            return
        stale = or_(MEASURES.c.key.is_(None), MEASURES.c.version < VERSION)
        query = select(MATCHES.c.key).outerjoin(MEASURES, MATCHES.c.key == MEASURES.c.key).where(stale)
        # One scenario's matches together: what they are measured by is made once.
        in_order = query.order_by(MATCHES.c.scenario_key, MATCHES.c.key)
        keys: list[str] = [*connection.execute(in_order).scalars()]
    for start in range(0, len(keys), BATCH):
        _measure(engine, keys[start : start + BATCH])
        if progress is not None:
            progress(min(start + BATCH, len(keys)), len(keys))
    with writing(engine) as connection, connection.begin():
        newer = {"measures_version": VERSION, "revision": STATE.c.revision + (1 if keys else 0)}
        done = connection.execute(update(STATE).where(STATE.c.measures_version < VERSION).values(newer))
        if keys and done.rowcount:
            connection.execute(delete(PACKS))  # they hold the old measures, and are made anew


def measure(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[bytes, str | None]]:
    """Return the measures and words of matches, by key, from their transcripts."""
    found: dict[str, tuple[bytes, str | None]] = {}
    for start in range(0, len(keys), BATCH):  # databases limit the variables of one statement
        found |= _measures(connection, keys[start : start + BATCH])
    return found


def _measures(connection: Connection, keys: Sequence[str]) -> dict[str, tuple[bytes, str | None]]:
    match, scenario = MATCHES.c, SCENARIOS.c
    query = (
        select(match.key, match.scenario_key, match.deal, match.transcript, scenario.content)
        .join(SCENARIOS, match.scenario_key == scenario.key)
        .where(match.key.in_(keys))
        # All write in one order, so that two that do so at once do not lock each other out.
        .order_by(match.scenario_key, match.key)
    )
    yardsticks: dict[str, Yardstick] = {}
    found = {}
    rows: Iterable[Any] = connection.execute(query)
    for key, scenario_key, deal, transcript, content in rows:
        if scenario_key not in yardsticks:
            yardsticks = {scenario_key: Yardstick(undrawn(content))}
        turns = _turns(transcript)
        package = None if deal is None else tuple(json.loads(deal))
        found[key] = (yardsticks[scenario_key].row(turns, package), words(turns))
    return found


def _measure(engine: Engine, keys: Sequence[str]) -> None:
    with engine.connect() as connection:
        made = [
            {"key": key, "version": VERSION, "content": content, "words": said}
            for key, (content, said) in measure(connection, keys).items()
        ]
    with writing(engine) as connection, connection.begin():
        upsert(connection, MEASURES, made, ("key",))


def _turns(transcript: bytes) -> Sequence[Turn]:
    """Return a transcript's turns. One that is damaged counts as empty, since the rest of the database
    has to stay readable."""
    try:
        return decode(transcript)
    except DAMAGED:
        return []
