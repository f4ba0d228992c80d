"""All matches of a design one after the other, void attempts and withdrawn ones included.

They come in chunks from one snapshot, so that a hundred thousand of them need no more memory than one
chunk, and a tournament may go on meanwhile.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from arena.design import Design
from arena.record import undrawn
from arena.store.listing import Filter, Listed, in_order
from arena.store.measuring import measure
from arena.store.models import MATCHES, MEASURES, SCENARIOS, VOIDS
from scenarios.scenario import Scenario

CHUNK = 500


class Whole(NamedTuple):
    """A match, or a void attempt, with what it was played on."""

    match: Listed
    scenario: Scenario
    measures: bytes | None
    """One row of `arena.measures.DTYPE`; None for a void attempt, of which nothing is measured."""


def chunks(connection: Connection, design: Design) -> Generator[list[Whole]]:
    """Yield the design's matches, scored and withdrawn, then its void attempts, CHUNK at a time, each
    part in the order in which matches are listed."""
    scenarios = _Scenarios(connection)
    for table in (MATCHES, VOIDS):
        query = in_order(table, Filter(design=design, withdrawn=True))
        if table is MATCHES:
            query = query.outerjoin(MEASURES, MATCHES.c.key == MEASURES.c.key)
            query = query.add_columns(MEASURES.c.content)
        # Rows are fetched as they are asked for, on a server too. Of this statement alone: so fetched, a
        # scenario would take a server three answers.
        found: Any = connection.execute(query.execution_options(yield_per=CHUNK))
        for rows in found.partitions():
            yield _chunk(connection, rows, scenarios)


def _chunk(connection: Connection, rows: Sequence[Any], scenarios: "_Scenarios") -> list[Whole]:
    width = len(Listed._fields)
    found = []
    for row in rows:
        match = Listed._make(row[:width])
        found.append(Whole(match, scenarios.of(match), row[width] if len(row) > width else None))
    # A match that an older release stored after this one had opened the database is measured here.
    stale = [whole.match.key for whole in found if whole.measures is None and not whole.match.attempt]
    if not stale:
        return found
    new = {key: row for key, (row, _) in measure(connection, stale).items()}
    return [whole._replace(measures=new.get(whole.match.key, whole.measures)) for whole in found]


class _Scenarios:
    """Reads scenarios; matches of one scenario are listed together, so it keeps only the last one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: tuple[str, Scenario] | None = None

    def of(self, match: Listed) -> Scenario:
        """Return the scenario of a match."""
        if self._last is None or self._last[0] != match.scenario_key:
            query = select(SCENARIOS.c.content).where(SCENARIOS.c.key == match.scenario_key)
            content: bytes = self._connection.execute(query).scalar_one()
            self._last = (match.scenario_key, undrawn(content))
        return self._last[1]
