"""Replays of a design's matches (`arena.replays`): which there are, and what each first play scored."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, func, select

from arena.design import Design
from arena.replays import replicates
from arena.schedule import Place
from arena.store.columns import on_cells
from arena.store.models import MATCHES, SCENARIOS, VOIDS
from arena.store.opened import Opened


class Replay(NamedTuple):
    """A match that was played once more."""

    key: str
    first_key: str
    """Of the cell's first play."""
    seller_version: str
    buyer_version: str
    domain_version: str
    scenario_key: str
    opener: str
    block: int
    """The block of scenarios that it followed, 1 or later."""
    score: float
    """The seller's."""
    first_score: float
    """The seller's, when the cell was first played."""
    started_at: str
    first_started_at: str


class Replays(Opened):
    """The part of a store that tells of replays."""

    def replay_places(self, design: Design) -> tuple[set[Place], dict[Place, int]]:
        """Return the design's replays that are scored or withdrawn, and how many void attempts each of
        the others has."""
        with self._reading() as connection:
            scored = {place for place, _ in _counted(connection, design, MATCHES)}
            voids = dict(_counted(connection, design, VOIDS))
        return scored, {place: tried for place, tried in voids.items() if place not in scored}

    def replays(self, design: Design) -> list[Replay]:
        """Return the design's scored replays whose first play is scored too, oldest first; withdrawn
        matches are left out."""
        with self._reading() as connection:
            return _replays(connection, design)


def _counted(connection: Connection, design: Design, table: Table) -> list[tuple[Place, int]]:
    scenario, row = SCENARIOS.c, table.c
    place = (
        *(scenario.domain_version, scenario.number, scenario.feasible),
        *(row.seller_version, row.buyer_version, row.opener, row.replicate),
    )
    joined = table.join(SCENARIOS, row.scenario_key == scenario.key)
    query = select(*place, func.count()).select_from(joined).where(_again(design, table))
    rows: Iterable[Any] = connection.execute(query.group_by(*place))
    return [(Place(*columns), int(count)) for *columns, count in rows]


def _replays(connection: Connection, design: Design) -> list[Replay]:
    again, first = MATCHES.c, MATCHES.alias("first")
    same = ("scenario_key", "seller_version", "buyer_version", "opener", "message_limit", "protocol")
    pair = and_(
        *(first.c[name] == again[name] for name in same),
        first.c.turns_rule.is_not_distinct_from(again.turns_rule),
        first.c.replicate == 0,
        first.c.withdrawn_at.is_(None),
    )
    query = (
        select(
            *(
                again.key,
                first.c.key,
                again.seller_version,
                again.buyer_version,
                SCENARIOS.c.domain_version,
            ),
            *(again.scenario_key, again.opener, again.replicate - replicates(design).start),
            *(again.seller_utility, first.c.seller_utility, again.started_at, first.c.started_at),
        )
        .select_from(MATCHES.join(SCENARIOS, again.scenario_key == SCENARIOS.c.key).join(first, pair))
        .where(_again(design, MATCHES), again.withdrawn_at.is_(None))
        .order_by(again.started_at, again.key)
    )
    rows: Iterable[Any] = connection.execute(query)
    return [Replay(*row) for row in rows]


def _again(design: Design, table: Table) -> ColumnElement[bool]:
    """Return the condition that a row, joined with its scenario, is a replay of the design's."""
    numbers = replicates(design)
    return and_(on_cells(design, table), table.c.replicate.between(numbers.start, numbers.stop - 1))
