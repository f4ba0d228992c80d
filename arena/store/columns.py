"""A design's matches as columns: which rows are its own, and what the leaderboard reads of them.

A design's matches are selected by what their keys are made of, so that no scenario has to be drawn
and no key computed to read a board.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    case,
    exists,
    func,
    literal,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.types import NullType

from arena.design import Design
from arena.measures import DTYPE
from arena.protocol import Ending
from arena.results import BoolArray, FloatArray, IntArray, Results
from arena.schedule import Place, indices, openings
from arena.store.measuring import measure
from arena.store.models import DESIGNS, MATCHES, MEASURES, SCENARIOS, VOIDS
from scenarios.scenario import Role, Split

CHUNK = 500
"""Rows fetched at a time: with many more alive at once, the garbage collector takes a quarter of
the time."""
_PLACE = (SCENARIOS.c.domain_version, SCENARIOS.c.number, SCENARIOS.c.feasible)


def in_design(design: Design, table: Table) -> ColumnElement[bool]:
    """Return the condition that a row of `table` (matches or voids, joined with its scenario) is one
    that the design plans."""
    return and_(on_cells(design, table), _replicate(design, table))


def on_cells(design: Design, table: Table) -> ColumnElement[bool]:
    """Return the condition that a row of `table`, joined with its scenario, stands on a cell that the
    design plans, whatever its replicate."""
    row, scenario = table.c, SCENARIOS.c
    turns = row.turns_rule.is_(None) if design.turns is None else row.turns_rule == design.turns
    return and_(
        row.seller_version.in_([player.version for player in design.sellers]),
        row.buyer_version.in_([player.version for player in design.buyers]),
        scenario.domain_version.in_([domain.version for domain in design.domains]),
        scenario.split == Split.EVAL.value,
        scenario.draw_version == design.draw,
        or_(*(_panel(design, feasible) for feasible in (True, False))),
        turns,
        row.message_limit == design.message_limit,
        row.protocol == design.protocol,
        _opener(design, table),
    )


def select_in_design(design: Design, table: Table, *wanted: ColumnElement[Any]) -> Select[Any]:
    """Return the query for `wanted` columns of the design's rows of `table`."""
    joined = table.join(SCENARIOS, table.c.scenario_key == SCENARIOS.c.key)
    return select(*wanted).select_from(joined).where(in_design(design, table))


def places(connection: Connection, design: Design) -> tuple[set[Place], set[Place], dict[Place, int]]:
    """Return the places that are scored, those whose match is withdrawn, and how many void attempts
    each other place has."""
    played = select_in_design(design, MATCHES, *_place(MATCHES), MATCHES.c.withdrawn_at)
    scored: set[Place] = set()
    withdrawn: set[Place] = set()
    rows: Iterable[Any] = connection.execute(played)
    for *place, withdrawn_at in rows:
        (scored if withdrawn_at is None else withdrawn).add(Place(*place))
    tried = select_in_design(design, VOIDS, *_place(VOIDS), func.count()).group_by(*_place(VOIDS))
    counts: Iterable[Any] = connection.execute(tried)
    voids = {Place(*place): int(count) for *place, count in counts}
    for done in scored | withdrawn:
        voids.pop(done, None)
    return scored, withdrawn, voids


def results(connection: Connection, design: Design, revision: int) -> Results:
    """Return the design's scored matches that are not withdrawn, as columns."""
    column = _read(connection, design)
    sellers, buyers, domains = _positions(design)
    scenario_M, domain_C, feasible_C = _scenarios(connection, column["scenario_key"], domains)
    code_M = np.array(column["code"], np.int64)
    ending_M, fault_M = code_M % 100, code_M // 100 % 10
    forfeit_M = np.isin(ending_M, [code for code, how in enumerate(Ending) if how.forfeit])
    measures_M, words_M = _measured(connection, column)
    return Results(
        design=design,
        seller_M=_numbered(column["seller_version"], sellers),
        buyer_M=_numbered(column["buyer_version"], buyers),
        domain_M=domain_C[scenario_M],
        scenario_M=scenario_M,
        feasible_M=feasible_C[scenario_M],
        seller_opens_M=code_M // 1000 % 10 == 1,
        replicate_M=np.array(column["replicate"], np.int64),
        seller_utility_M=np.array(column["seller_utility"], float),
        buyer_utility_M=np.array(column["buyer_utility"], float),
        deal_M=ending_M == [*Ending].index(Ending.AGREEMENT),
        seller_forfeits_M=forfeit_M & (fault_M == 1),
        buyer_forfeits_M=forfeit_M & (fault_M == 2),
        seller_faults_M=np.array(column["seller_faults"], np.int64),
        buyer_faults_M=np.array(column["buyer_faults"], np.int64),
        key_M=np.array(column["key"], "U32"),
        fresh_M=np.array(column["fresh"], bool),
        tokens_M_R=_by_role(column, "tokens"),
        cost_M_R=_by_role(column, "cost_usd"),
        latency_M_R=_by_role(column, "latency_s"),
        measures_M=measures_M,
        words_M=words_M,
        planned_S_B_D=_planned(design),
        void_S_B_D=_void(connection, design),
        revision=revision,
    )


def _read(connection: Connection, design: Design) -> dict[str, list[Any]]:
    """Return what :func:`results` is made of, by name: a hundred thousand rows, so as few values a row
    as will do, and as plain ones."""
    row = MATCHES.c
    wanted: dict[str, ColumnElement[Any]] = {
        name: row[name]
        for name in ("key", "scenario_key", "seller_version", "buyer_version", "replicate")
    }
    for side in ("seller", "buyer"):
        for name in ("utility", "faults", "cost_usd", "latency_s"):
            wanted[f"{side}_{name}"] = row[f"{side}_{name}"]
        wanted[f"{side}_tokens"] = row[f"{side}_tokens_in"] + row[f"{side}_tokens_out"]
    wanted["code"] = (
        case({ending.value: code for code, ending in enumerate(Ending)}, value=row.ending)
        + case({Role.SELLER.value: 100, Role.BUYER.value: 200}, value=row.at_fault, else_=0)
        + case({Role.SELLER.value: 1000}, value=row.opener, else_=0)
    )
    frozen = connection.execute(
        select(DESIGNS.c.created_at).where(DESIGNS.c.hash == design.hash)
    ).scalar()
    wanted["fresh"] = literal(0) if frozen is None else case((row.started_at >= frozen, 1), else_=0)
    wanted |= {"content": type_coerce(MEASURES.c.content, NullType), "words": MEASURES.c.words}
    joined = MATCHES.join(SCENARIOS, row.scenario_key == SCENARIOS.c.key)
    query = (
        select(*wanted.values())
        .select_from(joined.outerjoin(MEASURES, row.key == MEASURES.c.key))
        .where(in_design(design, MATCHES), row.withdrawn_at.is_(None))
    )
    column: dict[str, list[Any]] = {name: [] for name in wanted}
    for rows in connection.execute(query).partitions(CHUNK):
        for entries, more in zip(column.values(), zip(*rows, strict=True), strict=True):
            entries.extend(more)
    return column


def _scenarios(
    connection: Connection, keys: Sequence[str], domains: Mapping[str, int]
) -> tuple[IntArray, IntArray, BoolArray]:
    """Number the scenarios; return each match's number, and by number (axis C) the scenario's domain and
    whether it is feasible."""
    query = select(SCENARIOS.c.key, SCENARIOS.c.domain_version, SCENARIOS.c.feasible)
    rows: Iterable[Any] = connection.execute(query.where(SCENARIOS.c.domain_version.in_(domains)))
    known = {key: (domains[domain], feasible) for key, domain, feasible in rows}
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    domain_C = np.array([known[key][0] for key in numbers], np.int64)
    feasible_C = np.array([known[key][1] for key in numbers], bool)
    return _numbered(keys, numbers), domain_C, feasible_C


def _measured(
    connection: Connection, column: dict[str, list[Any]]
) -> tuple[NDArray[np.void], Sequence[str | None]]:
    """Return the measures and words. A match without any was stored by an older release after this one
    had opened the database: it is measured here, so that none is lost."""
    content, words = column["content"], column["words"]
    if None in content:
        at = {column["key"][place]: place for place, row in enumerate(content) if row is None}
        for key, (row, said) in measure(connection, list(at)).items():
            content[at[key]], words[at[key]] = row, said
    return np.frombuffer(b"".join(content), DTYPE), words


def _by_role(column: dict[str, list[Any]], what: str) -> FloatArray:
    return np.array([column[f"{role.value}_{what}"] for role in Role], float).T


def _place(table: Table) -> tuple[ColumnElement[Any], ...]:
    row = table.c
    return (*_PLACE, row.seller_version, row.buyer_version, row.opener, row.replicate)


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


def _positions(design: Design) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return where each version stands among the design's sellers, buyers and domains."""
    sides = (design.sellers, design.buyers, design.domains)
    versions = [[entry.version for entry in side] for side in sides]
    sellers, buyers, domains = (
        {version: position for position, version in enumerate(side)} for side in versions
    )
    return sellers, buyers, domains


def _numbered(column: Iterable[Any], numbers: Mapping[Any, int]) -> IntArray:
    return np.array([numbers[entry] for entry in column], np.int64)


def _planned(design: Design) -> IntArray:
    replicates_S_B = [[design.replicates_of(s, b) for b in design.buyers] for s in design.sellers]
    per_domain = np.array(replicates_S_B, np.int64) * openings(design, True)
    return np.repeat(per_domain[:, :, None], len(design.domains), axis=2)


def _void(connection: Connection, design: Design) -> IntArray:
    """Count the feasible matches that were tried, have void attempts only, and are not scored."""
    sellers, buyers, domains = _positions(design)
    void_S_B_D = np.zeros((len(sellers), len(buyers), len(domains)), np.int64)
    by = (VOIDS.c.seller_version, VOIDS.c.buyer_version, SCENARIOS.c.domain_version)
    query = select_in_design(design, VOIDS, *by, func.count(VOIDS.c.key.distinct())).where(
        SCENARIOS.c.feasible.is_(True), ~exists().where(MATCHES.c.key == VOIDS.c.key)
    )
    rows: Iterable[Any] = connection.execute(query.group_by(*by))
    for seller, buyer, domain, count in rows:
        void_S_B_D[sellers[seller], buyers[buyer], domains[domain]] = count
    return void_S_B_D
