"""How far a design is played: which matches of its plan are scored, withdrawn, or were void."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, func, select

from arena.design import Design
from arena.results import BoolArray
from arena.schedule import Place, Plan
from arena.store.columns import planned_scenario, select_in_design
from arena.store.models import MATCHES, SCENARIOS, VOIDS

CHUNK = 2_000
"""Rows in memory at a time."""
_SCENARIO = (SCENARIOS.c.domain_version, SCENARIOS.c.number, SCENARIOS.c.feasible)


class Standing(NamedTuple):
    """Arrays have an entry for each planned match, by its position in the plan (axis M)."""

    scored_M: BoolArray
    withdrawn_M: BoolArray
    voids: dict[Place, int]
    """Void attempts at each match that is neither."""


def standing(connection: Connection, design: Design) -> Standing:
    """Return how far a design is played."""
    plan = Plan(design)
    scored, withdrawn = bytearray(len(plan)), bytearray(len(plan))
    drawn = select(SCENARIOS.c.key, *_SCENARIO).where(planned_scenario(design))
    scenarios: Iterable[Any] = connection.execute(drawn)
    start = {key: plan.start(*scenario) for key, *scenario in scenarios}
    row, offset = MATCHES.c, plan.offset
    wanted = (row.scenario_key, row.opener, row.seller_version, row.buyer_version, row.replicate)
    query = select_in_design(design, MATCHES, *wanted, row.withdrawn_at)
    chunks: Any = connection.execute(query.execution_options(yield_per=CHUNK))
    for rows in chunks.partitions():
        for key, opener, seller, buyer, replicate, withdrawn_at in rows:
            marked = scored if withdrawn_at is None else withdrawn
            marked[start[key] + offset[opener, seller, buyer] + replicate] = True
    tried = select_in_design(design, VOIDS, *_place(VOIDS), func.count()).group_by(*_place(VOIDS))
    counts: Iterable[Any] = connection.execute(tried)
    voids = {Place(*place): int(count) for *place, count in counts}
    scored_M, withdrawn_M = np.frombuffer(scored, bool), np.frombuffer(withdrawn, bool)
    done_M = scored_M | withdrawn_M
    left = {p: tried for p, tried in voids.items() if not done_M[plan.position(p)]}
    return Standing(scored_M, withdrawn_M, left)


def _place(table: Table) -> tuple[ColumnElement[Any], ...]:
    row = table.c
    return (*_SCENARIO, row.seller_version, row.buyer_version, row.opener, row.replicate)
