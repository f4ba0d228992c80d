"""One draw of a domain: both sides' private utilities, walk-away values and turn limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from operator import getitem
from typing import Any

from scenarios.canonical import digest
from scenarios.domain import Kind, Term
from scenarios.kinds import kind_of

Package = tuple[int, ...]
"""An option index per term, in the scenario's display order."""

SCALE = 10_000
"""Utilities are whole multiples of 1/SCALE, so that sums and ties are exact on every machine."""


class Role(StrEnum):
    """The two sides of a match."""

    SELLER = "seller"
    BUYER = "buyer"

    # A text's own hash: that of Enum is Python code, which a match's dictionaries would run every turn.
    __hash__ = str.__hash__

    @property
    def other(self) -> "Role":
        """The side across the table."""
        return Role.BUYER if self is Role.SELLER else Role.SELLER


class Split(StrEnum):
    """Disjoint draws: tournaments play eval, training train, and checkpoints are chosen on dev."""

    TRAIN = "train"
    DEV = "dev"
    EVAL = "eval"


@dataclass(frozen=True)
class Preferences:
    """One side's additive utility and what it gets with no deal.

    U(w) = sum_i weight_i * value_i(w_i), in [0, 1]: weights are whole percents that add up to 100,
    values whole percents with 0 for a term's worst option and 100 for its best (min-max form), so the
    worst package is worth 0 and the best 1.
    """

    weights: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]
    walk_away_points: int
    """The walk-away (reservation) value in units of 1/SCALE."""

    @cached_property
    def table(self) -> tuple[tuple[int, ...], ...]:
        """What each option of each term adds to the utility, in units of 1/SCALE."""
        return tuple(
            [
                tuple([weight * value for value in row])
                for weight, row in zip(self.weights, self.values, strict=True)
            ]
        )

    @cached_property
    def walk_away(self) -> float:
        """The walk-away (reservation) value, in [0, 1]."""
        return self.walk_away_points / SCALE

    def points(self, package: Sequence[int]) -> int:
        """Return the package's utility in units of 1/SCALE, 0 to SCALE."""
        if len(package) != len(self.table):
            raise ValueError(f"a package has {len(self.table)} options here, not {len(package)}")
        return sum(map(getitem, self.table, package))

    def utility(self, package: Sequence[int]) -> float:
        """Return the package's utility, in [0, 1]."""
        return self.points(package) / SCALE


@dataclass(frozen=True)
class Scenario:
    """One draw: (domain version, split, index, feasible) with all that it decides.

    Terms, and the options of unordered terms, stand in the scenario's own display order, so that
    position says nothing about preferences. A scenario is the statistical cluster.
    """

    domain: str
    domain_version: str
    split: Split
    index: int
    feasible: bool
    """Whether some package is individually rational for both sides (a zone of agreement, ZOPA)."""
    terms: tuple[Term, ...]
    seller: Preferences
    buyer: Preferences
    turn_limit: int
    """Turns a side has at most; hidden from both sides unless the tournament fixes it."""

    @cached_property
    def key(self) -> str:
        """The content hash: 32 hexadecimal digits."""
        return digest(self.content(), 32)

    @cached_property
    def label(self) -> str:
        """A readable, unique name, such as ``car_sale@3f2a91/eval/12``."""
        panel = self.split.value if self.feasible else f"{self.split.value}-infeasible"
        return f"{self.domain}@{self.domain_version[:6]}/{panel}/{self.index}"

    @cached_property
    def default(self) -> Package:
        """The package of public defaults."""
        return tuple(term.options.index(term.default) for term in self.terms)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each term, derived from the two tables (thresholds are this project's)."""
        return tuple(
            kind_of(*pair)
            for pair in zip(
                self.seller.weights,
                self.seller.values,
                self.buyer.weights,
                self.buyer.values,
                strict=True,
            )
        )

    def preferences(self, role: Role) -> Preferences:
        """Return one side's private utilities."""
        return self.seller if role is Role.SELLER else self.buyer

    def content(self) -> dict[str, Any]:
        """Return all that the draw decided, as JSON-ready data; :func:`from_content` reads it."""
        return {
            "domain": self.domain,
            "domain_version": self.domain_version,
            "split": self.split.value,
            "index": self.index,
            "feasible": self.feasible,
            "terms": [term.model_dump(mode="json") for term in self.terms],
            "seller": _preferences_content(self.seller),
            "buyer": _preferences_content(self.buyer),
            "turn_limit": self.turn_limit,
        }


def from_content(content: dict[str, Any]) -> Scenario:
    """Rebuild a scenario from :meth:`Scenario.content`."""
    return Scenario(
        **content
        | {
            "split": Split(content["split"]),
            "terms": tuple(Term.model_validate(term) for term in content["terms"]),
            "seller": _preferences(content["seller"]),
            "buyer": _preferences(content["buyer"]),
        }
    )


def _preferences_content(side: Preferences) -> dict[str, Any]:
    return {
        "weights": list(side.weights),
        "values": [list(row) for row in side.values],
        "walk_away_points": side.walk_away_points,
    }


def _preferences(content: dict[str, Any]) -> Preferences:
    return Preferences(
        weights=tuple(content["weights"]),
        values=tuple(tuple(row) for row in content["values"]),
        walk_away_points=content["walk_away_points"],
    )
