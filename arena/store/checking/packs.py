"""What boards read of matches, packed, against the matches themselves."""

from collections.abc import Collection, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import sqlalchemy as sa

from arena.store.checking.looked import UNREADABLE, Check, Looking
from arena.store.models import MATCHES, PACKS, STATE
from arena.store.packing import rows_of
from arena.store.packs import FIELDS, Pack, as_text, packed, unpacked

ANEW = "DELETE FROM packs; UPDATE state SET packed = -1; the next command that opens it makes them anew"
"""They are derived, so nothing is lost."""
AT_ONCE = 4
"""Packs in memory at a time: each holds thousands of matches."""
_NUMBERED = ("key", "scenario", "pair", "way")
"""Fields that stand for something else in each pack."""


def packs(looking: Looking, doubted: Collection[str]) -> Iterator[Check]:
    """Look whether every match is in one pack, and stands there as it does in `matches` and `measures`;
    those whose rows are wrong themselves, by key, are not compared."""
    check, held = Check("packs of matches", ANEW), 0
    for row in looking.rows(sa.select(PACKS), AT_ONCE):
        try:
            said = _by_key(unpacked(row))
            there = rows_of(looking.connection, [*said])
            again: Any = SimpleNamespace(**packed(there)) if there else None
            found = {} if again is None else _by_key(unpacked(again))
        except UNREADABLE as error:
            check.note(f"pack {row.id}", f"cannot be read ({type(error).__name__})")
            continue
        held += sum(int(key, 16) for key in said)
        wrong = [key for key in said if found.get(key) != said[key] and key not in doubted]
        check.note(f"pack {row.id}", f"has match {wrong[0]} otherwise" if wrong else None)
    state: Any = looking.connection.execute(sa.select(STATE.c.packed == STATE.c.revision)).scalar_one()
    # Where an older release has written, the next command packs the rest. A sum of numbers of 128 bits
    # stands for the set of keys, which need not fit into memory.
    if state and not check.wrong:
        keys = sum(int(row.key, 16) for row in looking.rows(sa.select(MATCHES.c.key)))
        check.note("all packs", None if keys == held else "do not hold each match once")
    yield check


def _by_key(pack: Pack) -> Mapping[str, tuple[Any, ...]]:
    """Return what a pack says of each match."""
    column, text = pack.column, as_text(pack.column["key"])
    columns_M = [
        np.ascontiguousarray(column[name], kind.base).view(np.uint8).reshape(pack.matches, -1)
        for name, kind in FIELDS.items()
        if name not in _NUMBERED
    ]
    return {
        text[32 * match : 32 * match + 32]: (
            pack.scenarios[column["scenario"][match]],
            pack.pairs[column["pair"][match]],
            pack.ways[column["way"][match]],
            None if pack.words is None else pack.words[match],
            row.tobytes(),
        )
        for match, row in enumerate(np.concatenate(columns_M, axis=1))
    }
