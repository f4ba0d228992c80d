"""What is noted beside the matches: departures from frozen designs, and audits of buyers."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from arena.record import utc_now
from arena.store.database import StoreError
from arena.store.models import AUDITS, DESIGNS, DEVIATIONS
from arena.store.opened import Opened


class Deviation(NamedTuple):
    """A departure from a frozen design."""

    at: str
    """When it was logged (ISO 8601, UTC)."""
    kind: str
    """What sort, in a word, such as ``arm`` or ``cell``."""
    what: str
    reason: str


class Logs(Opened):
    """The part of a store that holds logs. Entries are added, never changed or taken away."""

    def add_deviation(self, design_hash: str, kind: str, what: str, reason: str) -> None:
        """Log a departure from the stored design with this hash. Raises StoreError for another hash."""
        row = {"design_hash": design_hash, "kind": kind, "what": what, "reason": reason, "at": utc_now()}
        with self._writing() as connection:
            stored = sa.select(DESIGNS.c.hash).where(DESIGNS.c.hash == design_hash)
            if connection.execute(stored).scalar() is None:
                raise StoreError(f"{self.address} holds no design {design_hash}: see arena designs")
            connection.execute(sa.insert(DEVIATIONS).values(row))

    def deviations(self, design_hash: str) -> list[Deviation]:
        """Return the log of the design with this hash, oldest first; empty where nothing is logged."""
        columns = [DEVIATIONS.c[field] for field in Deviation._fields]
        query = sa.select(*columns).where(DEVIATIONS.c.design_hash == design_hash)
        with self._reading() as connection:
            rows: Iterable[Any] = connection.execute(query.order_by(DEVIATIONS.c.id))
            return [Deviation(*row) for row in rows]

    def add_audit(self, buyer_version: str, audit: Mapping[str, Any]) -> None:
        """Keep an audit of the buyer with this version: JSON-ready content, with the keys of `arena
        scenarios audit --json`. The buyer need not be in the record otherwise."""
        row = {"buyer_version": buyer_version, "at": utc_now(), "content": json.dumps(dict(audit))}
        with self._writing() as connection:
            connection.execute(sa.insert(AUDITS).values(row))

    def audits(self) -> dict[str, dict[str, Any]]:
        """Return the newest audit of every audited buyer, by its version."""
        query = sa.select(AUDITS.c.buyer_version, AUDITS.c.content).order_by(AUDITS.c.id)
        with self._reading() as connection:
            rows: Iterable[Any] = connection.execute(query)
            return {version: json.loads(content) for version, content in rows}
