"""What is bargained over: terms, and the domain that groups them with its briefs and its recipe."""

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from scenarios.canonical import digest

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_BARE_NUMBER = re.compile(r"[-+]?[\d.,]+")


class Kind(StrEnum):
    """How the two sides' interests in a term relate; derived from their tables, never declared."""

    COMPATIBLE = "compatible"
    """One option is best for both sides."""
    DISTRIBUTIVE = "distributive"
    """Strictly opposed, and of similar weight (ratio <= 1.5): what one gains the other loses."""
    INTEGRATIVE = "integrative"
    """Strictly opposed, but of unequal weight (ratio >= 2): worth trading against another term."""
    MIXED = "mixed"
    """Anything else."""


class Term(BaseModel):
    """One thing to settle: a name, its named options, and the public default for deals silent on it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Text
    options: tuple[Text, ...] = Field(min_length=2, max_length=20)
    default: Text
    ordered: bool = False
    """Whether the options have a natural order, which is then shown as it stands."""
    seller_prefers: Literal["first", "last"] | None = None
    """Set where everyone knows who wants what (a price): the draw then keeps the term opposed, with
    the seller's best at this end of the options and the buyer's at the other."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.options)) < len(self.options):
            raise ValueError(f"term {self.name!r} names an option twice")
        if self.default not in self.options:
            raise ValueError(f"term {self.name!r}: the default {self.default!r} is not an option")
        for option in self.options:
            if _BARE_NUMBER.fullmatch(option):
                raise ValueError(
                    f"term {self.name!r}: option {option!r} is a bare number; word it with its unit"
                )
        if self.seller_prefers and not self.ordered:
            raise ValueError(f"term {self.name!r}: seller_prefers needs ordered: true")
        return self


class Briefs(BaseModel):
    """The prose that each role is given before it bargains."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seller: Text
    buyer: Text


class Domain(BaseModel):
    """Terms, briefs for both roles, and the recipe from which private utilities are drawn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
    title: Text
    suite: Text = "own"
    held_out: bool = False
    """A default only: a tournament's design copies it and may say otherwise."""
    briefs: Briefs
    aim: dict[Kind, Annotated[int, Field(ge=0)]]
    """How many terms of each kind a draw aims at; the counts add up to the number of terms."""
    terms: tuple[Term, ...] = Field(min_length=1, max_length=30)

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [term.name for term in self.terms]
        if len(set(names)) < len(names):
            raise ValueError("two terms have the same name")
        if sum(self.aim.values()) != len(self.terms):
            raise ValueError(
                f"aim adds up to {sum(self.aim.values())}, but there are {len(self.terms)} terms"
            )
        opposed = self.aim.get(Kind.DISTRIBUTIVE, 0) + self.aim.get(Kind.INTEGRATIVE, 0)
        if sum(term.seller_prefers is not None for term in self.terms) > opposed:
            raise ValueError("more terms have seller_prefers than aim has opposed ones")
        return self

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits that change with anything that could change a draw or a brief."""
        return digest(self.model_dump(mode="json", exclude={"held_out", "suite"}), 12)
