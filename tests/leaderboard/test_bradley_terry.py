"""Bradley-Terry: an outside worked example, properties, and edges that must stay finite or refuse."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from arena.errors import UserError
from leaderboard.inference.bradley_terry import (
    Comparisons,
    Disconnected,
    bradley_terry,
    comparisons,
    fit,
    log_strengths,
    win_matrix,
)
from leaderboard.inference.cells import tabulate
from scenarios.scenario import Role
from tests.leaderboard.synthetic import choose, design, play_all

ALL_OPEN = np.array([True, True, False])


def made_of(wins: dict[str, int], arms: int, clusters: int = 10) -> Comparisons:
    """Return comparisons with `wins` such as {"AB": 2}: A beat B twice; clusters take turns."""
    pairs = [
        (ord(pair[0]) - 65, ord(pair[1]) - 65) for pair, count in wins.items() for _ in range(count)
    ]
    first_K, second_K = np.array(pairs).T
    cluster_K = np.arange(len(pairs)) % clusters
    return Comparisons(arms, first_K, second_K, np.ones(len(pairs)), cluster_K, np.zeros_like(cluster_K))


def test_wikipedias_worked_example() -> None:
    wins = {"AB": 2, "AD": 1, "BA": 3, "BC": 5, "CB": 3, "CD": 1, "DA": 4, "DC": 3}
    found = fit(made_of(wins, 4))
    assert [round(s, 3) for s in np.exp(found.theta_A).tolist()] == [0.640, 1.043, 0.660, 2.270]
    assert not found.drawn
    assert found.determined_A.all()


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), arms=st.integers(2, 8))
def test_no_other_strengths_have_a_larger_likelihood(seed, arms) -> None:
    rng = np.random.default_rng(seed)
    wins_A_A = rng.integers(1, 30, (arms, arms)) + rng.integers(0, 2, (arms, arms)) / 2
    np.fill_diagonal(wins_A_A, 0)

    def loss(theta_A) -> float:
        return float((wins_A_A * np.log1p(np.exp(theta_A - theta_A[:, None]))).sum())

    found = log_strengths(wins_A_A)
    best = minimize(loss, np.zeros(arms), method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(found, best - best.mean(), atol=1e-5)
    assert loss(found) <= loss(best) + 1e-9
    assert abs(found.mean()) < 1e-12


def test_a_lopsided_matrix_converges() -> None:
    wins_A_A = np.array([[0, 1e6, 0], [1, 0, 1e6], [0, 1, 0]])
    theta_A = log_strengths(wins_A_A)
    np.testing.assert_allclose(np.diff(theta_A), -np.log(1e6), rtol=1e-9)


def test_a_win_is_the_higher_score_on_the_same_cell_and_equal_scores_are_halves() -> None:
    results = play_all(design(scenarios=4), np.random.default_rng(0))
    coarse = replace(results, seller_utility_M=np.round(results.seller_utility_M, 1))
    wins_A_A = win_matrix(comparisons(tabulate(coarse, Role.SELLER), [0, 1, 2], ALL_OPEN))
    cells: dict = {}
    for m in range(len(coarse.seller_M)):
        if coarse.domain_M[m] < 2:
            cell = (int(coarse.buyer_M[m]), int(coarse.scenario_M[m]))
            cells.setdefault(cell, {})[int(coarse.seller_M[m])] = coarse.seller_utility_M[m]
    by_hand = np.zeros((3, 3))
    for scores in cells.values():
        for one in scores:
            for other in scores:
                if one != other:
                    lead = scores[one] - scores[other]
                    by_hand[one, other] += 1.0 if lead > 0 else 0.5 if lead == 0 else 0.0
    np.testing.assert_array_equal(wins_A_A, by_hand)
    assert (wins_A_A % 1 == 0.5).any()
    assert (wins_A_A + wins_A_A.T)[0, 1] == 2 * 2 * 4


def test_a_deterministic_pair_stands_for_each_replicate_of_a_stochastic_one() -> None:
    plan = design(("a", "b", "c"), scenarios=4, replicates=3, stochastic=("c",))
    table = tabulate(play_all(plan, np.random.default_rng(0)), Role.SELLER)
    wins_A_A = win_matrix(comparisons(table, [0, 1, 2], ALL_OPEN))
    played_A_A = wins_A_A + wins_A_A.T
    cells = 2 * 2 * 4
    assert (played_A_A[0, 1], played_A_A[0, 2], played_A_A[1, 2]) == (cells, 3 * cells, 3 * cells)
    assert len(table.difference(0, 2).y_M[:]) == 3 * 2 * 3 * 4


def test_errors_are_those_of_a_sandwich_computed_match_by_match() -> None:
    rng = np.random.default_rng(3)
    count, arms, clusters = 400, 4, 30
    first_K = rng.integers(0, arms, count)
    second_K = (first_K + rng.integers(1, arms, count)) % arms
    won_K = rng.choice([0, 0.5, 1], count)
    cluster_K = rng.integers(0, clusters, count)
    found = fit(Comparisons(arms, first_K, second_K, won_K, cluster_K, cluster_K % 3))
    hessian, psi = np.zeros((arms, arms)), np.zeros((clusters, arms))
    for k in range(count):
        unit = np.zeros(arms)
        unit[first_K[k]], unit[second_K[k]] = 1, -1
        p = 1 / (1 + np.exp(-(unit @ found.theta_A)))
        hessian += p * (1 - p) * np.outer(unit, unit)
        psi[cluster_K[k]] += (won_K[k] - p) * unit
    middle = np.zeros((arms, arms))
    for domain in range(3):
        own = psi[domain::3]
        middle += np.cov(own.T, ddof=1) * len(own)
    bread = np.linalg.pinv(hessian)
    np.testing.assert_allclose(found.se_A, np.sqrt(np.diag(bread @ middle @ bread)), rtol=1e-8)
    assert found.df == clusters - 3


def test_whole_scenarios_that_fall_together_widen_the_intervals() -> None:
    wins = {"AB": 60, "BA": 40, "BC": 55, "CB": 45, "AC": 70, "CA": 30}
    loose = made_of(wins, 3, clusters=300)
    tight = replace(loose, cluster_K=np.arange(300) // 10)
    assert np.all(fit(tight).se_A > 1.5 * fit(loose).se_A)


def test_an_arm_without_a_win_stays_finite_and_is_marked() -> None:
    results = play_all(design(scenarios=16), np.random.default_rng(1))
    results.seller_utility_M[results.seller_M == 2] = 0
    last = bradley_terry(results)[-1]
    assert (last.agent, last.wins, last.determined) == ("c", 0, False)
    assert last.strength is not None
    assert 0 < last.strength < 0.1
    assert last.low is None
    assert last.problem == "wins do not settle it: a drawn comparison a pair was added (ours)"


def test_those_whom_wins_settle_keep_their_strengths_beside_one_without_a_win() -> None:
    results = play_all(design(("a", "b", "c", "d"), scenarios=32), np.random.default_rng(1))
    results.seller_utility_M[results.seller_M == 3] = 0
    beside = {one.agent: one for one in bradley_terry(results)}
    without = {one.agent: one for one in bradley_terry(choose(results, results.seller_M != 3))}
    for name in "abc":
        assert beside[name].determined
        assert beside[name].strength == pytest.approx(without[name].strength, rel=0.02)
        assert beside[name].low == pytest.approx(without[name].low, rel=0.03)
    assert np.prod([beside[name].strength for name in "abc"]) == pytest.approx(1)


def test_a_strict_order_is_finite_with_no_interval_for_anyone() -> None:
    found = fit(made_of({"AB": 9, "BC": 9, "AC": 9}, 3))
    assert found.drawn
    assert not found.determined_A.any()
    assert np.isfinite(found.theta_A).all()
    assert np.all(np.diff(found.theta_A) < 0)
    assert np.isnan(found.se_A).all()


def test_nothing_is_added_where_the_likelihood_has_a_maximum() -> None:
    compared = made_of({"AB": 99, "BA": 1}, 2)
    found = fit(compared)
    assert not found.drawn
    assert found.theta_A[0] - found.theta_A[1] == pytest.approx(np.log(99))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), lost=st.booleans())
def test_renaming_arms_and_shuffling_rows_change_nothing(seed, lost) -> None:
    rng = np.random.default_rng(seed)
    results = play_all(design(("a", "b", "c", "d"), scenarios=6), rng)
    if lost:
        results.seller_utility_M[results.seller_M == 1] = 0
    order = rng.permutation(4)
    position = np.argsort(order)
    plan = results.design
    renamed = plan.model_copy(update={"sellers": tuple(plan.sellers[arm] for arm in order)})
    moved = choose(
        replace(results, design=renamed, seller_M=position[results.seller_M]),
        rng.permutation(len(results.seller_M)),
    )
    before = {one.agent: one for one in bradley_terry(results)}
    after = {one.agent: one for one in bradley_terry(moved)}
    for name, one in before.items():
        other = after[name]
        assert one.strength == pytest.approx(other.strength, rel=1e-9)
        assert (one.wins, one.ties, one.losses) == (other.wins, other.ties, other.losses)
        assert one.low == (None if other.low is None else pytest.approx(other.low, rel=1e-8))


def test_groups_that_were_never_compared_are_refused_by_name() -> None:
    results = play_all(design(("a", "b", "c", "d"), scenarios=6), np.random.default_rng(0))
    apart = choose(results, (results.seller_M < 2) == (results.buyer_M == 0))
    with pytest.raises(Disconnected, match="even through others: a, b; c, d"):
        bradley_terry(apart)
    assert issubclass(Disconnected, UserError)
    assert issubclass(Disconnected, ValueError)


def test_groups_joined_through_a_third_arm_are_compared() -> None:
    results = play_all(design(("a", "b", "c"), scenarios=6), np.random.default_rng(0))
    first_half = results.buyer_M == 0
    keep = np.select([results.seller_M == 0, results.seller_M == 1], [first_half, ~first_half], True)
    found = bradley_terry(choose(results, keep))
    assert all(one.strength is not None for one in found)


def test_an_arm_without_a_match_stands_last_and_one_alone_has_no_interval() -> None:
    results = play_all(design(scenarios=8), np.random.default_rng(0))
    found = bradley_terry(choose(results, results.seller_M != 0))
    assert (found[-1].agent, found[-1].strength, found[-1].problem) == ("a", None, "no match yet")
    (one, *_) = bradley_terry(choose(results, results.seller_M == 0))
    assert (one.strength, one.low, one.problem) == (1.0, None, "nobody to be compared with")
    assert bradley_terry(choose(results, results.seller_M < 0))[0].strength is None


def test_buyers_and_held_out_domains_have_strengths_of_their_own() -> None:
    rng = np.random.default_rng(2)
    results = play_all(design(scenarios=32), rng, skill={"a": 0.9, "b": 0.5, "c": 0.5})
    buyers = bradley_terry(results, Role.BUYER)
    assert {one.agent for one in buyers} == {"x", "y"}
    assert buyers[0].wins + buyers[0].ties + buyers[0].losses == 3 * 2 * 32
    held_out = bradley_terry(results, held_out=True)
    assert held_out[0].agent == "a"
    assert held_out[0].wins + held_out[0].ties + held_out[0].losses == 2 * 2 * 32
    assert held_out[0].low < held_out[0].strength < held_out[0].high


def test_a_rating_of_four_hundred_points_more_is_odds_of_ten_to_one() -> None:
    found = fit(made_of({"AB": 100, "BA": 10}, 2))
    results = play_all(design(scenarios=8), np.random.default_rng(0))
    one = replace(bradley_terry(results)[0], strength=float(np.exp(found.theta_A[0])))
    other = replace(one, strength=float(np.exp(found.theta_A[1])))
    assert one.rating - other.rating == pytest.approx(400)
    assert one.rating + other.rating == pytest.approx(2000)
