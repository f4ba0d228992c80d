"""Calls to providers, what they cost, and the answers that are kept to be given again.

Amounts are whole billionths of a US dollar. A call is charged what it cost; what it may have cost at
most where that is not known, as while it is under way; and nothing where nobody worked on it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, case, func, select

from agents.language_model.book import Came
from arena.money import usd
from arena.record import utc_now
from arena.results import LastRun
from arena.store.database import insert_new, upsert
from arena.store.models import ANSWERS, BILLS, CALLS, MATCHES, SCENARIOS
from arena.store.opened import Opened


class Bill(NamedTuple):
    """What one run of a design has run up: a row of the table `bills`."""

    id: str
    design_hash: str
    at: str
    charged_nano: int
    ceiling_nano: int | None = None
    cache: bool | None = None
    drift: float | None = None


class Call(NamedTuple):
    """A row of the table `calls`, in the order of its columns."""

    bill: str
    number: int
    agent_version: str
    match_key: str | None
    sending: int
    at: str
    came: Came | None = None
    trouble: str | None = None
    most_nano: int | None = None
    cost_nano: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_s: float | None = None


class Cost(NamedTuple):
    """What the calls of one agent came to in one design."""

    design_hash: str
    agent_version: str
    calls: int
    """Sent, tries that failed included."""
    retries: int
    """Those of them that were a further try of the same request."""
    cached: int
    """Answers from the cache, which are no calls."""
    tokens_in: int
    """Of answers that say so, as `tokens_out`; those of cached answers are not spent again."""
    tokens_out: int
    known_nano: int
    most_nano: int
    """What calls whose cost is not known can have cost, beside `known_nano`."""
    unsettled: int
    """Calls that are under way, or were when their process was killed."""
    unpriced: int
    """Calls that may have cost something, at a price that is not known."""


class Mean(NamedTuple):
    """What an agent's matches came to, on average over those where that is known."""

    matches: int
    tokens_in: float
    tokens_out: float
    cost_usd: float | None
    """None where the cost of any of them is not known."""


class Calls(Opened):
    """The part of a store that keeps calls and answers."""

    def enter(
        self,
        bill: Bill,
        settled: Iterable[Call],
        reserved: Sequence[Call],
        answers: Iterable[tuple[str, bytes]] = (),
        ceiling_nano: int | None = None,
    ) -> tuple[bool, int]:
        """Write a bill, calls and answers in one transaction: under a ceiling one that outlasts a power
        cut. Calls replace what was written of them before.

        The charge of `bill` is without that of `reserved`, the calls that are about to be made: they
        are added, but for where the design's bills together then pass the ceiling. Returns whether they
        were, and what the design's other bills come to.
        """
        with self._writing(durable=ceiling_nano is not None) as connection:
            # A transaction that writes shuts out others from its start: no other run reserves meanwhile.
            found = connection.execute(_charged(bill.design_hash, bill.id)).scalar()
            others, more = int(found or 0), sum(call.most_nano or 0 for call in reserved)
            charged = bill.charged_nano + more
            fits = ceiling_nano is None or not more or others + charged <= ceiling_nano
            kept = bill._replace(charged_nano=charged) if fits else bill
            upsert(connection, BILLS, [kept._asdict()], ["id"])
            rows = [*settled, *(reserved if fits else ())]
            upsert(connection, CALLS, [row._asdict() for row in rows], ["bill", "number"])
            now = utc_now()
            kept_answers = [{"key": key, "content": blob, "at": now} for key, blob in answers]
            insert_new(connection, ANSWERS, kept_answers, "key")
        return fits, others

    def charged(self, design_hash: str, but: str = "") -> tuple[int, int]:
        """Return what the calls of all runs of a design but one bill's are charged, and how much of that
        is reserved for calls that are not settled: under way, or cut off by a kill."""
        unsettled = (
            select(func.sum(CALLS.c.most_nano))
            .join(BILLS, CALLS.c.bill == BILLS.c.id)
            .where(BILLS.c.design_hash == design_hash, BILLS.c.id != but, CALLS.c.came.is_(None))
        )
        both: Any = (_charged(design_hash, but).scalar_subquery(), unsettled.scalar_subquery())
        with self._reading() as connection:
            found: Any = connection.execute(select(*both)).one()
        charged, reserved = found
        return int(charged or 0), int(reserved or 0)

    def last_run(self, design_hash: str) -> LastRun:
        """Return how the design was asked for when a provider was last asked for it, or a budget last
        given."""
        with self._reading() as connection:
            return last_run(connection, design_hash)

    def answer(self, key: str) -> bytes | None:
        """Return the answer that is kept under a request's key, None where there is none."""
        with self._reading() as connection:
            return connection.execute(select(ANSWERS.c.content).where(ANSWERS.c.key == key)).scalar()

    def costs(self, design_hash: str | None = None) -> list[Cost]:
        """Return what was spent in the design with this hash, or in each, by agent; the design that was
        run first comes first."""
        by = (BILLS.c.design_hash, CALLS.c.agent_version)
        query = (
            select(*by, *_sums())
            .select_from(CALLS.join(BILLS, CALLS.c.bill == BILLS.c.id))
            .group_by(*by)
            .order_by(func.min(BILLS.c.at), *by)
        )
        if design_hash is not None:
            query = query.where(BILLS.c.design_hash == design_hash)
        with self._reading() as connection:
            rows: Iterable[Any] = connection.execute(query)
            return [Cost(*row[:2], *(int(value or 0) for value in row[2:])) for row in rows]

    def mean_matches(self, version: str) -> dict[str, Mean]:
        """Return what an agent's scored matches came to on average, on whichever side, by the version of
        their domain, as far as their tokens are known. Matches with answers from the cache are left
        out."""
        columns = ("tokens_in", "tokens_out", "cost_usd")
        sums = defaultdict[str, list[float]](lambda: [0.0] * 5)
        with self._reading() as connection:
            for side in ("seller", "buyer"):
                row = {name: MATCHES.c[f"{side}_{name}"] for name in columns}
                wanted = (func.count(), func.count(row["cost_usd"]), *map(func.sum, row.values()))
                own = MATCHES.c[f"{side}_version"] == version
                told = and_(row["tokens_in"].is_not(None), row["tokens_out"].is_not(None))
                fresh = func.coalesce(MATCHES.c.receipts.not_like('%"cached":%'), True)
                domain = SCENARIOS.c.domain_version
                joined = MATCHES.join(SCENARIOS, MATCHES.c.scenario_key == SCENARIOS.c.key)
                query = select(domain, *wanted).select_from(joined).where(own, told, fresh)
                rows: Iterable[Any] = connection.execute(query.group_by(domain).order_by(domain))
                for played_on, *found in rows:
                    more = [float(value or 0) for value in found]
                    sums[played_on] = [a + b for a, b in zip(sums[played_on], more, strict=True)]
        return {
            domain: Mean(int(matches), taken / matches, given / matches, cost / matches)
            if known == matches
            else Mean(int(matches), taken / matches, given / matches, None)
            for domain, (matches, known, taken, given, cost) in sums.items()
        }


def last_run(connection: Connection, design_hash: str) -> LastRun:
    """Return the same, as :meth:`Calls.last_run`, from an open reading."""
    how = (BILLS.c.ceiling_nano, BILLS.c.cache, BILLS.c.drift)
    query = select(*how).where(BILLS.c.design_hash == design_hash)
    row: Any = connection.execute(query.order_by(BILLS.c.at.desc(), BILLS.c.id).limit(1)).first()
    if row is None:
        return LastRun()
    budget = None if row.ceiling_nano is None else usd(row.ceiling_nano)
    return LastRun(budget, bool(row.cache), row.drift or 0.0)


def _charged(design_hash: str, but: str = "") -> Any:
    own = and_(BILLS.c.design_hash == design_hash, BILLS.c.id != but)
    return select(func.sum(BILLS.c.charged_nano)).where(own)


def _sums() -> list[ColumnElement[Any]]:
    """Return the figures of :class:`Cost`, in its order."""
    row = CALLS.c
    free = row.came.in_([Came.NOTHING.value, Came.CACHED.value])
    sent = row.came.is_distinct_from(Came.CACHED.value)
    owed = and_(row.cost_nano.is_(None), func.coalesce(~free, True))

    def count(condition: ColumnElement[bool]) -> ColumnElement[Any]:
        return func.sum(case((condition, 1), else_=0))

    def total(what: ColumnElement[Any], condition: ColumnElement[bool]) -> ColumnElement[Any]:
        return func.sum(case((condition, what)))

    return [
        count(sent),
        count(and_(sent, row.sending > 1)),
        count(~sent),
        total(row.tokens_in, sent),
        total(row.tokens_out, sent),
        total(row.cost_nano, sent),
        total(row.most_nano, owed),
        count(row.came.is_(None)),
        count(and_(owed, row.most_nano.is_(None))),
    ]
