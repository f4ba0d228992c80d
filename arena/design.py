"""The frozen plan of a tournament. Its hash depends on what is played and on nothing else."""

from functools import cached_property
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from arena.analysis import Analysis
from arena.protocol import MESSAGE_LIMIT, PROTOCOL_VERSION, Rules
from scenarios.canonical import digest
from scenarios.draw import DRAW_VERSION
from scenarios.scenario import Role

SEED_STRIDE = 1_000_000
"""Seed N takes scenarios N * SEED_STRIDE onwards, so that different seeds share none."""


class Player(BaseModel):
    """An agent as a design resolved it: the name it was asked for by, and the version it stood for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    deterministic: bool

    @property
    def full_name(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"


class DesignDomain(BaseModel):
    """A domain of the design; held-out ones are reported apart from the pooled score."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    held_out: bool


class Design(BaseModel):
    """Who plays whom on which cells, under which rules."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sellers: tuple[Player, ...] = Field(min_length=1)
    buyers: tuple[Player, ...] = Field(min_length=1)
    domains: tuple[DesignDomain, ...] = Field(min_length=1)
    scenarios: int = Field(64, ge=1, le=SEED_STRIDE)
    """Scenarios a domain."""
    infeasible: int = Field(0, ge=0, le=SEED_STRIDE)
    """Scenarios a domain without a zone of agreement: a panel of their own."""
    replicates: int = Field(1, ge=1, le=1_000)
    """Matches a cell, where either side is stochastic; deterministic pairs play one."""
    opener: Literal["alternate", "seller", "buyer", "both"] = "alternate"
    turns: int | None = Field(None, ge=1, le=10_000)
    """Turns a side, fixed and announced; None: drawn per scenario from 6 to 12 and hidden."""
    message_limit: int = Field(MESSAGE_LIMIT, ge=1, le=1_000_000)
    seed: int = Field(0, ge=0, le=1_000_000_000)
    protocol: int = PROTOCOL_VERSION
    draw: int = DRAW_VERSION
    """The recipe that drew the scenarios; a design of another recipe can be shown but not played."""
    analysis: Analysis | None = None
    """What was declared before play; None: nothing was, and all that a board compares is exploratory."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for side, players in (("seller", self.sellers), ("buyer", self.buyers)):
            versions = [player.version for player in players]
            if len(set(versions)) < len(versions):
                raise ValueError(f"a {side} stands twice in the design (same version)")
        names = [domain.name for domain in self.domains]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the domain {twice} stands twice in the design")
        self._check_analysis()
        return self

    def _check_analysis(self) -> None:
        if self.analysis is None:
            return
        sellers = {player.version for player in self.sellers}
        named = {version for contrast in self.analysis.contrasts for version in contrast.sellers}
        named |= {*self.analysis.bases, *self.analysis.bases.values()}
        if strangers := sorted(named - sellers):
            raise ValueError(f"the analysis names {strangers[0]}, which is no seller of the design")
        buyers = {player.version for player in self.buyers}
        if strangers := sorted(set(self.analysis.excluded) - buyers):
            raise ValueError(f"the analysis excludes {strangers[0]}, which is no buyer of the design")

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits. The order of agents, domains and contrasts does not matter, nor do
        the families that agents are said to belong to."""
        content = self.model_dump(mode="json", exclude={"analysis"})
        if self.analysis is not None:  # designs of releases without one keep their hashes
            content["analysis"] = self.analysis.identity()
        for side in ("sellers", "buyers", "domains"):
            content[side] = sorted(content[side], key=lambda entry: (entry["name"], entry["version"]))
        return digest(content, 12)

    @property
    def rules(self) -> Rules:
        """The rules every match is played by."""
        return Rules(turns=self.turns, message_limit=self.message_limit)

    @property
    def excluded_buyers(self) -> tuple[Player, ...]:
        """The buyers that no seller may have been trained against, as was declared; none without an
        analysis."""
        excluded = self.analysis.excluded if self.analysis is not None else ()
        return tuple(buyer for buyer in self.buyers if buyer.version in excluded)

    def players(self) -> tuple[Player, ...]:
        """Return everyone who plays, sellers first, each version once."""
        return tuple({player.version: player for player in (*self.buyers, *self.sellers)}.values())

    def names(self, role: Role) -> dict[str, str]:
        """Return what each version on one side is called on this design's boards: its name, or
        ``name@version`` where two versions go by one name."""
        versions: dict[str, set[str]] = {}
        for player in (*self.sellers, *self.buyers):
            versions.setdefault(player.name, set()).add(player.version)
        side = self.sellers if role is Role.SELLER else self.buyers
        return {
            player.version: player.name if len(versions[player.name]) == 1 else player.full_name
            for player in side
        }

    def replicates_of(self, seller: Player, buyer: Player) -> int:
        """Matches a cell for this pair: one where neither side is stochastic."""
        return 1 if seller.deterministic and buyer.deterministic else self.replicates
