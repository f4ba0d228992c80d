"""Secondary measures, recomputed in plain Python from a real tournament's scenarios and transcripts."""

import json
from dataclasses import replace
from math import dist, nan
from statistics import mean

import numpy as np
import pytest

from arena.measures import FAULTS
from arena.store import Filter, Store
from leaderboard.board import board
from leaderboard.inference.rates import rate
from leaderboard.inference.secondary import MEANS, RATES, Secondary, secondary
from scenarios.frontier import frontier
from scenarios.scenario import Role
from tests.leaderboard.lawful import lawful
from tests.leaderboard.synthetic import choose, design, play_all
from tests.leaderboard.tournament import make_design, play_into

SELLERS, BUYERS = ("logroller", "boulware", "random"), ("conceder", "boulware", "linear")
AS_SCORE = ("advantage", "welfare", "welfare_advantage", "surplus_efficiency", "turns")
OF_SOME = ("surplus_share", "frontier_distance")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a tournament's results and its matches as plain dictionaries."""
    database = tmp_path_factory.mktemp("secondary") / "a.db"
    plan = make_design(SELLERS, BUYERS, scenarios=6, infeasible=3)
    play_into(database, plan)
    with Store.open(str(database)) as store:
        matches = store.matches(Filter(design=plan))
        scenarios = store.scenarios({match.scenario_key for match in matches})
        names = {player.version: player.name for player in plan.players()}
        held_out = {domain.name for domain in plan.domains if domain.held_out}
        rows = []
        for match in matches:
            row = measured(match, scenarios[match.scenario_key], store.turns(match))
            row |= {"seller": names[match.seller_version], "buyer": names[match.buyer_version]}
            rows.append(row | {"held_out": match.domain in held_out})
        return store.results(plan), rows


def measured(match, scenario, turns) -> dict:
    """Measure one match by the definitions alone."""
    r = (scenario.seller.walk_away, scenario.buyer.walk_away)
    deal = None if match.deal is None else json.loads(match.deal)
    if deal is None:
        u, away = r, nan
    else:
        u = (scenario.seller.utility(deal), scenario.buyer.utility(deal))
        points = frontier(scenario)
        best = zip(points.seller_F / 10_000, points.buyer_F / 10_000, strict=True)
        away = min(dist(u, point) for point in best)
    points = frontier(scenario)
    ends = [
        s + b - scenario.seller.walk_away_points - scenario.buyer.walk_away_points
        for s, b in zip(points.seller_F.tolist(), points.buyer_F.tolist(), strict=True)
        if s >= scenario.seller.walk_away_points and b >= scenario.buyer.walk_away_points
    ]
    total = u[0] + u[1] - r[0] - r[1]
    both = [(u[j] - r[j]) / (1 - r[j]) for j in (0, 1)]
    return {
        "domain": match.domain,
        "feasible": match.feasible,
        "opener": match.opener,
        "deal": deal is not None,
        "score": u,
        "below": [deal is not None and u[j] < r[j] for j in (0, 1)],
        "advantage": both,
        "welfare": [(u[0] + u[1]) / 2] * 2,
        "welfare_advantage": [(both[0] + both[1]) / 2] * 2,
        "surplus_share": [(u[j] - r[j]) / total if total > 1e-9 else nan for j in (0, 1)],
        "surplus_efficiency": [total * 10_000 / max(ends) if ends else nan] * 2,
        "frontier_distance": [away] * 2,
        "turns": [sum(turn.role is role for turn in turns) for role in Role],
    }


def as_score(rows, opponent: str, figure) -> float:
    """Return the mean over opponents of the mean over domains of the mean over matches."""
    by_opponent = []
    for other in sorted({row[opponent] for row in rows}):
        theirs = [row for row in rows if row[opponent] == other]
        domains = sorted({row["domain"] for row in theirs})
        by_opponent.append(
            mean(mean(figure(row) for row in theirs if row["domain"] == domain) for domain in domains)
        )
    return mean(by_opponent)


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("role", Role)
def test_every_measure_is_recomputed_from_scenarios_and_transcripts(played, role, held_out) -> None:
    results, everything = played
    place, opponent = list(Role).index(role), role.other.value
    assert [one.agent for one in secondary(results, role)] == list(SELLERS if place == 0 else BUYERS)
    for one in secondary(results, role):
        panel = one.held_out if held_out else one.open
        mine = [r for r in everything if r[role.value] == one.agent and r["held_out"] == held_out]
        rows, hopeless = ([r for r in mine if r["feasible"] is there] for there in (True, False))
        assert panel.matches == panel.planned == len(rows) == 3 * 6 * (1 if held_out else 2)
        means, rates = panel.means, panel.rates
        assert means["score"].estimate.value == pytest.approx(
            as_score(rows, opponent, lambda r: r["score"][place])
        )
        for name in AS_SCORE:
            found = means[name].estimate.value
            assert found == pytest.approx(as_score(rows, opponent, lambda r: r[name][place]), abs=1e-12)  # noqa: B023
            assert means[name].left_out == 0
        for name in OF_SOME:
            known = [r[name][place] for r in rows if r[name][place] == r[name][place]]
            assert means[name].left_out == len(rows) - len(known)
            assert means[name].estimate.value == (
                pytest.approx(mean(known), abs=1e-6) if known else None
            )
        closed = [r["score"][place] for r in rows if r["deal"]]
        found = means["score_over_deals"]
        assert found.estimate.value == (pytest.approx(mean(closed)) if closed else None)
        assert found.left_out == len(rows) - len(closed)
        for opener in Role:
            opened = [r for r in rows if r["opener"] == opener.value]
            by_hand = as_score(opened, opponent, lambda r: r["score"][place])
            assert means[f"score_{opener.value}_opens"].estimate.value == pytest.approx(by_hand)
        assert rates["deals"].value == pytest.approx(len(closed) / len(rows))
        assert rates["below_walk_away"].value == pytest.approx(mean(r["below"][place] for r in rows))
        assert rates["infeasible_deals"].value == pytest.approx(mean(r["deal"] for r in hopeless))
        assert rates["infeasible_deals"].n == len(hopeless) > 0


def test_the_tournament_has_something_of_everything(played) -> None:
    _, rows = played
    feasible = [row for row in rows if row["feasible"]]
    assert 0 < sum(row["deal"] for row in feasible) < len(feasible)
    assert any(row["deal"] for row in rows if not row["feasible"])
    assert any(any(row["below"]) for row in feasible)
    assert any(row["frontier_distance"][0] > 0.01 for row in feasible if row["deal"])


def test_self_play_is_named_and_apart(played) -> None:
    results, everything = played
    for role in Role:
        place = list(Role).index(role)
        for one in secondary(results, role):
            panel = one.open
            if one.agent != "boulware":
                assert one.self_play == ()
                assert "score_in_self_play" not in panel.means
                continue
            assert one.self_play == ("boulware",)
            mine = [
                r
                for r in everything
                if r[role.value] == one.agent and r["feasible"] and not r["held_out"]
            ]
            for name, self_play in (("without", False), ("in", True)):
                rows = [r for r in mine if (r["seller"] == r["buyer"]) is self_play]
                by_hand = as_score(rows, role.other.value, lambda r: r["score"][place])  # noqa: B023
                found = panel.means[f"score_{name}_self_play"]
                assert found.estimate.value == pytest.approx(by_hand)
                assert found.estimate.cells == len(rows)


def of(results, agent: str, role: Role = Role.SELLER) -> Secondary:
    return next(one for one in secondary(results, role) if one.agent == agent)


def test_forfeits_cost_the_one_who_forfeits_and_are_counted_for_both() -> None:
    results = lawful(2, (0.5, 0.2, 0.2, 0.1), scenarios=16)
    here_M = (results.seller_M == 0) & (results.domain_M < 2)
    panel = of(results, "a").open
    assert panel.rates["forfeits"].value == pytest.approx(results.seller_forfeits_M[here_M].mean())
    assert panel.rates["opponents_forfeits"].value == pytest.approx(
        results.buyer_forfeits_M[here_M].mean()
    )
    there_M = (results.buyer_M == 1) & (results.domain_M < 2)
    buyer = of(results, "y", Role.BUYER).open
    assert buyer.rates["forfeits"].value == pytest.approx(results.buyer_forfeits_M[there_M].mean())
    assert buyer.rates["opponents_forfeits"].value == pytest.approx(
        results.seller_forfeits_M[there_M].mean()
    )
    # A forfeit scores 0 against a walk-away value r: an advantage of -r / (1 - r), no surplus to share.
    only = lawful(2, (0, 0, 1, 0), scenarios=16)
    r_M = only.measures_M["walk_away"][:, 0] / 10_000
    own_M = (only.seller_M == 0) & (only.domain_M < 2)
    found = of(only, "a").open
    assert found.means["advantage"].estimate.value == pytest.approx((-r_M / (1 - r_M))[own_M].mean())
    assert found.means["surplus_share"].estimate.value is None
    assert found.means["surplus_share"].left_out == found.matches
    assert found.means["surplus_efficiency"].estimate.value < 0


def test_the_score_without_opponents_forfeits_is_the_boards() -> None:
    results = lawful(3, (0.6, 0.2, 0.0, 0.2), scenarios=12)
    for role in Role:
        for row in board(results, role).rows:
            found = of(results, row.agent, role).open.means["score_without_opponents_forfeits"]
            assert found.estimate.value == row.conduct.held.value
            assert found.left_out == row.conduct.opponents_forfeits
    assert of(results, "a").open.means["score_without_opponents_forfeits"].left_out > 0


def test_faults_are_counted_by_kind_and_by_turn() -> None:
    results = lawful(4, scenarios=16)
    rng = np.random.default_rng(4)
    measures_M = results.measures_M.copy()
    measures_M["turns"] = rng.integers(3, 9, (len(measures_M), 2))
    measures_M["faulty_turns"] = rng.integers(0, 3, (len(measures_M), 2))
    measures_M["faults"][:, 1, 3] = rng.integers(0, 5, len(measures_M))
    measures_M["faults"][:, 1, 7] = 9
    found = of(replace(results, measures_M=measures_M), "x", Role.BUYER).open
    own_M = measures_M[(results.buyer_M == 0) & (results.domain_M < 2)]
    assert found.faults == {
        FAULTS[7].value: 9 * len(own_M),
        FAULTS[3].value: int(own_M["faults"][:, 1, 3].sum()),
    }
    assert next(iter(found.faults)) == FAULTS[7].value
    share = own_M["faulty_turns"][:, 1].sum() / own_M["turns"][:, 1].sum()
    assert found.rates["faulty_turns"].value == pytest.approx(share)
    assert found.rates["faulty_turns"].n == own_M["turns"][:, 1].sum()


def test_tokens_cost_and_latency_are_the_agents_own_where_they_are_known() -> None:
    results = play_all(design(scenarios=8), np.random.default_rng(0))
    known_M = np.arange(len(results.seller_M)) % 3 > 0
    cost_M_R = np.where(known_M[:, None], np.column_stack([np.full(len(known_M), 0.25)] * 2), np.nan)
    cost_M_R[:, 1] = np.where(known_M, np.arange(len(known_M)) / 1000, np.nan)
    found = replace(results, cost_M_R=cost_M_R)
    own_M = (results.buyer_M == 1) & (results.domain_M < 2)
    cost = of(found, "y", Role.BUYER).open.means["cost"]
    assert cost.estimate.value == pytest.approx(cost_M_R[own_M & known_M, 1].mean())
    assert cost.left_out == (own_M & ~known_M).sum()
    seller = of(found, "a").open.means
    assert seller["cost"].estimate.value == 0.25
    assert seller["cost"].estimate.interval() is None, "all equal: no interval of no width"
    assert seller["tokens"].estimate.value is None


def test_an_interval_is_the_statistics_own() -> None:
    results = lawful(6, scenarios=16)
    found = of(results, "b").open
    deals = (results.seller_M == 1) & (results.domain_M < 2)
    from leaderboard.inference.statistic import Cells

    cells = Cells(
        results.deal_M[deals].astype(float),
        results.buyer_M[deals],
        results.domain_M[deals],
        results.scenario_M[deals],
    )
    assert (found.rates["deals"].low, found.rates["deals"].high) == pytest.approx(
        (rate(cells).low, rate(cells).high)
    )
    score = board(results).by_agent["b"].open.pooled
    assert found.means["score"].estimate.interval() == score.interval()


def test_voids_and_missing_matches_are_counted_by_panel() -> None:
    results = lawful(5, scenarios=8)
    void = results.void_S_B_D.copy()
    void[1, 0, 0], void[1, 1, 2] = 3, 5
    kept = choose(replace(results, void_S_B_D=void), np.arange(len(results.seller_M)) % 5 > 0)
    found = of(kept, "b")
    assert (found.open.void, found.held_out.void) == (3, 5)
    assert (found.open.planned, found.held_out.planned) == (32, 16)
    assert found.open.matches == ((kept.seller_M == 1) & (kept.domain_M < 2)).sum()
    buyer = of(kept, "x", Role.BUYER)
    assert (buyer.open.void, buyer.held_out.void) == (3, 0)


def test_an_agent_without_a_match_and_a_design_without_open_domains_crash_nothing() -> None:
    results = lawful(0, scenarios=4)
    none = of(choose(results, results.seller_M != 0), "a").open
    assert none.matches == 0
    assert none.means["score"].estimate.value is None
    assert none.rates["deals"].value is None
    held = lawful(0, scenarios=4, domains=2, held_out=2)
    assert of(held, "a").open.matches == 0
    assert of(held, "a").held_out.matches == 16


def test_renaming_and_shuffling_change_nothing_and_json_is_finite() -> None:
    results = lawful(7, scenarios=8)
    shuffled = choose(results, np.random.default_rng(0).permutation(len(results.seller_M)))
    for before, after in zip(secondary(results), secondary(shuffled), strict=True):
        one, other = (json.loads(json.dumps(s.to_json(), allow_nan=False)) for s in (before, after))
        assert one["open"]["faults"] == other["open"]["faults"]
        for name in one["open"]["means"]:
            first, second = (s["open"]["means"][name]["value"] for s in (one, other))
            assert first == (None if second is None else pytest.approx(second, abs=1e-12))
        assert set(one["open"]["means"]) <= set(MEANS)
        assert set(one["open"]["rates"]) == set(RATES)
