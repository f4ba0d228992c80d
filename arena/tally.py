"""What came of each agent's matches in one run, counted as they finish.

Kept of every agent that may fail or cost something, which is all but scripted ones.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agents.agent import Trouble
from arena.budget import Account
from arena.design import Design
from arena.money import usd
from arena.protocol import Ending
from arena.record import Played, of_side
from arena.registry import costs_money
from arena.schedule import openings
from arena.store import Registration
from scenarios.scenario import Role


class Aside(NamedTuple):
    """Why an agent plays no more in a run: its provider's last words with the kind of its trouble, or
    what became of the budget."""

    detail: str
    trouble: Trouble | None = None
    spent: bool = False
    """Whether too little is left of a budget for its next call."""

    @property
    def at_once(self) -> bool:
        """Whether it was set aside at once, because trying again is useless until someone mends it."""
        return self.trouble is not None and self.trouble.permanent


@dataclass
class Tally:
    """What came of one agent's matches in this run. A match against itself counts once."""

    name: str
    version: str
    free: bool
    """Whether it costs nothing, or nothing that anybody is billed for."""
    planned: int
    already: int
    """Scored before this run."""
    played: int = 0
    """Scored in this run; replays are not counted."""
    answers: int = 0
    """Answers it gave, faulty ones included; in void matches too, like all that follows but forfeits."""
    faults: int = 0
    forfeits: Counter[str] = field(default_factory=Counter)
    """By ending."""
    voids: Counter[str] = field(default_factory=Counter)
    """Attempts that its provider's trouble made void, by `agents.agent.Trouble`."""
    last_trouble: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    """As far as they are known."""
    account: Account = field(default_factory=Account)
    """What its calls came to; of a model the run's own, so that it grows while a match is played."""
    schema_refused: str | None = None
    """What its provider was sent in place of the schema that it refused: json_object, or text."""
    set_aside: Aside | None = None

    def count(self, row: Played, role: Role, *, planned: bool) -> None:
        """Count what `role`, which this agent plays, did in a match or a void attempt; `planned`: the
        match is one of those that the design plans."""
        spent = of_side(row, role)
        own_turns = (row.turns + (row.opener == role)) // 2
        unanswered = own_turns > 0 and row.at_fault == role  # its last turn, which ended the match
        self.answers += own_turns - unanswered + spent.faults
        self.faults += spent.faults
        self.tokens_in += spent.tokens_in or 0
        self.tokens_out += spent.tokens_out or 0
        self.schema_refused = _refused(row, role) or self.schema_refused
        if row.at_fault == role and row.ending == Ending.PROVIDER_ERROR:
            self.last_trouble = row.trouble or Trouble.SERVER.value
            self.voids[self.last_trouble] += 1
        elif row.at_fault == role and planned and Ending(row.ending).forfeit:
            self.forfeits[row.ending] += 1

    @property
    def unpriced(self) -> bool:
        """Return whether it made calls that cost something nobody knows."""
        return not self.free and self.account.unpriced > 0

    @property
    def cost_usd(self) -> float | None:
        """Return what its calls cost; None where that is not known of all of them."""
        return None if self.unpriced or self.account.unknown else usd(self.account.known)

    @property
    def fault_rate(self) -> float | None:
        """Return the share of its answers that were faulty; None without an answer."""
        return self.faults / self.answers if self.answers else None

    def to_json(self) -> dict[str, object]:
        """Return the object that `run-tournament --json` prints of an agent."""
        aside = self.set_aside
        return {
            "agent": self.name,
            "version": self.version,
            "planned": self.planned,
            "already": self.already,
            "played": self.played,
            "answers": self.answers,
            "faults": self.faults,
            "forfeits": dict(self.forfeits),
            "voids": dict(self.voids),
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cost_usd": self.cost_usd,
            "schema_refused": self.schema_refused,
            "set_aside": aside and {"trouble": aside.trouble, "detail": aside.detail},
        }


def tallies(
    design: Design,
    agents: Mapping[str, Registration],
    already: Mapping[str, int],
    accounts: Mapping[str, Account],
) -> dict[str, Tally]:
    """Return an empty tally for every agent that needs one, by version. `already`: its matches that
    were scored before this run; `accounts`: of the run, by version."""
    return {
        version: Tally(
            name=agent.name,
            version=version,
            free=not costs_money(agent),
            planned=_planned(design, version),
            already=already[version],
            account=accounts[version],
        )
        for version, agent in agents.items()
        if agent.spec.kind != "scripted"
    }


def count(found: Mapping[str, Tally], row: Played, *, planned: bool = True) -> None:
    """Count a match or a void attempt for whichever of its sides has a tally in `found`."""
    seller, buyer = found.get(row.seller_version), found.get(row.buyer_version)
    if seller is not None:
        seller.count(row, Role.SELLER, planned=planned)
        seller.played += planned and not Ending(row.ending).void
    if buyer is not None:
        buyer.count(row, Role.BUYER, planned=planned)
        buyer.played += planned and not Ending(row.ending).void and buyer is not seller


def _planned(design: Design, version: str) -> int:
    """Return how many of the design's matches an agent sits in."""
    pairs = sum(
        design.replicates_of(seller, buyer)
        for seller in design.sellers
        for buyer in design.buyers
        if version in (seller.version, buyer.version)
    )
    return pairs * len(design.domains) * sum(openings(design, feasible) for feasible in (True, False))


def _refused(row: Played, role: Role) -> str | None:
    """Return what went in place of a refused schema, as the match's receipt says."""
    if row.receipts is None or "schema_refused" not in row.receipts:
        return None
    receipt = json.loads(row.receipts).get(role.value, {})
    return receipt.get("format") if receipt.get("schema_refused") else None
