"""A design's matches as columns: what the leaderboard reads, taken from the packs.

Which matches are a design's follows from what their keys are made of, as in `arena.store.columns`, so no
scenario has to be drawn and no key computed to read a board.
"""

from collections.abc import Iterable, Mapping
from itertools import compress, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, exists, func, select

from arena import measures
from arena.design import Design
from arena.protocol import Ending
from arena.results import BoolArray, IntArray, Results
from arena.schedule import openings
from arena.store.columns import planned_scenario, select_in_design
from arena.store.models import DESIGNS, MATCHES, PACKS, SCENARIOS, VOIDS
from arena.store.packs import MEASURES_OF, Pack, as_text, unpacked
from scenarios.scenario import Role

CHUNK = 16
"""Packs in memory at a time."""
_NOT_ITS = -1
"""Where a pack names what is no part of the design."""
_REPLICATES = "replicates"
"""How many the design plans of a match's pair; no field of Results."""
_FORFEITS = [ending.value for ending in Ending if ending.forfeit]
_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("seller_M", "buyer_M", "scenario_M", "replicate_M"), np.int64),
    **dict.fromkeys(("seller_opens_M", "deal_M", "seller_forfeits_M", "buyer_forfeits_M"), bool),
    **dict.fromkeys(("seller_utility_M", "buyer_utility_M"), float),
    **dict.fromkeys(("seller_faults_M", "buyer_faults_M"), np.int64),
    **dict.fromkeys(("tokens_M_R", "cost_M_R", "latency_M_R"), (float, 2)),
    "fresh_M": bool,
    "measures_M": measures.DTYPE,
    "key_M": "V16",
}
_AS_PACKED = {
    **{"key_M": "key", "replicate_M": "replicate"},
    **{"tokens_M_R": "tokens", "cost_M_R": "cost_usd", "latency_M_R": "latency_s"},
}


def results(connection: Connection, design: Design, revision: int) -> Results:
    """Return the design's scored matches that are not withdrawn, as columns. Every match is packed."""
    reading = _Reading(connection, design)
    query = select(PACKS).order_by(PACKS.c.id).execution_options(yield_per=CHUNK)
    for row in connection.execute(query):
        reading.take(unpacked(row))
    return Results(
        design=design,
        **reading.columns(),
        words_M=reading.words,
        planned_S_B_D=_planned(design),
        void_S_B_D=_void(connection, design),
        revision=revision,
    )


class _Reading:
    """Gathers a design's matches pack by pack, so that beside what it gathers little is in memory."""

    def __init__(self, connection: Connection, design: Design) -> None:
        self._design = design
        sellers, buyers, domain = _positions(design)
        self._pair = {
            (seller.version, buyer.version): (
                sellers[seller.version],
                buyers[buyer.version],
                design.replicates_of(seller, buyer),
            )
            for seller, buyer in product(design.sellers, design.buyers)
        }
        wanted = (SCENARIOS.c[name] for name in ("key", "domain_version", "number", "feasible"))
        found: Iterable[Any] = connection.execute(select(*wanted).where(planned_scenario(design)))
        rows = sorted(map(tuple, found))
        self._scenario = {key: place for place, (key, *_) in enumerate(rows)}
        self._domain_C = np.array([domain[version] for _, version, _, _ in rows], np.int64)
        self._even_C = np.array([number % 2 == 0 for _, _, number, _ in rows], bool)
        self._feasible_C = np.array([feasible for *_, feasible in rows], bool)
        frozen = select(DESIGNS.c.created_at).where(DESIGNS.c.hash == design.hash)
        self._frozen: str | None = connection.execute(frozen).scalar()
        gone = select(MATCHES.c.key).where(MATCHES.c.withdrawn_at.is_not(None))
        withdrawn: Iterable[str] = connection.execute(gone).scalars()
        self._withdrawn = {bytes.fromhex(key) for key in withdrawn}
        count = connection.execute(select(func.sum(PACKS.c.matches))).scalar() or 0
        self._column = {name: np.empty(int(count), kind) for name, kind in _COLUMNS.items()}
        self._taken = 0
        self.words: list[str | None] = []

    def take(self, pack: Pack) -> None:
        """Take in those matches of a pack that are the design's."""
        found = _read(pack) | self._numbered(pack)
        found["fresh_M"] = (
            np.zeros(pack.matches, bool)
            if self._frozen is None
            else pack.column["started_at"] >= self._frozen.encode()
        )
        kept_M = self._kept(pack, found)
        del found[_REPLICATES]
        rows = slice(self._taken, self._taken + int(np.count_nonzero(kept_M)))
        some: Any = slice(None) if kept_M.all() else kept_M
        for name, column_M in found.items():
            self._column[name][rows] = column_M[some]
        for field, name in MEASURES_OF.items():
            self._column["measures_M"][field][rows] = pack.column[name][some]
        words = [None] * len(kept_M) if pack.words is None else pack.words
        self.words += compress(words, kept_M)
        self._taken = rows.stop

    def columns(self) -> dict[str, Any]:
        """Return what was gathered, by field of :class:`Results`."""
        column: dict[str, NDArray[Any]] = {
            name: column_M[: self._taken] for name, column_M in self._column.items()
        }
        scenario_M = column["scenario_M"]
        # Scenarios are numbered from 0, those without a match left out.
        there_C = np.zeros(len(self._scenario), bool)
        there_C[scenario_M] = True
        column["domain_M"] = self._domain_C[scenario_M]
        column["feasible_M"] = self._feasible_C[scenario_M]
        column["scenario_M"] = (np.cumsum(there_C) - 1)[scenario_M]
        # NumPy keeps text in four bytes a character.
        column["key_M"] = np.frombuffer(as_text(column["key_M"]).encode("utf-32-le"), "<U32")
        return column

    def _numbered(self, pack: Pack) -> dict[str, NDArray[Any]]:
        """Return which of the design's scenarios, sellers and buyers each match is of."""
        scenarios = [self._scenario.get(key, _NOT_ITS) for key in pack.scenarios]
        stranger = (_NOT_ITS, _NOT_ITS, 0)
        pair_P_3 = np.array([self._pair.get(pair, stranger) for pair in pack.pairs], np.int64)
        pair_M = pack.column["pair"]
        return {
            "scenario_M": np.array(scenarios, np.int64)[pack.column["scenario"]],
            "seller_M": pair_P_3[pair_M, 0],
            "buyer_M": pair_P_3[pair_M, 1],
            _REPLICATES: pair_P_3[pair_M, 2],
        }

    def _kept(self, pack: Pack, found: Mapping[str, NDArray[Any]]) -> BoolArray:
        """Return which matches the design plans (`arena.store.columns` says the same in SQL) and nobody
        withdrew."""
        design = self._design
        rules = (design.turns, design.message_limit, design.protocol)
        ours_W = np.array([way[-3:] == rules for way in pack.ways], bool)
        # Of a pair that is no part of the design it plans no replicate.
        kept_M: BoolArray = ours_W[pack.column["way"]] & (found["scenario_M"] != _NOT_ITS)
        kept_M &= found["replicate_M"] < found[_REPLICATES]
        opens_M = found["seller_opens_M"]
        if design.opener == "alternate":
            kept_M[kept_M] = self._even_C[found["scenario_M"][kept_M]] == opens_M[kept_M]
        elif design.opener != "both":
            kept_M &= opens_M == (design.opener == Role.SELLER.value)
        if self._withdrawn:
            kept_M &= [key not in self._withdrawn for key in pack.column["key"].tolist()]
        return kept_M


def _read(pack: Pack) -> dict[str, NDArray[Any]]:
    """Return the columns of a pack that are the same for every design."""
    column, ways = pack.column, pack.ways
    forfeits = [way.ending in _FORFEITS for way in ways]
    by_way = {
        "seller_opens_M": [way.opener == Role.SELLER.value for way in ways],
        "deal_M": [way.ending == Ending.AGREEMENT.value for way in ways],
    }
    found = {name: column[field] for name, field in _AS_PACKED.items()}
    for place, role in enumerate(Role):
        at_fault = [way.at_fault == role.value for way in ways]
        by_way[f"{role.value}_forfeits_M"] = [*map(all, zip(forfeits, at_fault, strict=True))]
        for name in ("utility", "faults"):
            found[f"{role.value}_{name}_M"] = column[name][:, place]
    return found | {name: np.array(by, bool)[column["way"]] for name, by in by_way.items()}


def _positions(design: Design) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return where each version stands among the design's sellers, buyers and domains."""
    sides = (design.sellers, design.buyers, design.domains)
    versions = [[entry.version for entry in side] for side in sides]
    sellers, buyers, domains = (
        {version: position for position, version in enumerate(side)} for side in versions
    )
    return sellers, buyers, domains


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
