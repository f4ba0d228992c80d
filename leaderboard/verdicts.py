"""What a board says of an agent beside its score: gain over base, split, guards, conduct, cost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arena.analysis import Analysis
from arena.results import Results
from leaderboard.board import Board
from leaderboard.inference import conduct
from leaderboard.inference.badges import Badge
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.compared import Comparison
from leaderboard.inference.contrasts import compare_all
from leaderboard.inference.guards import Guard, GuardResult, guards
from leaderboard.inference.rates import Rate
from leaderboard.inference.splits import ArmSplit, splits
from leaderboard.inference.statistic import Estimate
from scenarios.scenario import Role


@dataclass(frozen=True)
class Verdict:
    """One agent, over open domains. Buyers have no gain, split or guards; a gain needs a base."""

    gain: Comparison | None
    """Over its base, as the design declares it; exploratory where the family does not hold it."""
    split: ArmSplit | None
    guards: tuple[Guard, ...]
    deals: Rate
    """Agreements over scored matches."""
    faulty: Rate
    """Turns with a faulty answer, over turns."""
    cost: Estimate
    """US dollars of its own a match, over the matches whose cost is known; no value where none is."""

    @property
    def judged(self) -> bool:
        """Whether any guard came to a result."""
        return any(guard.result is not GuardResult.NOT_JUDGED for guard in self.guards)

    @property
    def alarm(self) -> bool:
        """Whether the pooling alarm is raised."""
        return self.split is not None and self.split.alarm


def verdicts(results: Results, role: Role = Role.SELLER, exploratory: str = "") -> dict[str, Verdict]:
    """Return what is said of every agent that plays `role`, by version.

    `exploratory` says why nothing here is confirmatory, where the results are a part of a design's.
    """
    players = results.design.sellers if role is Role.SELLER else results.design.buyers
    if role is Role.SELLER:
        gains = gains_over_base(results)
        if exploratory:
            gains = {
                arm: replace(gain, confirmatory=False, why=exploratory) for arm, gain in gains.items()
            }
        found = splits(results)
        moved = {split.version: split for split in found}
        judged = guards(results, found)
    else:
        gains, moved, judged = {}, {}, {}
    names = results.design.names(role)
    table = tabulate(results, role)
    return {
        player.version: Verdict(
            gains.get(player.version),
            moved.get(player.version),
            judged.get(names[player.version], ()),
            **_conduct(results, table, arm, role),
        )
        for arm, player in enumerate(players)
    }


def gains_over_base(results: Results) -> dict[str, Comparison]:
    """Return every arm's gain over its base, by the arm's version; confirmatory where declared."""
    gains = (results.design.analysis or Analysis()).gains()
    return dict(zip(gains, compare_all(results, list(gains.values()), booted=False), strict=True))


def _conduct(results: Results, table: CellTable, arm: int, role: Role) -> dict[str, Any]:
    open_D, cost_M = results.open_D, results.cost_M_R[:, results.side(role).place]
    return {
        "deals": conduct.deals(results, table, arm, open_D),
        "faulty": conduct.faulty_turns(results, table, arm, role, open_D),
        "cost": conduct.known_mean(table, arm, cost_M, open_D),
    }


def to_json(
    board: Board, found: Mapping[str, Verdict], badges: Mapping[str, tuple[Badge, ...]]
) -> list[dict[str, Any]]:
    """Return the rows as `arena standings --json` prints them; `badges` by the buyer's name."""
    rows = []
    for row, plain in zip(board.rows, board.to_json(), strict=True):
        verdict = found[row.player.version]
        split = verdict.split
        rows.append(
            plain
            | {
                "missing": row.planned - row.matches,
                "bounds": row.bounds and dict(zip(("low", "high"), row.bounds, strict=True)),
                "gain": verdict.gain and _gain_json(verdict),
                "split_moved": None if split is None or not split.moved else split.to_json()["moved"],
                "alarm": None if split is None or split.base is None else split.alarm,
                "general": None if split is None or split.base is None else split.general,
                "guards": [guard.to_json() for guard in verdict.guards],
                "deals": verdict.deals.to_json(),
                "faulty_turns": verdict.faulty.to_json(),
                "cost_usd": verdict.cost.to_json() | {"p": None} if verdict.cost.cells else None,
                "badges": {
                    name: [badge.name for badge in badges.get(name, ())] for name in board.opponents
                },
            }
        )
    return rows


def _gain_json(verdict: Verdict) -> dict[str, Any]:
    gain, split = verdict.gain, verdict.split
    assert gain is not None
    figures = ("value", "low", "high", "p", "adjusted_p", "confirmatory", "why")
    counts = ("clusters", "cells", "dropped")
    base = None if split is None else split.base
    return {"base": base} | gain.figures(*figures, *counts, why="why_exploratory")
