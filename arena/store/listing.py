"""Matches one by one: what `arena matches`, `arena show` and the pages of the leaderboard list."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    func,
    literal,
    null,
    or_,
    select,
)

from arena.design import Design
from arena.record import cost_of, tokens_of
from arena.store.columns import in_design
from arena.store.database import bytewise
from arena.store.models import DOMAINS, MATCHES, SCENARIOS, VOIDS
from scenarios.scenario import Scenario


@dataclass(frozen=True)
class Filter:
    """Which matches; None leaves that side open."""

    design: Design | None = None
    sellers: Sequence[str] | None = None
    """Versions."""
    buyers: Sequence[str] | None = None
    domains: Sequence[str] | None = None
    """Names."""
    ending: str | None = None
    withdrawn: bool = False
    """Whether to list withdrawn matches as well."""
    only_withdrawn: bool = False
    opener: str | None = None
    faulty: bool = False
    """Whether to list only matches in which a side gave a faulty answer."""
    text: str | None = None
    """What the key starts with, or what stands somewhere in the scenario's label (its version may be
    left out) or in the ending's detail; case does not matter."""
    scenario_key: str | None = None
    replicate: int | None = None
    begun_before: str | None = None
    """An ISO 8601 time in UTC."""


class Listed(NamedTuple):
    """One match, or one void attempt (`attempt` is then 1 or more), without its transcript."""

    key: str
    attempt: int
    seller_version: str
    buyer_version: str
    domain: str
    domain_version: str
    scenario: str
    """The scenario's label."""
    scenario_key: str
    number: int
    feasible: bool
    opener: str
    replicate: int
    turns_rule: int | None
    ending: str
    at_fault: str | None
    detail: str
    deal: str | None
    seller_utility: float | None
    buyer_utility: float | None
    turns: int
    seller_tokens_in: int | None
    seller_tokens_out: int | None
    seller_cost_usd: float | None
    seller_latency_s: float | None
    seller_faults: int
    buyer_tokens_in: int | None
    buyer_tokens_out: int | None
    buyer_cost_usd: float | None
    buyer_latency_s: float | None
    buyer_faults: int
    turn_timeout_s: float | None
    started_at: str
    seconds: float
    worker: str
    withdrawn_at: str | None
    withdrawn_reason: str | None
    trouble: str | None
    """Of a void attempt, the kind of the provider's trouble: an `agents.agent.Trouble`; None where it
    was our own bug, and in attempts of older releases."""

    @property
    def tokens(self) -> int | None:
        """Tokens in and out of both sides, as far as they are known; None where none are."""
        return tokens_of(self)

    @property
    def cost_usd(self) -> float | None:
        """What the match cost; None where no model took part, or one's price is not known."""
        return cost_of(self)

    def agreed(self, scenario: Scenario) -> dict[str, str] | None:
        """Return the agreed option of each term of the match's scenario; None without a deal."""
        if self.deal is None:
            return None
        options = json.loads(self.deal)
        return {
            term.name: term.options[option] for term, option in zip(scenario.terms, options, strict=True)
        }


def listed(
    connection: Connection,
    wanted: Filter,
    voids: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> list[Listed]:
    """Return the matches (or void attempts) that `wanted` lets through, in a fixed order: at most
    `limit` of them, after the first `offset`."""
    table = VOIDS if voids else MATCHES
    return _rows(connection, table, *_conditions(wanted, table), limit=limit, offset=offset)


def of_keys(connection: Connection, keys: Sequence[str]) -> list[Listed]:
    """Return the matches with these keys, a page of them, in the same order."""
    return _rows(connection, MATCHES, MATCHES.c.key.in_(keys))


def counted(connection: Connection, wanted: Filter, voids: bool = False) -> int:
    """Return how many matches (or void attempts) `wanted` lets through."""
    table = VOIDS if voids else MATCHES
    query = select(func.count()).select_from(_joined(table)).where(*_conditions(wanted, table))
    return int(connection.execute(query).scalar_one())


def by_key(connection: Connection, prefix: str, voids: bool = False) -> list[Listed]:
    """Return the matches (or void attempts) whose key, a hexadecimal number, starts with `prefix`."""
    table = VOIDS if voids else MATCHES
    # A range, not LIKE, so that the primary key's index serves it; "g" sorts after every digit.
    return _rows(connection, table, table.c.key >= prefix, table.c.key < prefix + "g")


def blobs(connection: Connection, match: Listed) -> tuple[bytes, str | None]:
    """Return the transcript and the receipts of a listed match or void attempt."""
    table = VOIDS if match.attempt else MATCHES
    query = select(table.c.transcript, table.c.receipts).where(table.c.key == match.key)
    if match.attempt:
        query = query.where(table.c.attempt == match.attempt)
    found: Any = connection.execute(query).one()
    return found.transcript, found.receipts


def _conditions(wanted: Filter, table: Table) -> list[ColumnElement[bool]]:
    conditions = [] if wanted.design is None else [in_design(wanted.design, table)]
    for column, allowed in (
        (table.c.seller_version, wanted.sellers),
        (table.c.buyer_version, wanted.buyers),
        (DOMAINS.c.name, wanted.domains),
    ):
        if allowed is not None:
            conditions.append(column.in_(list(allowed)))
    for column, value in (
        (table.c.ending, wanted.ending),
        (table.c.opener, wanted.opener),
        (table.c.scenario_key, wanted.scenario_key),
        (table.c.replicate, wanted.replicate),
    ):
        if value is not None:
            conditions.append(column == value)
    if wanted.begun_before is not None:
        conditions.append(table.c.started_at < wanted.begun_before)
    if wanted.faulty:
        conditions.append(table.c.seller_faults + table.c.buyer_faults > 0)
    if wanted.text:
        conditions.append(_mentions(table, wanted.text.strip()))
    if table is MATCHES and wanted.only_withdrawn:
        conditions.append(table.c.withdrawn_at.is_not(None))
    elif table is MATCHES and not wanted.withdrawn:
        conditions.append(table.c.withdrawn_at.is_(None))
    return conditions


def _mentions(table: Table, text: str) -> ColumnElement[bool]:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    # A label is car_sale@3f2a91/eval/12; one writes car_sale/eval/12.
    label = escaped if "@" in text else escaped.replace("/", "%/", 1)
    return or_(
        table.c.key.startswith(text.lower(), autoescape=True),
        SCENARIOS.c.label.ilike(f"%{label}%", escape="\\"),
        table.c.detail.ilike(f"%{escaped}%", escape="\\"),
    )


def _joined(table: Table) -> FromClause:
    return table.join(SCENARIOS, table.c.scenario_key == SCENARIOS.c.key).join(
        DOMAINS, SCENARIOS.c.domain_version == DOMAINS.c.version
    )


def in_order(table: Table, wanted: Filter) -> Select[Any]:
    """Return the query for the fields of :class:`Listed` of all matches (or void attempts) that `wanted`
    lets through, in the order in which they are listed."""
    return _query(table, *_conditions(wanted, table))


def _rows(
    connection: Connection,
    table: Table,
    *conditions: ColumnElement[bool],
    limit: int | None = None,
    offset: int = 0,
) -> list[Listed]:
    page = _query(table, *conditions).limit(limit).offset(offset or None)
    return [Listed._make(row) for row in connection.execute(page)]


def _query(table: Table, *conditions: ColumnElement[bool]) -> Select[Any]:
    special: dict[str, ColumnElement[Any]] = {
        "domain": DOMAINS.c.name,
        "domain_version": SCENARIOS.c.domain_version,
        "scenario": SCENARIOS.c.label,
        "number": SCENARIOS.c.number,
        "feasible": SCENARIOS.c.feasible,
    }
    if table is MATCHES:
        special["attempt"] = literal(0)
        special["trouble"] = null()
    else:
        special["withdrawn_at"] = special["withdrawn_reason"] = null()
    columns = [special[field] if field in special else table.c[field] for field in Listed._fields]
    scenario = (SCENARIOS.c.domain_version, SCENARIOS.c.feasible.desc(), SCENARIOS.c.number)
    who = [table.c[name] for name in ("opener", "seller_version", "buyer_version", "replicate")]
    query = select(*columns).select_from(_joined(table)).where(*conditions)
    order = (bytewise(DOMAINS.c.name), *scenario, *who, table.c.started_at)
    return query.order_by(*order, *table.primary_key)
