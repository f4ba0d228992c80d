"""Which matches a filter lets through, and in which order they are listed, read from packs.

To count a million matches a database reads the pages of all transcripts, and to show a hundred of them
it sorts them all. From packs the keys of all are known, in order, in about a second, and stay known
while the record does not change.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from arena.results import BoolArray, IntArray
from arena.store.columns import planned_scenario
from arena.store.listing import Filter
from arena.store.models import DOMAINS, MATCHES, PACKS, SCENARIOS
from arena.store.packs import Pack, Way, as_text, unpacked
from scenarios.scenario import Role

CHUNK = 16
"""Packs in memory at a time."""
_LONGEST = 2**62
_ANY = 2**31
"""More replicates than there can be."""


def serves(wanted: Filter) -> bool:
    """Return whether packs hold all that a filter asks for: they have no text, and no withdrawals. The
    matches of one scenario a database finds by its index."""
    return not (wanted.text or wanted.only_withdrawn or wanted.scenario_key)


def find(connection: Connection, wanted: Filter) -> NDArray[np.void]:
    """Return the packed keys of the matches that a filter lets through, as they are listed. Every match
    is packed."""
    finding = _Finding(connection, wanted)
    query = select(PACKS).order_by(PACKS.c.id).execution_options(yield_per=CHUNK)
    for row in connection.execute(query):
        finding.take(unpacked(row))
    return finding.in_order()


def texts(found: NDArray[np.void]) -> list[str]:
    """Return packed keys as text."""
    text = as_text(found)
    return [text[start : start + 32] for start in range(0, len(text), 32)]


class _Finding:
    def __init__(self, connection: Connection, wanted: Filter) -> None:
        self._wanted = wanted
        rank: dict[tuple[Any, ...], int] = {}
        self._scenario: dict[str, tuple[int, bool]] = {}
        """Where a scenario stands among those listed, and whether its number is even."""
        for key, *place, number in _scenarios(connection, wanted):
            self._scenario[key] = rank.setdefault((*place, number), len(rank)), number % 2 == 0
        gone = select(MATCHES.c.key).where(MATCHES.c.withdrawn_at.is_not(None))
        withdrawn: Iterable[str] = () if wanted.withdrawn else connection.execute(gone).scalars()
        self._withdrawn = {bytes.fromhex(key) for key in withdrawn}
        self._replicates = (
            {}
            if wanted.design is None
            else {
                (seller.version, buyer.version): wanted.design.replicates_of(seller, buyer)
                for seller in wanted.design.sellers
                for buyer in wanted.design.buyers
            }
        )
        self._pair: dict[tuple[str, str], int] = {}
        self._parts: list[dict[str, NDArray[Any]]] = []

    def take(self, pack: Pack) -> None:
        """Take in what a pack has of them."""
        column, wanted, design = pack.column, self._wanted, self._wanted.design
        listed = np.array([self._scenario.get(key, (-1, False)) for key in pack.scenarios], np.int64)
        rank_M, even_M = listed[column["scenario"]].T
        way_M, pair_M, replicate_M = column["way"], column["pair"], column["replicate"]
        opens_M = np.array([way.opener == Role.SELLER.value for way in pack.ways], bool)[way_M]
        kept_M: BoolArray = (rank_M >= 0) & np.array([*map(self._way, pack.ways)], bool)[way_M]
        kept_M &= replicate_M < np.array([*map(self._most, pack.pairs)], np.int64)[pair_M]
        if design is not None and design.opener == "alternate":
            kept_M &= even_M == opens_M
        if wanted.replicate is not None:
            kept_M &= replicate_M == wanted.replicate
        if wanted.begun_before is not None:
            kept_M &= column["started_at"] < wanted.begun_before.encode()
        if wanted.faulty:
            kept_M &= column["faults"].sum(axis=1) > 0
        if self._withdrawn:
            kept_M &= [key not in self._withdrawn for key in column["key"].tolist()]
        numbers = [self._pair.setdefault(pair, len(self._pair)) for pair in pack.pairs]
        part = {
            "rank": rank_M,
            "opens": opens_M.astype(np.int64),
            "pair": np.array(numbers, np.int64)[pair_M],
            "replicate": replicate_M.astype(np.int64),
            "started_at": column["started_at"],
            "key": column["key"],
        }
        self._parts.append({name: column_M[kept_M] for name, column_M in part.items()})

    def in_order(self) -> NDArray[np.void]:
        """Return the keys as they are listed."""
        if not self._parts:
            return np.zeros(0, "V16")
        column = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
        place = {pair: number for number, pair in enumerate(sorted(self._pair))}
        column["pair"] = np.array([place[pair] for pair in self._pair], np.int64)[column["pair"]]
        order = _order([column[name] for name in ("rank", "opens", "pair", "replicate")])
        if order is None:  # by other rules, say, and so more than one match at a place
            more = (np.ascontiguousarray(column["key"]).view("S16"), column["started_at"])
            by = [column[name] for name in ("replicate", "pair", "opens", "rank")]
            order = np.lexsort((*more, *by))
        return column["key"][order]

    def _way(self, way: Way) -> bool:
        wanted, design = self._wanted, self._wanted.design
        if design is not None:
            rules = (design.turns, design.message_limit, design.protocol)
            if way[-3:] != rules or design.opener not in ("alternate", "both", way.opener):
                return False
        return wanted.ending in (None, way.ending) and wanted.opener in (None, way.opener)

    def _most(self, pair: tuple[str, str]) -> int:
        """Return how many replicates of a pair are let through; replicates are counted from 0."""
        seller, buyer = pair
        for version, allowed in ((seller, self._wanted.sellers), (buyer, self._wanted.buyers)):
            if allowed is not None and version not in allowed:
                return 0
        return _ANY if self._wanted.design is None else self._replicates.get(pair, 0)


def _scenarios(connection: Connection, wanted: Filter) -> list[tuple[Any, ...]]:
    """Return key, domain, domain version, whether infeasible, and number of each scenario that is let
    through, as they are listed."""
    scenario = SCENARIOS.c
    query = select(
        *(scenario.key, DOMAINS.c.name, scenario.domain_version, scenario.feasible, scenario.number)
    ).join(DOMAINS, scenario.domain_version == DOMAINS.c.version)
    if wanted.design is not None:
        query = query.where(planned_scenario(wanted.design))
    if wanted.domains is not None:
        query = query.where(DOMAINS.c.name.in_(list(wanted.domains)))
    rows: Iterable[Any] = connection.execute(query)
    found = [(key, name.encode(), version, not feasible, n) for key, name, version, feasible, n in rows]
    return sorted(found, key=lambda row: row[1:])


def _order(columns: list[IntArray]) -> IntArray | None:
    """Return the order by these columns of whole numbers from 0, the first before the second; None where
    they do not decide it."""
    whole, span = np.zeros(len(columns[0]), np.int64), 1
    for column_M in columns:
        size = 1 + int(column_M.max(initial=0))
        span *= size
        if span >= _LONGEST:
            return None
        whole = whole * size + column_M
    order = np.argsort(whole, kind="stable")
    return None if np.any(np.diff(whole[order]) == 0) else order
