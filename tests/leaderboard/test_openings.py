"""Openings: what first turns name and ask for, and how far deals fall from them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from arena.measures import NONE
from leaderboard.inference.openings import openings
from scenarios.scenario import Role
from tests.leaderboard import synthetic
from tests.leaderboard.planted import plan, world


def opened(results, named_M, worth_M, named_worth_M=None, side=0):
    """Return the results with these first turns of one side: terms named, and what they would score."""
    measures_M = results.measures_M.copy()
    measures_M["opening_terms"][:, side] = named_M
    measures_M["opening"][:, side] = np.where(named_M > 0, np.round(worth_M * 10_000), NONE)
    part_M = worth_M if named_worth_M is None else named_worth_M
    measures_M["opening_named"][:, side] = np.where(named_M > 0, np.round(part_M * 10_000), NONE)
    return replace(results, measures_M=measures_M)


def planted(seed=3):
    results = world(plan(sellers=("arm", "base"), domains=2, scenarios=40), {}, seed)
    rng = np.random.default_rng(seed)
    matches = len(results.seller_M)
    named_M = np.where(rng.random(matches) < 0.7, rng.integers(1, 10, matches), 0)
    named_M = np.where(rng.random(matches) < 0.1, NONE, named_M)
    return opened(results, named_M, rng.uniform(0.5, 1, matches), rng.uniform(0, 0.5, matches))


def test_every_figure_is_recomputed_match_by_match():
    results = planted()
    arm = openings(results)[0]
    own_M = (results.seller_M == 0) & (results.domain_M == 0)
    count_M, measures_M = results.measures_M["opening_terms"][:, 0], results.measures_M
    turned_M, proposed_M = own_M & (count_M != NONE), own_M & (count_M > 0)
    assert (arm.named.n, arm.named.value) == (
        turned_M.sum(), pytest.approx(proposed_M.sum() / turned_M.sum())
    )  # fmt: skip
    assert arm.terms_named.value == pytest.approx(count_M[proposed_M].mean())
    assert arm.terms.value == 9
    assert arm.share_named.value == pytest.approx(count_M[proposed_M].mean() / 9)
    assert arm.accepted.value == pytest.approx(measures_M["opening"][proposed_M, 0].mean() / 10_000)
    named = measures_M["opening_named"][proposed_M, 0].mean() / 10_000
    assert arm.accepted_named.value == pytest.approx(named)
    both_M = proposed_M & results.deal_M
    fall_M = measures_M["opening"][:, 0] / 10_000 - results.seller_utility_M
    assert (arm.fall.cells, arm.fall.value) == (both_M.sum(), pytest.approx(fall_M[both_M].mean()))


def test_the_interval_of_a_fall_is_clustered():
    results = planted()
    fall = openings(results)[0].fall
    count_M = results.measures_M["opening_terms"][:, 0]
    rows = np.flatnonzero(
        (results.seller_M == 0) & (results.domain_M == 0) & (count_M > 0) & results.deal_M
    )
    fall_M = results.measures_M["opening"][rows, 0] / 10_000 - results.seller_utility_M[rows]
    psi_G = np.bincount(results.scenario_M[rows], (fall_M - fall_M.mean()) / len(rows))
    groups = len(np.unique(results.scenario_M[rows]))
    half = stats.t.ppf(0.975, groups - 1) * np.sqrt(groups / (groups - 1) * (psi_G**2).sum())
    assert fall.interval() == pytest.approx((fall_M.mean() - half, fall_M.mean() + half))


def test_buyers_openings_are_their_own():
    results = planted()
    buyers = openings(
        opened(results, np.full(len(results.seller_M), 3), np.full(len(results.seller_M), 0.8), side=1),
        Role.BUYER,
    )
    assert [(one.agent, one.named.value, one.accepted.value) for one in buyers] == [
        ("x", 1.0, pytest.approx(0.8)),
        ("y", 1.0, pytest.approx(0.8)),
    ]
    assert buyers[0].fall.value == pytest.approx(
        0.8
        - results.buyer_utility_M[
            (results.buyer_M == 0) & (results.domain_M == 0) & results.deal_M
        ].mean()
    )


def test_one_who_never_proposes_first_has_a_rate_and_no_means():
    results = world(plan(), {})
    quiet = opened(results, np.zeros(len(results.seller_M)), np.zeros(len(results.seller_M)))
    arm = openings(quiet)[0]
    assert (arm.named.value, arm.accepted.value, arm.fall.value) == (0.0, None, None)
    assert arm.to_json()["status"] == "post hoc"


@pytest.mark.parametrize("case", ["equal", "one match", "no buyer y", "nothing"])
def test_thin_results_break_nothing(case):
    results = planted()
    rows = np.arange(len(results.seller_M))
    if case == "equal":
        results = opened(results, np.full(len(rows), 4), np.full(len(rows), 0.7))
    elif case == "one match":
        results = synthetic.choose(results, (results.seller_M == 1) | (rows == 0))
    elif case == "no buyer y":
        results = synthetic.choose(results, results.buyer_M == 0)
    else:
        results = synthetic.choose(results, rows < 0)
    arm = openings(results)[0]
    json.dumps(arm.to_json(), allow_nan=False)
    if case == "equal":
        assert (arm.accepted.interval(), arm.accepted.problem) == (None, "all equal, n = 80")
    elif case == "nothing":
        assert arm.named.value is None
    elif case == "one match":
        assert arm.named.low is None
