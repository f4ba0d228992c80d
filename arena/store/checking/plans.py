"""How much of each design's plan is played."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

from arena.design import Design
from arena.schedule import planned
from arena.store.checking.looked import UNREADABLE
from arena.store.columns import select_in_design
from arena.store.models import DESIGNS, MATCHES, VOIDS


class Played(NamedTuple):
    """A design's matches: `planned` is the sum of the others."""

    design: str
    """Its hash."""
    planned: int
    scored: int
    withdrawn: int
    void: int
    """Tried, and every try was void."""
    missing: int
    """Not tried yet."""


def plans(connection: sa.Connection) -> Iterator[Played]:
    """Count the matches of every design that can be read, the one run last first."""
    rows: Any = connection.execute(sa.select(DESIGNS.c.content).order_by(DESIGNS.c.last_run_at.desc()))
    for (content,) in rows.all():
        try:
            design = Design.model_validate_json(content)
        except UNREADABLE:
            continue
        yield _count(connection, design)


def _count(connection: sa.Connection, design: Design) -> Played:
    both = (sa.func.count(), sa.func.count(MATCHES.c.withdrawn_at))
    stored: Any = connection.execute(select_in_design(design, MATCHES, *both)).one()
    tried = select_in_design(design, VOIDS, sa.func.count(VOIDS.c.key.distinct()))
    scored_later = sa.exists().where(MATCHES.c.key == VOIDS.c.key)
    found: Any = connection.execute(tried.where(~scored_later)).scalar_one()
    wanted, (kept, withdrawn), void = planned(design), map(int, stored), int(found)
    return Played(design.hash, wanted, kept - withdrawn, withdrawn, void, wanted - kept - void)
