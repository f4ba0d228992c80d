"""Matches once more, packed as boards read them: hundreds of rows instead of a million.

Reading what a board needs of a million matches takes a database and Python a minute, one value at a
time. So the writer keeps it a second time, many matches in one row (`arena.store.packs`). Packs are
derived from `matches` and `measures`, and hold all that their rows will ever say but for a withdrawal,
which is not in them.

No match is ever in two packs. Whoever writes matches packs them in the same transaction, and writers
take turns: the first statement of each raises `state.revision`. A match that an older release stored is
in no pack; `state.packed` then lags behind the revision, and :func:`complete` packs it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, Select, delete, func, insert, select, type_coerce, update
from sqlalchemy.types import NullType

from arena import measures
from arena.record import Played
from arena.store.database import insert_new, writing
from arena.store.measuring import Progress, measure
from arena.store.models import MATCHES, MEASURES, PACKS, SCENARIOS, STATE
from arena.store.packs import COLUMNS, as_text, packed, unpacked

ROWS = 2_000
"""Matches in a pack at most, and packed in one transaction, so that other writers get their turn."""
FEW = 512
"""Packs of fewer matches than this are joined now and then; language models finish one at a time."""
JOINED_EVERY = 64
_PACKED = MATCHES.join(SCENARIOS, MATCHES.c.scenario_key == SCENARIOS.c.key)
"""A match whose scenario is gone, past what databases allow, is on no board."""


class Revision(NamedTuple):
    """A moment of the record."""

    number: int
    packed: bool
    """Whether every match is in a pack."""


def revision(connection: Connection) -> Revision:
    """Return at which revision the record is."""
    row = connection.execute(select(STATE.c.revision, STATE.c.packed)).one()
    return Revision(row.revision, row.revision == row.packed)


def unknown(connection: Connection, rows: Iterable[Played]) -> list[Played]:
    """Return the matches that are not in the database, each once, in a transaction that has begun to
    write: nobody can add them meanwhile."""
    new = {row.key: row for row in reversed(list(rows))}
    wanted = list(new)
    for start in range(0, len(wanted), ROWS):
        query = select(MATCHES.c.key).where(MATCHES.c.key.in_(wanted[start : start + ROWS]))
        for key in _texts(connection, query):
            del new[key]
    return list(new.values())


def add(connection: Connection, rows: Sequence[Played] | Sequence[Row[Any]]) -> None:
    """Pack matches that are in no pack yet, in a transaction that has begun to write."""
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        done = connection.execute(insert(PACKS).values(packed(some)))
        assert done.inserted_primary_key is not None
        if len(some) < FEW and done.inserted_primary_key[0] % JOINED_EVERY == 0:
            _join_small(connection)


def complete(engine: Engine, progress: Progress | None = None) -> None:
    """Pack every match that is in no pack, if there may be any; `progress` is told of how many of them.

    Transactions are small: what is done when the process ends is not done again, and others may write
    meanwhile.
    """
    while True:
        with engine.connect() as connection:
            if revision(connection).packed:
                return
            held, newest = _held(connection)
            missing = [key for key in _in_order(connection) if key not in held]
        for start in range(0, len(missing), ROWS):
            newest = _pack(engine, missing[start : start + ROWS], held, newest)
            if progress is not None:
                progress(min(start + ROWS, len(missing)), len(missing))
        with writing(engine) as connection, connection.begin():
            _take_turn(connection)
            stored = int(connection.execute(select(func.count()).select_from(_PACKED)).scalar_one())
            held_now = int(connection.execute(select(func.sum(PACKS.c.matches))).scalar_one() or 0)
            if held_now > stored:  # rows were taken out behind the store's back
                connection.execute(delete(PACKS))
            whole = STATE.c.revision if held_now == stored else -1
            connection.execute(update(STATE).values(packed=whole))


def _held(connection: Connection, after: int = 0) -> tuple[set[str], int]:
    """Return the keys of the matches in packs newer than `after`, and the newest one's number."""
    held: set[str] = set()
    packs = select(PACKS).where(PACKS.c.id > after).order_by(PACKS.c.id)
    for row in connection.execute(packs.execution_options(yield_per=16)):
        held |= _keys(row)
        after = row.id
    return held, after


def _in_order(connection: Connection) -> Iterable[str]:
    """Return the keys of all matches that are to be packed, those of one scenario together."""
    wanted = select(MATCHES.c.key).select_from(_PACKED)
    return _texts(connection, wanted.order_by(MATCHES.c.scenario_key, MATCHES.c.key))


def _pack(engine: Engine, wanted: Sequence[str], held: set[str], newest: int) -> int:
    """Pack matches but for those in `held`, which learns of packs newer than `newest`; return the newest
    one's number."""
    with writing(engine) as connection, connection.begin():
        _take_turn(connection)
        held |= _held(connection, newest)[0]
        left = [key for key in wanted if key not in held]
        _measure(connection, left)
        add(connection, rows_of(connection, left))
        return int(connection.execute(select(func.max(PACKS.c.id))).scalar_one() or newest)


def _measure(connection: Connection, wanted: Sequence[str]) -> None:
    """Measure matches that have no measures: an older release stored them beside this one."""
    have = select(MEASURES.c.key).where(MEASURES.c.key.in_(wanted))
    lacking = sorted(set(wanted) - set(_texts(connection, have)))
    made = [
        {"key": key, "version": measures.VERSION, "content": content, "words": said}
        for key, (content, said) in measure(connection, lacking).items()
    ]
    insert_new(connection, MEASURES, made, "key")


def rows_of(connection: Connection, wanted: Sequence[str]) -> Sequence[Row[Any]]:
    """Return what :func:`packed` reads of measured matches."""
    content = type_coerce(MEASURES.c.content, NullType).label("measures")
    read = (*(MATCHES.c[name] for name in COLUMNS), content, MEASURES.c.words)
    return connection.execute(
        select(*read)
        .select_from(MATCHES.join(MEASURES, MATCHES.c.key == MEASURES.c.key))
        .where(MATCHES.c.key.in_(wanted))
        .order_by(MATCHES.c.scenario_key, MATCHES.c.key)
    ).all()


def _join_small(connection: Connection) -> None:
    """Make one pack of all small ones."""
    small = connection.execute(select(PACKS).where(PACKS.c.matches < FEW)).all()
    held = sorted(set[str]().union(*map(_keys, small)))
    connection.execute(delete(PACKS).where(PACKS.c.id.in_([row.id for row in small])))
    for start in range(0, len(held), ROWS):
        some = rows_of(connection, held[start : start + ROWS])
        connection.execute(insert(PACKS).values(packed(some)))


def _texts(connection: Connection, query: Select[Any]) -> Iterable[str]:
    return connection.execute(query).scalars()


def _keys(row: Row[Any]) -> set[str]:
    text = as_text(unpacked(row).column["key"])
    return {text[start : start + 32] for start in range(0, len(text), 32)}


def _take_turn(connection: Connection) -> None:
    """Wait until no other process writes, as every write to the store does by raising the revision."""
    connection.execute(update(STATE).values(revision=STATE.c.revision))
