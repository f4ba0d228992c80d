"""Secondary measures: what an agent's matches were like beside what they scored.

By match, with u a side's score, r its walk-away value and j over both sides:

- advantage (u - r) / (1 - r), and welfare, the mean of both sides' utilities or advantages;
- surplus share (u - r) / sum_j (u_j - r_j); undefined where that sum is not above 0, as without a deal;
- surplus efficiency sum_j (u_j - r_j) over its maximum over packages that are individually rational for
  both; undefined where that is 0. Without a deal 0, and below 0 where a side forfeits;
- distance of the deal to the exact Pareto frontier, in utility.

Measures that every match has are weighted as the score is: mean over opponents of the mean over domains.
Those that only some matches have (of deals, or where tokens, cost, latency are known) weigh all their
matches alike; how many are left out is counted. Shares of matches or turns are plain rates with a Beta
interval (:mod:`leaderboard.inference.rates`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.measures import FAULTS
from arena.results import BoolArray, FloatArray, Results
from leaderboard.inference import conduct
from leaderboard.inference.cells import tabulate
from leaderboard.inference.rates import Rate, rate
from leaderboard.inference.statistic import Estimate, estimate, score_weights
from scenarios.scenario import SCALE, Role


@dataclass(frozen=True)
class Mean:
    """A mean over an agent's matches."""

    estimate: Estimate
    left_out: int
    """Scored matches of the panel that it does not rest on: not defined or not known there, or not of
    the part that it is about."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena standings --measures --json` prints it: without a p against 0."""
        found = self.estimate.figures("value", "low", "high", "clusters", "cells", "problem")
        return found | {"left_out": self.left_out}


@dataclass(frozen=True)
class MeasuresPanel:
    """An agent's measures over one set of domains, without the infeasible panel but for its one rate."""

    matches: int
    planned: int
    void: int
    """Planned matches that were tried and have only void attempts."""
    means: dict[str, Mean]
    """By name, in the order of MEANS; those by opener only where that side opened a match, those on
    self-play only for an agent that also sits opposite."""
    rates: dict[str, Rate]
    """By name, in the order of RATES."""
    faults: dict[str, int]
    """Faulty answers by kind, the frequent ones first; kinds that never occurred are left out."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena standings --measures --json` prints it."""
        return {
            "matches": self.matches,
            "planned": self.planned,
            "void": self.void,
            "means": {name: mean.to_json() for name, mean in self.means.items()},
            "rates": {name: rate.to_json() for name, rate in self.rates.items()},
            "faults": self.faults,
        }


MEANS = {
    "score": "score",
    "score_over_deals": "over deals",
    "score_without_opponents_forfeits": "without opponents' forfeits",
    "score_seller_opens": "seller opens",
    "score_buyer_opens": "buyer opens",
    "score_without_self_play": "without self-play",
    "score_in_self_play": "in self-play",
    "advantage": "advantage",
    "surplus_share": "surplus share",
    "welfare": "welfare",
    "welfare_advantage": "welfare (advantage)",
    "surplus_efficiency": "surplus efficiency",
    "frontier_distance": "distance to frontier",
    "turns": "turns",
    "tokens": "tokens",
    "cost": "cost (USD)",
    "latency": "latency (s)",
}
"""The means' names with their headings; turns, tokens, cost and latency are the agent's own, a match."""
RATES = {
    "deals": "deals",
    "below_walk_away": "below walk-away value",
    "infeasible_deals": "infeasible deals",
    "forfeits": "own forfeits",
    "opponents_forfeits": "opponents' forfeits",
    "faulty_turns": "faulty turns",
    "disclosures": "disclosures",
}
"""The rates' names with their headings: of matches (deals below the own walk-away value too), infeasible
deals of matches of the infeasible panel, faulty turns of own turns, disclosures of own messages."""
_ONLY_SOME = frozenset({"surplus_share", "frontier_distance", "tokens", "cost", "latency"})


@dataclass(frozen=True)
class Secondary:
    """One agent's secondary measures."""

    agent: str
    version: str
    self_play: tuple[str, ...]
    """Opponents of this very version, as they are named opposite."""
    open: MeasuresPanel
    held_out: MeasuresPanel | None
    """None where the design holds no domain out."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `arena standings --measures --json` prints it."""
        return {
            "agent": self.agent,
            "version": self.version,
            "self_play": list(self.self_play),
            "open": self.open.to_json(),
            "held_out": None if self.held_out is None else self.held_out.to_json(),
        }


def secondary(results: Results, role: Role = Role.SELLER) -> list[Secondary]:
    """Return the secondary measures of every agent of `role`, in the design's order."""
    columns, held_D = _Columns(results, role), results.held_D
    own, other = columns.seen.own, columns.seen.other
    found = []
    for arm, player in enumerate(own.players):
        same = tuple(
            name for name, is_it in zip(other.names, columns.same_A_O[arm], strict=True) if is_it
        )
        panel = _panel(columns, arm, results.open_D)
        apart = _panel(columns, arm, held_D) if held_D.any() else None
        found.append(Secondary(own.names[arm], player.version, same, panel, apart))
    return found


class _Columns:
    """A design's matches as the agents of one role see them, with their measures as columns."""

    def __init__(self, results: Results, role: Role) -> None:
        self.results, self.seen = results, results.seen_by(role)
        self.own = self.seen.own.place
        self.table, self.infeasible = (tabulate(results, role, feasible) for feasible in (True, False))
        players, opponents = self.seen.own.players, self.seen.other.players
        self.same_A_O = np.array([[a.version == o.version for o in opponents] for a in players])
        utility_M_R = np.stack([results.seller_utility_M, results.buyer_utility_M], axis=1)
        # In whole points, so that a sum of gains of nothing is exactly nothing.
        points_M_R = np.rint(utility_M_R * SCALE).astype(np.int64)
        gain_M_R = points_M_R - results.measures_M["walk_away"]
        self.below_M: BoolArray = results.deal_M & (gain_M_R[:, self.own] < 0)
        self.amounts = self._amounts(gain_M_R)

    def _amounts(self, gain_M_R: NDArray[np.int64]) -> dict[str, FloatArray]:
        """Return the measures by match, NaN where there is no value."""
        results, measures_M = self.results, self.results.measures_M
        both_M, most_M = gain_M_R.sum(axis=1), measures_M["surplus"].astype(np.int64)
        advantage_M_R = advantage(results)
        return {
            "advantage": advantage_M_R[:, self.own],
            "surplus_share": _ratio(gain_M_R[:, self.own], both_M),
            "welfare": welfare(results),
            "welfare_advantage": advantage_M_R.mean(axis=1),
            "surplus_efficiency": _ratio(both_M, most_M),
            "frontier_distance": measures_M["distance"].astype(float),
            "turns": measures_M["turns"][:, self.own].astype(float),
            "tokens": results.tokens_M_R[:, self.own],
            "cost": results.cost_M_R[:, self.own],
            "latency": results.latency_M_R[:, self.own],
        }


def welfare(results: Results) -> FloatArray:
    """Return the mean of both sides' utilities by match (axis M), in [0, 1]."""
    both_M: FloatArray = (results.seller_utility_M + results.buyer_utility_M) / 2
    return both_M


def advantage(results: Results) -> FloatArray:
    """Return each side's advantage, (u - r) / (u_max - r), by match and role (axes M, R).

    u is the side's score and u_max is 1 (utilities are in min-max form). 0 without a deal, and where
    r = 1; at most 1. Negative below the walk-away value: down to -r / (1 - r) for a side that forfeits,
    which scores 0.
    """
    r_M_R = results.measures_M["walk_away"] / SCALE
    u_M_R = np.stack([results.seller_utility_M, results.buyer_utility_M], axis=1)
    room_M_R = 1 - r_M_R
    found_M_R: FloatArray = np.where(
        room_M_R > 0, (u_M_R - r_M_R) / np.where(room_M_R > 0, room_M_R, 1), 0.0
    )
    return found_M_R


def _ratio(part_M: NDArray[np.int64], whole_M: NDArray[np.int64]) -> FloatArray:
    """Return part / whole where the whole is above 0, else NaN."""
    ratio_M: FloatArray = np.where(whole_M > 0, part_M / np.where(whole_M > 0, whole_M, 1), np.nan)
    return ratio_M


def _panel(columns: _Columns, arm: int, in_score_D: BoolArray) -> MeasuresPanel:
    matches = int(in_score_D[columns.table.of(arm).domain_M].sum())
    return MeasuresPanel(
        matches=matches,
        planned=int(columns.seen.planned_A_O_D[arm][:, in_score_D].sum()),
        void=int(columns.seen.void_A_O_D[arm][:, in_score_D].sum()),
        means=dict(_means(columns, arm, in_score_D, matches)),
        rates=_rates(columns, arm, in_score_D),
        faults=_faults(columns, arm, in_score_D),
    )


def _means(
    columns: _Columns, arm: int, in_score_D: BoolArray, matches: int
) -> Iterator[tuple[str, Mean]]:
    def counted(found: Estimate) -> Mean:
        return Mean(found, matches - found.cells)

    yield from ((name, counted(found)) for name, found in _scores(columns, arm, in_score_D))
    weight_O_D = score_weights(columns.same_A_O.shape[1], in_score_D)
    for name, amount_M in columns.amounts.items():
        if name in _ONLY_SOME:
            found = conduct.known_mean(columns.table, arm, amount_M, in_score_D)
        else:
            found = estimate(conduct.known(columns.table.of(arm, amount_M)), weight_O_D)
        yield name, counted(found)


def _scores(columns: _Columns, arm: int, in_score_D: BoolArray) -> Iterator[tuple[str, Estimate]]:
    """Yield the score over all matches and over parts of them."""
    table, same_O = columns.table, columns.same_A_O[arm]
    weight_O_D = score_weights(len(same_O), in_score_D)
    yield "score", estimate(table.of(arm), weight_O_D)
    score_M = np.where(columns.results.deal_M, table.score_M, np.nan)
    yield "score_over_deals", conduct.known_mean(table, arm, score_M, in_score_D)
    yield "score_without_opponents_forfeits", conduct.held(table, arm, len(same_O), in_score_D)
    for role, opened in conduct.by_opener(table, arm, len(same_O), in_score_D).items():
        yield f"score_{role.value}_opens", opened
    if same_O.any():
        for name, chosen_O in (("without", ~same_O), ("in", same_O)):
            weights = weight_O_D * chosen_O[:, None] * len(same_O) / max(int(chosen_O.sum()), 1)
            yield f"score_{name}_self_play", estimate(table.of(arm), weights)


def _rates(columns: _Columns, arm: int, in_score_D: BoolArray) -> dict[str, Rate]:
    results, table, own = columns.results, columns.table, columns.seen.own

    def of_matches(hits_M: BoolArray) -> Rate:
        return rate(table.of(arm, hits_M), in_score_D=in_score_D)

    return {
        "deals": conduct.deals(results, table, arm, in_score_D),
        "below_walk_away": of_matches(columns.below_M),
        "infeasible_deals": conduct.deals(results, columns.infeasible, arm, in_score_D),
        "forfeits": of_matches(own.forfeits_M),
        "opponents_forfeits": of_matches(columns.seen.other.forfeits_M),
        "faulty_turns": conduct.faulty_turns(results, table, arm, own.role, in_score_D),
        "disclosures": conduct.disclosures(results, table, arm, own.role, in_score_D),
    }


def _faults(columns: _Columns, arm: int, in_score_D: BoolArray) -> dict[str, int]:
    results = columns.results
    own_M = (columns.seen.own.player_M == arm) & results.feasible_M & in_score_D[results.domain_M]
    count_F = results.measures_M["faults"][own_M, columns.own].sum(axis=0, dtype=np.int64)
    found = {fault.value: int(count) for fault, count in zip(FAULTS, count_F, strict=True) if count}
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))
