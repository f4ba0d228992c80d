"""Which matches a design plans: cells, match keys and the random streams that follow from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random
from typing import NamedTuple

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

    def rngs(self) -> dict[Role, Random]:
        """Return each side's random stream: the seller's from the match, the buyer's from the cell,
        so that a stochastic buyer draws the same against every seller."""
        return {
            Role.SELLER: Random(int(self.text, 16)),
            Role.BUYER: Random(int(digest(self._cell_content(), 32), 16)),
        }

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


def plan(design: Design) -> Iterator[Place]:
    """Yield every match that the design plans, those of one scenario together."""
    for feasible in (True, False):
        for index in indices(design, feasible):
            for domain in design.domains:
                for opener, seller, buyer in product(
                    openers(design, index), design.sellers, design.buyers
                ):
                    for replicate in range(design.replicates_of(seller, buyer)):
                        yield Place(
                            domain.version,
                            index,
                            feasible,
                            seller.version,
                            buyer.version,
                            opener.value,
                            replicate,
                        )


def planned(design: Design) -> int:
    """Return how many matches the design plans, those without a zone of agreement included."""
    return len(design.domains) * sum(
        openings(design, feasible)
        * sum(
            design.replicates_of(seller, buyer) for seller in design.sellers for buyer in design.buyers
        )
        for feasible in (True, False)
    )


def openings(design: Design, feasible: bool) -> int:
    """Return how many (scenario, opener) combinations a domain has."""
    return sum(len(openers(design, index)) for index in indices(design, feasible))
