"""Rows that refer to others which are not there, as other programs can leave them in SQLite."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from arena.store.checking.looked import EXAMPLES, RESTORE, Check, Looking
from arena.store.copying import count


def references(looking: Looking) -> Iterator[Check]:
    """Look at whatever each table refers to in others."""
    for table in SQLModel.metadata.sorted_tables:
        if table.foreign_keys:
            yield _of(looking.connection, table)


def _of(connection: sa.Connection, table: sa.Table) -> Check:
    check = Check(f"what {table.name} refer to", RESTORE)
    check.looked_at = count(connection, table)
    for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
        parent = key.column.table
        loose = sa.and_(key.parent.is_not(None), key.column.is_(None))
        joined = table.outerjoin(parent, key.parent == key.column)
        found = count(connection, joined, loose)
        if found:
            check.wrong += found
            named = sa.select(key.parent, *table.primary_key).select_from(joined).where(loose)
            rows: Any = connection.execute(named.limit(EXAMPLES - len(check.examples)))
            check.examples += [
                f"{' '.join(map(str, row))}: {key.parent.name} {value} is not in {parent.name}"
                for value, *row in rows
            ]
    return check
