"""What is missing of each agent's matches, why, and what the missing ones could do to its score.

A void match counts for nobody, but which matches end void need not be chance: a provider that fails in
long dialogues takes those away. So beside the score stand its bounds, with every missing match at 0 and
at 1, weighed as the score weighs them (:func:`leaderboard.inference.statistic.bounds`).
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from arena.store import VoidCount
from leaderboard.board import Board, Row
from scenarios.scenario import Role


@dataclass(frozen=True)
class VoidAttempts:
    """Void attempts in an agent's matches that went wrong in one way."""

    at_fault: str | None
    """The agent whose provider failed: this one, or one that it met."""
    ending: str
    trouble: str | None
    """An `agents.agent.Trouble`; None where it was our own bug, and in attempts of older releases."""
    attempts: int


@dataclass(frozen=True)
class Missing:
    """What is there of an agent's planned matches. Counts leave the infeasible panel out, but for
    `attempts`; the score and its bounds are over open domains."""

    row: Row
    attempts: tuple[VoidAttempts, ...]
    """The most frequent first; those at matches that were scored later are included."""

    @property
    def missing(self) -> int:
        """Planned matches that are not scored."""
        return self.row.planned - self.row.matches

    @property
    def untried(self) -> int:
        """Missing matches that are not void: not tried yet, or withdrawn."""
        return self.missing - self.row.void

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena voids --json` prints it, but for design and role."""
        row = self.row
        return {
            "agent": row.agent,
            "version": row.player.version,
            "planned": row.planned,
            "scored": row.matches,
            "missing": self.missing,
            "void": row.void,
            "ranked": row.rank is not None,
            "score": row.open.pooled.value,
            "bounds": row.bounds and dict(zip(("low", "high"), row.bounds, strict=True)),
            "attempts": [asdict(one) for one in self.attempts],
        }


def missing(board: Board, counts: Iterable[VoidCount]) -> list[Missing]:
    """Return what is missing of every agent of a board, in its order; `counts` of its design."""
    names = {role: board.design.names(role) for role in Role}
    by_agent: dict[str, dict[tuple[str | None, str, str | None], int]] = {}
    for count in counts:
        versions = {Role.SELLER: count.seller_version, Role.BUYER: count.buyer_version}
        role = None if count.at_fault is None else Role(count.at_fault)
        way = (None if role is None else names[role][versions[role]], count.ending, count.trouble)
        own = by_agent.setdefault(versions[board.role], {})
        own[way] = own.get(way, 0) + count.attempts
    return [Missing(row, _ordered(by_agent.get(row.player.version, {}))) for row in board.rows]


def _ordered(ways: dict[tuple[str | None, str, str | None], int]) -> tuple[VoidAttempts, ...]:
    found = [VoidAttempts(*way, attempts) for way, attempts in ways.items()]
    return tuple(sorted(found, key=lambda one: (-one.attempts, str(one.at_fault), str(one.trouble))))
