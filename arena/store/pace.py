"""How fast a design is being played, from the times at which its matches began."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, func

from arena.design import Design
from arena.store.columns import select_in_design
from arena.store.models import MATCHES


class Pace(NamedTuple):
    """What was scored of a design, and since when."""

    scored: int
    """Matches that are not withdrawn, the infeasible panel included."""
    recent: int
    """Those of them that began at `since` or later."""
    first: str | None
    """When the first of the recent ones began (ISO 8601, UTC)."""
    last: str | None
    """When the last of all began."""


def pace(connection: Connection, design: Design, since: datetime) -> Pace:
    """Count the design's scored matches, and those that began since a time (UTC)."""
    began = MATCHES.c.started_at
    recent = case((began >= since.isoformat(timespec="microseconds"), began))
    wanted = (func.count(), func.count(recent), func.min(recent), func.max(began))
    query = select_in_design(design, MATCHES, *wanted).where(MATCHES.c.withdrawn_at.is_(None))
    row: Any = connection.execute(query).one()
    return Pace(*row)
