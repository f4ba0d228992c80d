"""Finished matches and drawn scenarios as the rows that are stored: plain values, made by the worker."""

import json
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from agents.agent import MOST_TOKENS
from arena.measures import VERSION, Yardstick
from arena.play import Outcome, Turn
from arena.schedule import MatchKey
from arena.transcript import encode
from scenarios.canonical import canonical
from scenarios.scenario import Role, Scenario, from_content


def utc_now() -> str:
    """Return the time as ISO 8601 text in UTC with microseconds; such texts sort by time."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Drawn(NamedTuple):
    """A row of the table `scenarios`, in the order of its columns."""

    key: str
    label: str
    domain_version: str
    split: str
    number: int
    feasible: bool
    draw_version: int
    content: bytes
    """zlib over the canonical JSON of :meth:`Scenario.content`."""


def drawn(scenario: Scenario, draw_version: int) -> Drawn:
    """Return the row of a scenario; :func:`undrawn` reads its content."""
    return Drawn(
        scenario.key,
        scenario.label,
        scenario.domain_version,
        scenario.split.value,
        scenario.index,
        scenario.feasible,
        draw_version,
        zlib.compress(canonical(scenario.content()).encode(), 6),
    )


def undrawn(content: bytes) -> Scenario:
    """Return the scenario that a row's content holds."""
    return from_content(json.loads(zlib.decompress(content)))


class Spent(NamedTuple):
    """What one side's calls to a language model came to; None where it is not known for every call."""

    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    latency_s: float | None
    faults: int
    """Faulty attempts."""

    @property
    def asked(self) -> bool:
        """Whether any call is on record."""
        return (self.tokens_in, self.tokens_out, self.cost_usd, self.latency_s) != (None,) * 4


def of_side(row: Any, role: Role) -> Spent:
    """Return what `role`'s calls came to, from a row with the columns of both sides."""
    return Spent(*(getattr(row, f"{role.value}_{field}") for field in Spent._fields))


def tokens_of(row: Any) -> int | None:
    """Return the tokens in and out of both sides, as far as they are known; None where none are."""
    sides = [of_side(row, role) for role in Role]
    known = [n for side in sides for n in (side.tokens_in, side.tokens_out) if n is not None]
    return sum(known) if known else None


def cost_of(row: Any) -> float | None:
    """Return what a match cost in US dollars; None where no model took part, or one's price is not
    known."""
    asked = [side for side in (of_side(row, role) for role in Role) if side.asked]
    if not asked or any(side.cost_usd is None for side in asked):
        return None
    return sum(side.cost_usd or 0.0 for side in asked)


class Played(NamedTuple):
    """One row of the tables `matches` and `voids`, in the order of their columns, with what is measured
    on a match and what made it void beside it."""

    key: str
    seller_version: str
    buyer_version: str
    scenario_key: str
    opener: str
    replicate: int
    turns_rule: int | None
    message_limit: int
    protocol: int
    ending: str
    at_fault: str | None
    detail: str
    deal: str | None
    """JSON list of option indices in the scenario's display order."""
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
    """What one turn might take, of a plug-in where one plays, else of a language model; None where
    nothing was limited."""
    started_at: str
    seconds: float
    worker: str
    receipts: str | None
    transcript: bytes
    measures: bytes
    """One row of `arena.measures.DTYPE`."""
    words: str | None
    """The first words of each message; see `arena.measures.words`."""
    trouble: str | None
    """Of a void attempt, the kind of the provider's trouble: an `agents.agent.Trouble`."""

    def columns(self) -> dict[str, Any]:
        """Return what stands both in `matches` and in `voids`, by column."""
        return dict(zip(self._fields[:-3], self, strict=False))

    def measured(self) -> dict[str, Any]:
        """Return the row of the table `measures`, by column."""
        return {"key": self.key, "version": VERSION, "content": self.measures, "words": self.words}


def played(
    key: MatchKey,
    outcome: Outcome,
    yardstick: Yardstick,
    started_at: str,
    seconds: float,
    worker: str,
    turn_timeout: float | None = None,
) -> Played:
    """Return the row of a finished match. `yardstick` is its scenario's, `seconds` its duration."""
    cell, rules = key.cell, key.rules
    asked = [turn for turn in outcome.turns if turn.attempts]
    return Played(
        key.text,
        key.seller,
        cell.buyer,
        cell.scenario_key,
        cell.opener.value,
        cell.replicate,
        rules.turns,
        rules.message_limit,
        key.protocol,
        outcome.ending.value,
        None if outcome.at_fault is None else outcome.at_fault.value,
        storable(outcome.detail),
        None if outcome.deal is None else canonical(outcome.deal),
        outcome.seller_score,
        outcome.buyer_score,
        len(outcome.turns),
        *spent(asked, Role.SELLER),
        *spent(asked, Role.BUYER),
        turn_timeout,
        started_at,
        seconds,
        worker,
        _receipts(outcome),
        encode(outcome.turns),
        *yardstick.measure(outcome),
        outcome.trouble,
    )


def spent(turns: Sequence[Turn], role: Role) -> Spent:
    """Add up what `role`'s attempts took; a sum is None where a call's share is not known, or where it
    is of more tokens than can be true."""
    asked = [turn for turn in turns if turn.attempts and turn.role is role]
    attempts = [attempt for turn in asked for attempt in turn.attempts]
    if not attempts:
        return _NOTHING
    usages = [attempt.usage for attempt in attempts if attempt.usage is not None]
    faults = sum(attempt.fault is not None for attempt in attempts)
    if not usages:
        return _NOTHING._replace(faults=faults)
    columns = zip(*(usage[:4] for usage in usages), strict=True)
    tokens_in, tokens_out, cost, latency = (
        None if None in column else sum(column) for column in columns
    )
    return Spent(_believable(tokens_in), _believable(tokens_out), cost, latency, faults)


def _believable(tokens: int | None) -> int | None:
    return None if tokens is None or tokens > MOST_TOKENS else tokens


_NOTHING = Spent(None, None, None, None, 0)


def storable(text: str) -> str:
    """Return `text` without what a database refuses: lone surrogates and NUL are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _receipts(outcome: Outcome) -> str | None:
    if not outcome.receipts:
        return None
    content = {role.value: dict(receipt) for role, receipt in outcome.receipts.items()}
    return json.dumps(content, sort_keys=True)
