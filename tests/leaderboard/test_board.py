"""The board: names, completeness, ranks and the figures that `standings --json` prints."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from leaderboard.board import board
from leaderboard.inference.cells import tabulate
from scenarios.scenario import Role
from tests.leaderboard.synthetic import choose, design, play_all

ROW_KEYS = {
    "agent", "version", "role", "design", "score", "low", "high", "df", "clusters", "matches",
    "planned", "void", "complete", "rank_low", "rank_high", "deal_rate", "by_buyer", "held_out",
}  # fmt: skip
SCORE_KEYS = {"score", "low", "high", "clusters", "matches"}


@pytest.fixture
def full():
    return play_all(design(scenarios=16), np.random.default_rng(1), {"a": 0.3, "b": 0.7, "c": 0.5})


def test_rows_have_the_contract_and_stand_by_score(full):
    rows = board(full).to_json()
    assert [row["agent"] for row in rows] == ["b", "c", "a"]
    for row in rows:
        assert row.keys() == ROW_KEYS
        assert row["by_buyer"].keys() == {"x", "y"}
        assert row["held_out"].keys() == SCORE_KEYS | {"by_buyer"}
        for score in (*row["by_buyer"].values(), *row["held_out"]["by_buyer"].values()):
            assert score.keys() == SCORE_KEYS
        assert row["low"] < row["score"] < row["high"]
        assert (row["matches"], row["planned"], row["void"], row["complete"]) == (96, 96, 0, True)
        assert (row["clusters"], row["df"]) == (32, 30)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_the_score_is_the_mean_of_the_scores_by_buyer_over_open_domains(full):
    row = board(full).to_json()[0]
    mine = (full.seller_M == 1) & (full.domain_M < 2)
    assert row["score"] == pytest.approx(full.seller_utility_M[mine].mean(), abs=1e-12)
    by_buyer = [score["score"] for score in row["by_buyer"].values()]
    assert row["score"] == pytest.approx(sum(by_buyer) / 2, abs=1e-12)
    held = (full.seller_M == 1) & (full.domain_M == 2)
    assert row["held_out"]["score"] == pytest.approx(full.seller_utility_M[held].mean(), abs=1e-12)
    assert row["deal_rate"] == pytest.approx(full.deal_M[mine].mean(), abs=1e-12)


def test_buyers_have_the_mirror_image(full):
    rows = board(full, Role.BUYER).to_json()
    assert {row["agent"] for row in rows} == {"x", "y"}
    for row in rows:
        assert row["role"] == "buyer"
        assert row["by_buyer"].keys() == {"a", "b", "c"}
        mine = (full.buyer_M == "xy".index(row["agent"])) & (full.domain_M < 2)
        assert row["score"] == pytest.approx(full.buyer_utility_M[mine].mean(), abs=1e-12)


def test_order_of_rows_changes_nothing_at_all(full):
    order = np.random.default_rng(2).permutation(len(full.seller_M))
    assert board(choose(full, order)).to_json() == board(full).to_json()


def test_two_versions_of_a_name_are_told_apart():
    plan = design(sellers=("a@1", "a@2", "b"), buyers=("b", "y"), scenarios=4)
    rows = board(play_all(plan, np.random.default_rng(3))).rows
    assert {row.agent for row in rows} == {"a@a@1", "a@a@2", "b"}
    assert {row.agent: row.self_play for row in rows}["b"] == {"b"}
    assert {row.agent: row.self_play for row in rows}["a@a@1"] == frozenset()


def test_no_held_out_domain_is_null():
    plan = design(held_out=0, scenarios=4)
    assert all(
        row["held_out"] is None for row in board(play_all(plan, np.random.default_rng(4))).to_json()
    )


def test_only_held_out_domains_leave_the_score_undefined():
    plan = design(domains=1, held_out=1, scenarios=8)
    row = board(play_all(plan, np.random.default_rng(4))).to_json()[0]
    assert (row["score"], row["rank_low"], row["deal_rate"]) == (None, None, None)
    assert row["held_out"]["score"] is not None


def test_above_two_percent_missing_is_unranked_and_below_the_line():
    plan = design(scenarios=50)
    full = play_all(plan, np.random.default_rng(5), {"a": 0.9, "b": 0.5, "c": 0.2})
    mine = np.flatnonzero((full.seller_M == 0) & (full.domain_M < 2))
    for missing, ranked in ((0, True), (4, True), (5, False)):
        results = choose(full, np.delete(np.arange(len(full.seller_M)), mine[:missing]))
        found = board(results)
        row = found.by_agent["a"]
        assert (row.rank is not None) == ranked
        assert row.complete == (missing == 0)
        assert row.open_missing == missing
        assert found.rows[0 if ranked else -1] is row
        # The others' places are among the ranked.
        assert found.by_agent["b"].rank.low == (2 if ranked else 1)


def test_missing_matches_widen_the_bounds():
    full = play_all(design(scenarios=50), np.random.default_rng(6))
    mine = np.flatnonzero((full.seller_M == 0) & (full.domain_M == 0))
    row = board(choose(full, np.delete(np.arange(len(full.seller_M)), mine[:3]))).by_agent["a"]
    low, high = row.bounds
    assert low < row.open.pooled.value < high
    assert high - low == pytest.approx(3 / 50 / 4)


def test_the_infeasible_panel_is_in_no_figure_but_its_own():
    full = play_all(design(scenarios=8), np.random.default_rng(7))
    extra = choose(full, np.arange(6))
    mixed = replace(
        full,
        **{
            name: np.concatenate([getattr(full, name), getattr(extra, name)])
            for name in vars(full)
            if name.endswith("_M")
        },
    )
    mixed.feasible_M[-6:] = False
    mixed.seller_utility_M[-6:] = 1.0
    mixed.deal_M[-6:] = [True, False, True, False, False, False]
    assert board(mixed).to_json() == board(full).to_json()
    assert board(mixed).infeasible == (6, 2)


@pytest.mark.parametrize("count", [0, 1])
def test_a_board_stands_before_anything_is_played(count):
    full = play_all(design(scenarios=8), np.random.default_rng(8))
    for role in Role:
        rows = board(choose(full, np.arange(count)), role).to_json()
        assert len(rows) == (3 if role is Role.SELLER else 2)
        assert sum(row["matches"] for row in rows) == count
        assert all(row["score"] is None and row["rank_low"] is None for row in rows)
        json.dumps(rows, allow_nan=False)


def test_a_result_counted_twice_is_an_error(full):
    twice = choose(full, np.append(np.arange(len(full.seller_M)), 0))
    with pytest.raises(ValueError, match="counted twice"):
        board(twice)


def test_one_replicate_of_a_deterministic_pair_is_compared_with_each_of_a_stochastic_one():
    plan = design(sellers=("a", "b"), stochastic=("b",), scenarios=12, replicates=3)
    results = play_all(plan, np.random.default_rng(9))
    found = board(results)
    assert found.by_agent["a"].planned * 3 == found.by_agent["b"].planned
    contrast = tabulate(results, Role.SELLER).difference(0, 1)
    assert len(contrast.y_M) == found.by_agent["b"].planned
    mean = math.fsum(contrast.y_M[contrast.domain_M < 2]) / (contrast.domain_M < 2).sum()
    scores = {row.agent: row.open.pooled.value for row in found.rows}
    assert mean == pytest.approx(scores["a"] - scores["b"], abs=1e-12)


def test_scores_by_opener_are_those_of_the_matches_that_a_side_opened(full):
    for role, utility in ((Role.SELLER, full.seller_utility_M), (Role.BUYER, full.buyer_utility_M)):
        arm_M = full.seller_M if role is Role.SELLER else full.buyer_M
        for row in board(full, role).rows:
            for opener in Role:
                mine = (arm_M == "abcxy".index(row.agent) % 3) & (full.domain_M < 2)
                mine &= full.seller_opens_M == (opener is Role.SELLER)
                found = row.conduct.by_opener[opener]
                assert found.value == pytest.approx(utility[mine].mean(), abs=1e-12)
                assert (found.cells, found.clusters) == (mine.sum(), 16)


def test_forfeits_and_faulty_answers_are_counted_on_the_side_whose_they_are(full):
    """b's buyer x forfeits on two scenarios of domain 0; seller a gives three faulty answers."""
    lost = (full.seller_M == 1) & (full.buyer_M == 0) & np.isin(full.scenario_M, [3, 5])
    faults = np.where((full.seller_M == 0) & (full.scenario_M == 7) & (full.buyer_M == 1), 3, 0)
    found = replace(full, buyer_forfeits_M=lost, seller_faults_M=faults)
    sellers, buyers = board(found).by_agent, board(found, Role.BUYER).by_agent
    counts = {
        name: (row.conduct.faults, row.conduct.forfeits, row.conduct.opponents_forfeits)
        for name, row in (sellers | buyers).items()
    }
    none = (0, 0, 0)
    assert counts == {"a": (3, 0, 0), "b": (0, 0, 2), "c": none, "x": (0, 2, 0), "y": none}
    kept = (full.seller_M == 1) & (full.domain_M < 2) & ~lost
    means = [
        full.seller_utility_M[kept & (full.buyer_M == b) & (full.domain_M == d)].mean()
        for b in range(2)
        for d in range(2)
    ]
    assert sellers["b"].conduct.held.value == pytest.approx(sum(means) / 4, abs=1e-12)
    assert sellers["b"].open.pooled.value != sellers["b"].conduct.held.value


def test_an_opponent_that_always_forfeits_is_left_out_of_the_score_without_forfeits(full):
    found = replace(full, buyer_forfeits_M=full.buyer_M == 0)
    row = board(found).by_agent["b"]
    kept = (full.seller_M == 1) & (full.buyer_M == 1) & (full.domain_M < 2)
    assert row.conduct.held.value == pytest.approx(full.seller_utility_M[kept].mean(), abs=1e-12)
    everyone = replace(full, buyer_forfeits_M=np.ones(len(full.buyer_M), bool))
    assert board(everyone).by_agent["b"].conduct.held.value is None
