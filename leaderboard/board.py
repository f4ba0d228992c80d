"""The board: every agent of a design with its score, interval, rank interval and completeness."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arena.design import Design, Player
from arena.results import BoolArray, IntArray, LastRun, Results, Seen
from leaderboard.inference import conduct
from leaderboard.inference.cells import CellTable, tabulate
from leaderboard.inference.ranks import RankInterval, rank_intervals
from leaderboard.inference.statistic import (
    Cells,
    Estimate,
    bounds,
    buyer_weights,
    estimate,
    score_weights,
)
from scenarios.scenario import Role

MISSING_LIMIT = 0.02
"""Above this share of planned open matches missing, an agent is not ranked."""


@dataclass(frozen=True)
class BoardPanel:
    """Scores over one set of domains: the open ones, or those held out."""

    pooled: Estimate
    by_opponent: dict[str, Estimate]


@dataclass(frozen=True)
class Conduct:
    """How an agent's matches went beside what they scored. Over open domains."""

    by_opener: dict[Role, Estimate]
    """The score over the matches that a side opened; without a side that opened none."""
    faults: int
    """Faulty answers, those that were asked for again included."""
    forfeits: int
    opponents_forfeits: int
    held: Estimate
    """The score without the matches that an opponent forfeited, over the opponents that are left with
    matches in every domain."""


@dataclass(frozen=True)
class Row:
    """One agent. Counts of matches leave the infeasible panel out unless they say otherwise."""

    agent: str
    """Its name; ``name@version`` where two versions of it stand on the board."""
    player: Player
    open: BoardPanel
    held_out: BoardPanel | None
    """None where the design holds no domain out."""
    matches: int
    """Scored matches, open and held-out domains together."""
    planned: int
    void: int
    """Planned matches that were tried and have only void attempts."""
    open_missing: int
    rank: RankInterval | None
    """None where the score cannot be formed, or more than MISSING_LIMIT of it is missing."""
    deal_rate: float | None
    """Agreements over scored matches, in open domains; None before the first."""
    bounds: tuple[float, float] | None
    """The score with every missing match at 0, and at 1."""
    self_play: frozenset[str]
    """Opponents on the board that are this very version."""
    conduct: Conduct
    infeasible: int
    """Matches of the infeasible panel."""
    infeasible_deals: int
    """Agreements there, where no package was worth it for both: mistakes, not successes."""

    @property
    def complete(self) -> bool:
        """Whether all that was planned is scored."""
        return self.matches == self.planned


@dataclass(frozen=True)
class Board:
    """A design's agents of one role: ranked ones by score, then the others."""

    design: Design
    role: Role
    rows: tuple[Row, ...]
    opponents: tuple[str, ...]
    open_domains: tuple[str, ...]
    held_out_domains: tuple[str, ...]
    last_run: LastRun = field(default_factory=LastRun)

    @property
    def by_agent(self) -> dict[str, Row]:
        """The rows by their name."""
        return {row.agent: row for row in self.rows}

    @property
    def planned(self) -> int:
        """Planned matches on feasible scenarios."""
        return sum(row.planned for row in self.rows)

    @property
    def matches(self) -> int:
        """Scored matches on feasible scenarios."""
        return sum(row.matches for row in self.rows)

    @property
    def void(self) -> int:
        """Planned matches that have only void attempts."""
        return sum(row.void for row in self.rows)

    @property
    def infeasible(self) -> tuple[int, int]:
        """Matches and agreements of the infeasible panel; they are in no score."""
        return sum(row.infeasible for row in self.rows), sum(row.infeasible_deals for row in self.rows)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows as `arena standings --json` prints them.

        On a board of buyers, `by_buyer` is keyed by the sellers' names: whoever sat opposite.
        """
        return [_row_json(self, row) for row in self.rows]


def board(results: Results, role: Role = Role.SELLER) -> Board:
    """Compute the board of the agents that play `role` from a design's scored matches.

    Scores are the agents' own utilities: the mean over opponents of the mean over open domains. Domains
    held out are apart, and the infeasible panel is only counted.
    """
    design = results.design
    sides = _sides(results, role)
    against, open_D = sides.seen.other.names, sides.open_D
    rows = [_row(sides, arm, player) for arm, player in enumerate(sides.seen.own.players)]
    weight_O_D = score_weights(len(against), open_D)
    planned_A = sides.seen.planned_A_O_D[:, :, open_D].sum(axis=(1, 2))
    ranked = [arm for arm, row in enumerate(rows) if _can_rank(row, int(planned_A[arm]))]
    for arm, rank in rank_intervals(sides.table, weight_O_D, ranked).items():
        rows[arm] = replace(rows[arm], rank=rank)
    return Board(
        design=design,
        role=role,
        rows=tuple(sorted(rows, key=_order)),
        opponents=tuple(against),
        open_domains=tuple(domain.name for domain in design.domains if not domain.held_out),
        held_out_domains=tuple(domain.name for domain in design.domains if domain.held_out),
        last_run=results.last_run,
    )


@dataclass(frozen=True)
class _Sides:
    """The results as the agents of one role see them: axis A its agents, axis O their opponents."""

    results: Results
    seen: Seen
    table: CellTable
    open_D: BoolArray
    matches_A_D: IntArray
    faults_A_D: IntArray
    forfeits_A_D: IntArray
    opponents_forfeits_A_D: IntArray
    infeasible_A_D: IntArray
    infeasible_deals_A_D: IntArray


def _sides(results: Results, role: Role) -> _Sides:
    seen = results.seen_by(role)
    shape = (len(seen.own.players), len(results.design.domains))
    place_M = seen.own.player_M * shape[1] + results.domain_M

    def count(chosen_M: BoolArray | IntArray) -> IntArray:
        counted = np.bincount(place_M, chosen_M, minlength=shape[0] * shape[1])
        return counted.astype(np.int64).reshape(shape)

    feasible_M, deal_M = results.feasible_M, results.deal_M
    return _Sides(
        results=results,
        seen=seen,
        table=tabulate(results, role),
        open_D=results.open_D,
        matches_A_D=count(feasible_M),
        faults_A_D=count(feasible_M * seen.own.faults_M),
        forfeits_A_D=count(feasible_M & seen.own.forfeits_M),
        opponents_forfeits_A_D=count(feasible_M & seen.other.forfeits_M),
        infeasible_A_D=count(~feasible_M),
        infeasible_deals_A_D=count(~feasible_M & deal_M),
    )


def _row(sides: _Sides, arm: int, player: Player) -> Row:
    """Return the row of one agent, not ranked yet."""
    open_D, other = sides.open_D, sides.seen.other
    cells, planned_O_D = sides.table.of(arm), sides.seen.planned_A_O_D[arm]
    matches = sides.matches_A_D[arm]
    same = zip(other.names, other.players, strict=True)
    return Row(
        agent=sides.seen.own.names[arm],
        player=player,
        open=_panel(cells, other.names, open_D),
        held_out=None if open_D.all() else _panel(cells, other.names, ~open_D),
        matches=int(matches.sum()),
        planned=int(planned_O_D.sum()),
        void=int(sides.seen.void_A_O_D[arm].sum()),
        open_missing=int(planned_O_D[:, open_D].sum() - matches[open_D].sum()),
        rank=None,
        deal_rate=conduct.deals(sides.results, sides.table, arm, open_D).value,
        bounds=bounds(cells, score_weights(len(other.names), open_D), planned_O_D),
        self_play=frozenset(name for name, other in same if other.version == player.version),
        conduct=_conduct(sides, arm),
        infeasible=int(sides.infeasible_A_D[arm].sum()),
        infeasible_deals=int(sides.infeasible_deals_A_D[arm].sum()),
    )


def _panel(cells: Cells, opponents: list[str], in_score_D: BoolArray) -> BoardPanel:
    count = len(opponents)
    return BoardPanel(
        estimate(cells, score_weights(count, in_score_D)),
        {
            name: estimate(cells, buyer_weights(opponent, count, in_score_D))
            for opponent, name in enumerate(opponents)
        },
    )


def _conduct(sides: _Sides, arm: int) -> Conduct:
    open_D, against = sides.open_D, len(sides.seen.other.names)
    return Conduct(
        by_opener=conduct.by_opener(sides.table, arm, against, open_D),
        faults=int(sides.faults_A_D[arm][open_D].sum()),
        forfeits=int(sides.forfeits_A_D[arm][open_D].sum()),
        opponents_forfeits=int(sides.opponents_forfeits_A_D[arm][open_D].sum()),
        held=conduct.held(sides.table, arm, against, open_D),
    )


def _can_rank(row: Row, planned: int) -> bool:
    return row.open.pooled.value is not None and row.open_missing <= MISSING_LIMIT * planned


def _order(row: Row) -> tuple[bool, float, str]:
    value = row.open.pooled.value
    return row.rank is None, float("inf") if value is None else -value, row.agent


def _row_json(board: Board, row: Row) -> dict[str, Any]:
    return {
        "agent": row.agent,
        "version": row.player.version,
        "role": board.role.value,
        "design": board.design.hash,
        **row.open.pooled.figures("value", "low", "high", "df", "clusters", value="score"),
        "matches": row.matches,
        "planned": row.planned,
        "void": row.void,
        "complete": row.complete,
        "rank_low": row.rank and row.rank.low,
        "rank_high": row.rank and row.rank.high,
        "deal_rate": row.deal_rate,
        "by_buyer": {name: _score_json(score) for name, score in row.open.by_opponent.items()},
        "held_out": row.held_out
        and {
            **_score_json(row.held_out.pooled),
            "by_buyer": {name: _score_json(score) for name, score in row.held_out.by_opponent.items()},
        },
    }


def _score_json(score: Estimate) -> dict[str, Any]:
    wanted = ("value", "low", "high", "clusters", "cells")
    return score.figures(*wanted, value="score", cells="matches")
