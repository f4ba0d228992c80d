"""Shares and their intervals: closed forms, clusters, edges."""

import numpy as np
import pytest
from scipy import stats

from leaderboard.inference.rates import beta_interval, mean, rate
from leaderboard.inference.statistic import Cells


def cells(y_M, cluster_M=None, domain_M=None):
    y_M = np.asarray(y_M, dtype=float)
    zeros_M = np.zeros(len(y_M), dtype=np.int64)
    cluster_M = np.arange(len(y_M)) if cluster_M is None else np.asarray(cluster_M)
    return Cells(y_M, zeros_M, zeros_M if domain_M is None else np.asarray(domain_M), cluster_M)


def test_without_clusters_the_effective_n_is_n_less_one():
    found = rate(cells([1] * 12 + [0] * 28))
    assert (found.value, found.n, found.clusters) == (0.3, 40, 40)
    assert found.n_eff == pytest.approx(39)
    expected = stats.beta(0.5 + 39 * 0.3, 0.5 + 39 * 0.7).interval(0.95)
    assert (found.low, found.high) == pytest.approx(expected)


def test_wholly_alike_clusters_count_once_each():
    one = rate(cells([1] * 12 + [0] * 28))
    tenfold = rate(cells(np.repeat([1] * 12 + [0] * 28, 10), np.repeat(np.arange(40), 10)))
    assert tenfold.value == one.value
    ratio = stats.t.ppf(0.975, 399) / stats.t.ppf(0.975, 39)
    assert tenfold.n_eff == pytest.approx(39 * ratio**2)


def test_a_ratio_of_counts_has_the_error_of_the_linearised_ratio():
    rng = np.random.default_rng(3)
    chances_M = rng.integers(1, 9, 60).astype(float)
    hits_M = rng.binomial(chances_M.astype(int), 0.3).astype(float)
    found = rate(cells(hits_M, domain_M=np.arange(60) % 2), chances_M)
    share = hits_M.sum() / chances_M.sum()
    rest = (hits_M - share * chances_M) / chances_M.sum()
    variance = sum(30 * np.var(rest[d::2], ddof=1) for d in (0, 1))
    quantiles = stats.t.ppf(0.975, [chances_M.sum() - 1, 58])
    assert found.value == pytest.approx(share)
    assert found.n_eff == pytest.approx(
        min(chances_M.sum(), share * (1 - share) / variance * (quantiles[0] / quantiles[1]) ** 2)
    )


def test_matches_without_a_chance_count_for_nothing():
    chances_M = np.array([2.0, 3, 0, 4, 1, 2, 0, 5])
    hits_M = np.array([1.0, 3, 0, 0, 1, 1, 0, 2])
    some = chances_M > 0
    assert rate(cells(hits_M), chances_M) == rate(
        cells(hits_M[some], np.flatnonzero(some)), chances_M[some]
    )


@pytest.mark.parametrize("share", [0, 1])
def test_never_and_always_take_the_scenarios_as_their_n(share):
    found = rate(cells(np.full(200, share), np.repeat(np.arange(20), 10), np.repeat([0, 1], 100)))
    assert (found.value, found.n, found.n_eff) == (share, 200, 20)
    edge = stats.beta(0.5, 20.5).ppf(0.975)
    assert (found.low, found.high) == pytest.approx((0, edge) if share == 0 else (1 - edge, 1))


def test_no_chance_one_scenario_and_lone_scenarios_have_no_interval():
    assert rate(cells([])).problem == "nothing to count"
    assert rate(cells([0, 0]), np.zeros(2)).value is None
    lone = rate(cells([1, 0, 1], [7, 7, 7]))
    assert (lone.value, lone.low, lone.clusters) == (2 / 3, None, 1)
    split = rate(cells([1, 0, 1, 0, 1, 0], domain_M=[0, 0, 0, 0, 0, 1]))
    assert (split.low, split.problem) == (None, "a domain has one scenario only")


def test_more_hits_than_chances_are_refused():
    with pytest.raises(ValueError, match="more hits than chances"):
        rate(cells([2.0]))


@pytest.mark.parametrize(("truth", "lowest"), [(0.3, 0.92), (0.03, 0.92)])
def test_the_interval_covers_a_clustered_share(truth, lowest):
    """Scenarios have propensities of their own (correlation 0.2 within one), and 8 matches each."""
    rng, hit = np.random.default_rng(11), 0
    cluster_M = np.repeat(np.arange(64), 8)
    for _ in range(600):
        odds_G = rng.beta(truth * 4, (1 - truth) * 4, 64)
        y_M = rng.random(512) < odds_G[cluster_M]
        found = rate(cells(y_M, cluster_M, cluster_M % 2))
        hit += found.low <= truth <= found.high
    assert lowest <= hit / 600 <= 0.985


def test_the_beta_interval_holds_its_share():
    for share in np.linspace(0, 1, 41):
        low, high = beta_interval(share, 10.0)
        assert low <= share <= high


def test_a_plain_mean_weighs_every_match_alike():
    rng = np.random.default_rng(5)
    y_M = rng.normal(size=50)
    found = mean(cells(y_M))
    assert found.value == pytest.approx(y_M.mean())
    assert found.interval() == pytest.approx(stats.t(49, y_M.mean(), stats.sem(y_M)).interval(0.95))
    uneven = mean(cells([0.0] * 10 + [1.0] * 30, domain_M=[0] * 10 + [1] * 30))
    assert uneven.value == pytest.approx(0.75)
    assert mean(cells([])).value is None
