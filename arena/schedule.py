"""Which matches a design plans: cells, match keys and the random streams that follow from them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.design import SEED_STRIDE, Design
from arena.protocol import Rules
from scenarios.canonical import digest
from scenarios.scenario import Role


@dataclass(frozen=True)
class Cell:
    """What is held equal when sellers are compared."""

    scenario_key: str
    buyer: str
    """The buyer's version."""
    opener: Role
    replicate: int


@dataclass(frozen=True)
class MatchKey:
    """One planned match: a cell and the seller's version, under rules. `text` is its identity."""

    cell: Cell
    seller: str
    rules: Rules
    protocol: int

    @cached_property
    def text(self) -> str:
        """32 hexadecimal digits. The design is not in it, so that designs share matches."""
        return digest({"seller": self.seller, **self._cell_content()}, 32)

    def rngs(self) -> Mapping[Role, Random]:
        """Return each side's random stream: the seller's from the match, the buyer's from the cell,
        so that a stochastic buyer draws the same against every seller."""
        return _Streams(self)

    def seed(self, role: Role) -> int:
        """Return what a side's random stream is seeded with."""
        return int(self.text if role is Role.SELLER else digest(self._cell_content(), 32), 16)

    def _cell_content(self) -> dict[str, object]:
        return {
            "scenario": self.cell.scenario_key,
            "buyer": self.cell.buyer,
            "opener": self.cell.opener.value,
            "replicate": self.cell.replicate,
            "turns": self.rules.turns,
            "message_limit": self.rules.message_limit,
            "protocol": self.protocol,
        }


class _Streams(dict[Role, Random]):
    """Seeds a side's stream when it is asked for: most sides draw nothing, and seeding takes as long as
    some turns."""

    def __init__(self, key: MatchKey) -> None:
        self._key = key

    def __missing__(self, role: Role) -> Random:
        stream = self[role] = Random(self._key.seed(role))
        return stream


def indices(design: Design, feasible: bool = True) -> range:
    """Return the scenario indices that every domain of the design plays."""
    first = design.seed * SEED_STRIDE
    return range(first, first + (design.scenarios if feasible else design.infeasible))


def openers(design: Design, index: int) -> tuple[Role, ...]:
    """Return who opens on the scenario with this index, the same for every seller."""
    match design.opener:
        case "alternate":
            return (Role.SELLER,) if index % 2 == 0 else (Role.BUYER,)
        case "both":
            return (Role.SELLER, Role.BUYER)
        case side:
            return (Role(side),)


class Place(NamedTuple):
    """Where a planned match stands in its design. Its scenario need not be drawn yet."""

    domain_version: str
    number: int
    """The scenario's index."""
    feasible: bool
    seller_version: str
    buyer_version: str
    opener: str
    replicate: int

    @property
    def versions(self) -> tuple[str, str]:
        """Who plays: the seller's version, and the buyer's."""
        return self.seller_version, self.buyer_version

    @property
    def scenario(self) -> tuple[str, int, bool]:
        """What the scenario is drawn from: domain version, index, feasible."""
        return self[:3]

    def key(self, design: Design, scenario_key: str) -> MatchKey:
        """Return the match's key, once its scenario is known."""
        cell = Cell(scenario_key, self.buyer_version, Role(self.opener), self.replicate)
        return MatchKey(cell, self.seller_version, design.rules, design.protocol)


class Plan:
    """Every match that a design plans, those of one scenario together. Places are made as they are asked
    for, so that a million of them take no memory; each has a position, from 0."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._domains = {domain.version: number for number, domain in enumerate(design.domains)}
        self._pairings = [
            (seller.version, buyer.version, number)
            for seller, buyer in product(design.sellers, design.buyers)
            for number in range(design.replicates_of(seller, buyer))
        ]
        self.a_scenario = len(openers(design, 0)) * len(self._pairings)
        """Matches on each scenario."""
        second = len(self._pairings) if design.opener == "both" else 0
        self.offset = {
            (opener.value, seller, buyer): position + (second if opener is Role.BUYER else 0)
            for opener in Role
            for position, (seller, buyer, number) in enumerate(self._pairings)
            if number == 0
        }
        """Where the first replicate of (opener, seller's version, buyer's version) stands among the
        matches on a scenario; the others follow."""

    def __len__(self) -> int:
        design = self._design
        return len(self._domains) * (design.scenarios + design.infeasible) * self.a_scenario

    def __iter__(self) -> Iterator[Place]:
        for scenario in range(len(self) // self.a_scenario):
            yield from self._on(scenario, range(self.a_scenario))

    def start(self, domain_version: str, number: int, feasible: bool) -> int:
        """Return the position of the first match on a planned scenario."""
        index = number - indices(self._design).start + (0 if feasible else self._design.scenarios)
        return (index * len(self._domains) + self._domains[domain_version]) * self.a_scenario

    def position(self, place: Place) -> int:
        """Return where a planned place stands. Raises KeyError where it is of no domain, or no pair, of
        the design."""
        who = (place.opener, *place.versions)
        return self.start(*place.scenario) + self.offset[who] + place.replicate

    def batches(self, marked_M: NDArray[np.bool_]) -> Iterator[tuple[Place, ...]]:
        """Yield the places that are marked, by position, those of one scenario together."""
        marked = marked_M.reshape(-1, self.a_scenario)
        for scenario in np.flatnonzero(marked.any(axis=1)).tolist():
            yield tuple(self._on(scenario, np.flatnonzero(marked[scenario]).tolist()))

    def seated_M(self, versions: Collection[str]) -> NDArray[np.bool_]:
        """Return, by position, whether one of the agents with these versions plays."""
        seated = [seller in versions or buyer in versions for seller, buyer, _ in self._pairings]
        return np.tile(np.array(seated, bool), len(self) // len(seated))

    def matches_of(self, marked_M: NDArray[np.bool_]) -> Counter[str]:
        """Count marked matches by agent version; one against itself counts once."""
        found = Counter[str]()
        by_pairing = marked_M.reshape(-1, len(self._pairings)).sum(axis=0).tolist()
        for (seller, buyer, _), count in zip(self._pairings, by_pairing, strict=True):
            found.update(dict.fromkeys((seller, buyer), count))
        return found

    def _on(self, scenario: int, which: Iterable[int]) -> Iterator[Place]:
        """Yield some places of a scenario, both counted from 0."""
        index, domain = divmod(scenario, len(self._domains))
        feasible = index < self._design.scenarios
        number = indices(self._design).start + index - (0 if feasible else self._design.scenarios)
        version = self._design.domains[domain].version
        opening = [opener.value for opener in openers(self._design, number)]
        for place in which:
            side, pairing = divmod(place, len(self._pairings))
            seller, buyer, replicate = self._pairings[pairing]
            yield Place(version, number, feasible, seller, buyer, opening[side], replicate)


def plan(design: Design) -> Plan:
    """Return every match that the design plans."""
    return Plan(design)


def planned(design: Design) -> int:
    """Return how many matches the design plans, those without a zone of agreement included."""
    return len(Plan(design))


def openings(design: Design, feasible: bool) -> int:
    """Return how many (scenario, opener) combinations a domain has."""
    return sum(len(openers(design, index)) for index in indices(design, feasible))
