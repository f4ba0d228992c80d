"""Which rows are a design's.

They are selected by what their keys are made of, so that no scenario has to be drawn and no key
computed.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, Table, and_, or_, select

from arena.design import Design
from arena.schedule import indices
from arena.store.models import SCENARIOS
from scenarios.scenario import Role, Split


def in_design(design: Design, table: Table) -> ColumnElement[bool]:
    """Return the condition that a row of `table` (matches or voids, joined with its scenario) is one
    that the design plans."""
    return and_(on_cells(design, table), _replicate(design, table))


def on_cells(design: Design, table: Table) -> ColumnElement[bool]:
    """Return the condition that a row of `table`, joined with its scenario, stands on a cell that the
    design plans, whatever its replicate."""
    row = table.c
    turns = row.turns_rule.is_(None) if design.turns is None else row.turns_rule == design.turns
    return and_(
        row.seller_version.in_([player.version for player in design.sellers]),
        row.buyer_version.in_([player.version for player in design.buyers]),
        planned_scenario(design),
        turns,
        row.message_limit == design.message_limit,
        row.protocol == design.protocol,
        _opener(design, table),
    )


def planned_scenario(design: Design) -> ColumnElement[bool]:
    """Return the condition that a scenario is one that the design plays."""
    scenario = SCENARIOS.c
    return and_(
        scenario.domain_version.in_([domain.version for domain in design.domains]),
        scenario.split == Split.EVAL.value,
        scenario.draw_version == design.draw,
        or_(*(_panel(design, feasible) for feasible in (True, False))),
    )


def select_in_design(design: Design, table: Table, *wanted: ColumnElement[Any]) -> Select[Any]:
    """Return the query for `wanted` columns of the design's rows of `table`."""
    joined = table.join(SCENARIOS, table.c.scenario_key == SCENARIOS.c.key)
    return select(*wanted).select_from(joined).where(in_design(design, table))


def _panel(design: Design, feasible: bool) -> ColumnElement[bool]:
    span = indices(design, feasible)
    return and_(
        SCENARIOS.c.feasible.is_(feasible),
        SCENARIOS.c.number >= span.start,
        SCENARIOS.c.number < span.stop,
    )


def _opener(design: Design, table: Table) -> ColumnElement[bool]:
    seller, buyer = (table.c.opener == role.value for role in Role)
    match design.opener:
        case "both":
            return or_(seller, buyer)
        case "alternate":
            even = SCENARIOS.c.number % 2 == 0
            return or_(and_(even, seller), and_(~even, buyer))
        case side:
            return table.c.opener == side


def _replicate(design: Design, table: Table) -> ColumnElement[bool]:
    """Replicate 0 of every pair; the others only where a side is stochastic."""
    stochastic = [p.version for p in design.players() if not p.deterministic]
    return or_(
        table.c.replicate == 0,
        and_(
            table.c.replicate < design.replicates,
            or_(table.c.seller_version.in_(stochastic), table.c.buyer_version.in_(stochastic)),
        ),
    )
