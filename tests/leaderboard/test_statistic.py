"""The statistic against statsmodels, against its definition, and at its edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.inference.statistic import (
    Cells,
    bounds,
    buyer_weights,
    difference,
    estimate,
    mean,
    score_weights,
)

ONE = np.ones((1, 1))


def cells(y, cluster, buyer=None, domain=None) -> Cells:
    zeros = np.zeros(len(y), dtype=np.int64)
    return Cells(
        np.asarray(y, dtype=float),
        zeros if buyer is None else np.asarray(buyer),
        zeros if domain is None else np.asarray(domain),
        np.asarray(cluster),
    )


def random_cells(rng, buyers=2, domains=3, scenarios=12, replicates=2) -> Cells:
    shape = (buyers, domains, scenarios, replicates)
    buyer, domain, scenario, _ = (axis.ravel() for axis in np.indices(shape))
    cluster = domain * scenarios + scenario
    y = rng.normal(0.5, 0.1, len(buyer)) + rng.normal(0, 0.2, domains * scenarios)[cluster]
    return cells(y, cluster, buyer, domain)


def take(full: Cells, rows) -> Cells:
    return Cells(full.y_M[rows], full.buyer_M[rows], full.domain_M[rows], full.cluster_M[rows])


@pytest.mark.filterwarnings("ignore::Warning:statsmodels")
def test_one_stratum_equals_cluster_robust_ols_of_statsmodels():
    from statsmodels.regression.linear_model import OLS

    rng = np.random.default_rng(1)
    cluster = rng.integers(0, 40, 300)
    y = rng.normal(0, 1, 300) + rng.normal(0, 0.7, 40)[cluster]
    fit = OLS(y, np.ones(300)).fit(
        cov_type="cluster",
        # Without statsmodels' (n - 1) / (n - k), which is 1 here, its factor is G / (G - 1) as ours.
        cov_kwds={"groups": cluster, "use_correction": True, "df_correction": True},
        use_t=True,
    )
    found = estimate(cells(y, cluster), ONE)
    assert found.value == pytest.approx(fit.params[0], abs=1e-12)
    assert found.se == pytest.approx(fit.bse[0], rel=1e-12)
    assert found.interval() == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-9)
    assert found.p == pytest.approx(fit.pvalues[0], rel=1e-9)
    assert found.df == fit.df_resid_inference


def test_one_result_a_scenario_is_the_textbook_t_interval():
    from scipy import stats

    y = np.random.default_rng(2).normal(0.5, 0.2, 20)
    found = estimate(cells(y, np.arange(20)), ONE)
    expected = stats.ttest_1samp(y, 0.4).confidence_interval(0.95)
    assert found.interval() == pytest.approx((expected.low, expected.high), rel=1e-12)
    shifted = estimate(cells(y - 0.4, np.arange(20)), ONE)
    assert shifted.p == pytest.approx(stats.ttest_1samp(y, 0.4).pvalue, rel=1e-9)


def test_several_strata_follow_the_definition_written_as_loops():
    rng = np.random.default_rng(3)
    full = random_cells(rng)
    part = take(full, rng.random(len(full.y_M)) < 0.8)
    weight = score_weights(2, np.array([True, False, True]))
    found = estimate(part, weight)
    theta, variance, df = 0.0, 0.0, 0
    mean = {}
    for b in range(2):
        for d in (0, 2):
            here = part.y_M[(part.buyer_M == b) & (part.domain_M == d)]
            mean[b, d] = sum(here) / len(here), len(here)
            theta += mean[b, d][0] / 4
    for d in (0, 2):
        psi = {}
        for y, b, domain, g in zip(part.y_M, part.buyer_M, part.domain_M, part.cluster_M, strict=True):
            if domain == d:
                psi[g] = psi.get(g, 0.0) + (y - mean[b, d][0]) / mean[b, d][1] / 4
        variance += len(psi) / (len(psi) - 1) * sum(value**2 for value in psi.values())
        df += len(psi) - 1
    assert found.value == pytest.approx(theta, abs=1e-12)
    assert found.se == pytest.approx(variance**0.5, rel=1e-12)
    assert found.df == df


@given(
    y=st.lists(st.integers(-10_000, 10_000), min_size=6, max_size=30),
    shift=st.integers(-3_000, 3_000),
)
def test_p_is_below_five_percent_exactly_where_the_interval_excludes_zero(y, shift):
    found = estimate(cells((np.array(y) + shift) / 10_000, np.arange(len(y)) // 1), ONE)
    interval = found.interval()
    if interval is None:
        assert found.p is None
        assert found.problem
    else:
        assert (found.p < 0.05) == (not interval[0] <= 0 <= interval[1])


@given(seed=st.integers(0, 2**32 - 1))
def test_order_and_labels_of_scenarios_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    full = random_cells(rng, scenarios=6)
    weight = score_weights(2, np.ones(3, dtype=bool))
    first = estimate(full, weight)
    mixed = take(full, rng.permutation(len(full.y_M)))
    renamed = cells(
        mixed.y_M, rng.permutation(60)[mixed.cluster_M], 1 - mixed.buyer_M, 2 - mixed.domain_M
    )
    second = estimate(renamed, weight)
    assert second.value == pytest.approx(first.value, abs=1e-12)
    assert second.se == pytest.approx(first.se, rel=1e-9)
    assert (second.df, second.clusters, second.cells) == (first.df, first.clusters, first.cells)


def test_losing_most_matches_against_the_easiest_buyer_does_not_move_the_score():
    rng = np.random.default_rng(4)
    full = random_cells(rng, buyers=2, domains=2, scenarios=200, replicates=1)
    easy = full.buyer_M == 1
    full.y_M[easy] += 0.3
    kept = ~easy | (full.cluster_M % 10 == 0)
    weight = score_weights(2, np.ones(2, dtype=bool))
    complete, reduced = estimate(full, weight), estimate(take(full, kept), weight)
    assert np.mean(full.y_M) - np.mean(full.y_M[kept]) > 0.1, "the plain mean does move"
    low, high = reduced.interval()
    assert low < complete.value < high
    assert abs(reduced.value - complete.value) < 0.04


def test_a_contrast_of_two_buyers_is_the_difference_of_its_scores():
    full = random_cells(np.random.default_rng(5))
    every = np.ones(3, dtype=bool)
    split = buyer_weights(0, 2, every) - buyer_weights(1, 2, every)
    first, second = (estimate(full, buyer_weights(b, 2, every)) for b in (0, 1))
    found = estimate(full, split)
    assert found.value == pytest.approx(first.value - second.value, abs=1e-12)
    assert np.allclose(found.shock_G, first.shock_G - second.shock_G)


@given(seed=st.integers(0, 2**32 - 1), seeds=st.integers(1, 4))
def test_the_mean_of_estimates_is_the_estimate_of_the_mean(seed, seeds):
    """On the same cells, and so what the seeds share on a scenario does not average out."""
    rng = np.random.default_rng(seed)
    full = random_cells(rng)
    shared = rng.normal(0, 0.3, 1 + full.cluster_M.max())[full.cluster_M]
    results = [rng.normal(0.1, 0.1, len(full.y_M)) + shared for _ in range(seeds)]
    weights = score_weights(2, np.ones(3, bool))

    def estimated(y):
        return estimate(cells(y, full.cluster_M, full.buyer_M, full.domain_M), weights)

    found, wanted = mean([estimated(y) for y in results]), estimated(np.mean(results, axis=0))
    assert found.value == pytest.approx(wanted.value)
    assert found.se == pytest.approx(wanted.se)
    assert (found.df, found.clusters, found.cells) == (wanted.df, wanted.clusters, wanted.cells)


def test_a_mean_is_undefined_where_one_of_the_estimates_is():
    full = cells([0.1, 0.2, 0.4], [0, 1, 2])
    whole, nothing = estimate(full, ONE), estimate(take(full, slice(0)), ONE)
    assert mean([whole, nothing]).value is None
    assert mean([whole, nothing]).interval() is None


def test_a_missing_cluster_label_is_an_error():
    with pytest.raises(ValueError, match="no scenario"):
        estimate(cells([0.1, 0.2], [0, -1]), ONE)
    with pytest.raises(ValueError, match="no scenario"):
        estimate(cells([0.1, 0.2], [0.0, np.nan]), ONE)


def test_a_scenario_in_two_domains_is_an_error():
    with pytest.raises(ValueError, match="two domains"):
        estimate(cells([0.1, 0.2], [0, 0], domain=[0, 1]), np.ones((1, 2)))


@given(st.integers(0, 10_000))
def test_the_difference_of_estimates_is_the_estimate_of_the_difference(seed):
    rng = np.random.default_rng(seed)
    one = random_cells(rng)
    other = cells(rng.normal(0.4, 0.2, len(one.y_M)), one.cluster_M, one.buyer_M, one.domain_M)
    paired = cells(one.y_M - other.y_M, one.cluster_M, one.buyer_M, one.domain_M)
    weight = score_weights(2, np.array([True, True, False]))
    found, expected = (
        difference(estimate(one, weight), estimate(other, weight)),
        estimate(paired, weight),
    )
    assert (found.df, found.clusters, found.cells) == (expected.df, expected.clusters, expected.cells)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.se == pytest.approx(expected.se, rel=1e-9)
    np.testing.assert_allclose(found.shock_G, expected.shock_G, atol=1e-14)
    same = difference(estimate(one, weight), estimate(one, weight))
    assert (same.value, same.interval()) == (0, None)


@pytest.mark.parametrize("y", [[0.1, np.nan], [0.1, np.inf]])
def test_a_score_that_is_no_number_is_an_error(y):
    with pytest.raises(ValueError, match="finite"):
        estimate(cells(y, [0, 1]), ONE)


def test_a_label_outside_the_board_is_an_error():
    with pytest.raises(ValueError, match="buyer"):
        estimate(cells([0.1, 0.2], [0, 1], buyer=[0, 1]), ONE)


def test_an_unplayed_stratum_leaves_the_score_undefined():
    full = random_cells(np.random.default_rng(6))
    gone = take(full, ~((full.buyer_M == 1) & (full.domain_M == 2)))
    found = estimate(gone, score_weights(2, np.ones(3, dtype=bool)))
    assert (found.value, found.interval(), found.p) == (None, None, None)
    assert "not every buyer and domain" in found.problem
    without = estimate(gone, score_weights(2, np.array([True, True, False])))
    assert without.interval() is not None


def test_a_domain_with_one_scenario_has_no_interval():
    y, cluster, domain = np.arange(9) / 10, np.arange(9), [0] * 8 + [1]
    found = estimate(cells(y, cluster, domain=domain), score_weights(1, np.ones(2, dtype=bool)))
    assert found.value == pytest.approx((0.35 + 0.8) / 2)
    assert (found.se, found.interval(), found.p) == (None, None, None)
    assert "one scenario" in found.problem


def test_equal_results_have_no_interval_and_say_so():
    found = estimate(cells([0.1] * 30, np.arange(30)), ONE)
    assert found.value == pytest.approx(0.1)
    assert found.interval() is None
    assert found.problem == "all equal, n = 30"


@pytest.mark.parametrize(
    ("scenarios", "has_interval", "approximate"),
    [(1, False, False), (4, False, False), (5, True, True), (31, True, True), (32, True, False)],
)
def test_few_scenarios_are_marked_and_very_few_have_no_interval(scenarios, has_interval, approximate):
    y = np.random.default_rng(7).random(scenarios)
    found = estimate(cells(y, np.arange(scenarios)), ONE)
    assert found.value == pytest.approx(y.mean())
    assert (found.interval() is not None) == has_interval
    assert found.approximate == approximate


def test_nothing_played_is_no_score():
    found = estimate(cells([], np.array([], dtype=np.int64)), ONE)
    assert (found.value, found.clusters, found.cells, found.df) == (None, 0, 0, 0)


def test_bounds_put_missing_matches_at_zero_and_at_one():
    planned = np.array([[4, 2]])
    part = cells([0.5, 0.7, 0.2, 0.4], [0, 1, 8, 9], domain=[0, 0, 1, 1])
    weight = score_weights(1, np.ones(2, dtype=bool))
    assert bounds(part, weight, planned) == pytest.approx(((1.2 / 4 + 0.3) / 2, (3.2 / 4 + 0.3) / 2))


def coverage(scenarios: int, boards: int, seed: int) -> float:
    """The share of intervals that hold the truth: 2 domains, 2 buyers, skewed results."""
    rng = np.random.default_rng(seed)
    weight = score_weights(2, np.ones(2, dtype=bool))
    hits = 0
    for _ in range(boards):
        full = random_cells(rng, domains=2, scenarios=scenarios, replicates=1)
        skewed = cells(full.y_M**2, full.cluster_M, full.buyer_M, full.domain_M)
        low, high = estimate(skewed, weight).interval()
        # E[y^2] of y ~ N(0.5, 0.1^2 + 0.2^2)
        hits += low < 0.25 + 0.05 < high
    return hits / boards


def test_intervals_cover_about_as_often_as_they_say():
    # 400 boards: a true 95% stays within 0.95 +- 3.3 standard errors.
    assert coverage(scenarios=32, boards=400, seed=8) == pytest.approx(0.945, abs=0.037)


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say():
    assert coverage(scenarios=64, boards=20_000, seed=9) == pytest.approx(0.95, abs=0.006)
