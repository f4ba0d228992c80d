"""The bootstrap against scipy's, against its definition drawn by hand, against t, and at its edges."""

import numpy as np
import pytest
from scipy import stats

from leaderboard.inference import bootstrap
from leaderboard.inference.bootstrap import DRAWS, bootstrap_intervals
from leaderboard.inference.statistic import Cells, estimate, score_weights

ONE = np.ones((1, 1))


def cells(y, cluster, buyer=None, domain=None) -> Cells:
    zeros = np.zeros(len(y), dtype=np.int64)
    return Cells(
        np.asarray(y, dtype=float),
        zeros if buyer is None else np.asarray(buyer),
        zeros if domain is None else np.asarray(domain),
        np.asarray(cluster),
    )


def world(rng, buyers=2, domains=3, scenarios=64, missing=0.0) -> Cells:
    buyer, domain, scenario = (axis.ravel() for axis in np.indices((buyers, domains, scenarios)))
    cluster = domain * scenarios + scenario
    y = rng.normal(0.02, 0.15, len(buyer)) + rng.normal(0, 0.15, domains * scenarios)[cluster]
    kept = rng.random(len(buyer)) >= missing
    return cells(y[kept], cluster[kept], buyer[kept], domain[kept])


def test_unclustered_data_give_scipys_percentile_interval():
    y = np.random.default_rng(1).exponential(0.1, 120)
    (found,) = bootstrap_intervals([cells(y, np.arange(120))], ONE)
    expected = stats.bootstrap(
        (y,), np.mean, n_resamples=100_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    # The 2.5% percentile of 10,000 normal draws has a standard error of 0.027 SE.
    se = y.std(ddof=1) / 120**0.5
    assert found == pytest.approx(tuple(expected), abs=4 * 0.027 * se)
    assert found != pytest.approx(estimate(cells(y, np.arange(120)), ONE).interval(), abs=0.01 * se)


@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["complete", "10% missing"])
def test_a_draw_is_scenarios_of_a_domain_with_all_their_cells(missing):
    """The definition with loops: draw scenarios within each domain, pool their cells, take the score."""
    rng = np.random.default_rng(3)
    full = world(rng, domains=2, scenarios=12, missing=missing)
    weight = score_weights(2, np.ones(2, dtype=bool))
    rows = {g: np.flatnonzero(full.cluster_M == g) for g in np.unique(full.cluster_M)}
    domains = [[g for g, cells_of in rows.items() if full.domain_M[cells_of[0]] == d] for d in range(2)]
    drawn = []
    for _ in range(4_000):
        chosen = np.concatenate([rows[g] for labels in domains for g in rng.choice(labels, len(labels))])
        strata = (full.buyer_M * 2 + full.domain_M)[chosen]
        sums, counts = np.bincount(strata, full.y_M[chosen]), np.bincount(strata)
        drawn.append((sums / counts).mean())
    (found,) = bootstrap_intervals([full], weight)
    se = np.std(drawn)
    assert found == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.2 * se)
    assert np.ptp(found) == pytest.approx(np.ptp(np.quantile(drawn, [0.025, 0.975])), rel=0.07)


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_with_64_scenarios_and_more_it_agrees_with_t(missing):
    rng = np.random.default_rng(4)
    weight = score_weights(2, np.array([True, True, False]))
    for scenarios in (34, 64, 128) * 4:
        one = world(rng, scenarios=scenarios, missing=missing)
        (found,) = bootstrap_intervals([one], weight)
        t = estimate(one, weight)
        assert t.clusters >= 64
        assert found == pytest.approx(t.interval(), abs=0.2 * t.se)


def test_a_contrast_has_one_interval_whatever_it_is_computed_with(monkeypatch):
    rng = np.random.default_rng(5)
    weight = score_weights(2, np.ones(3, dtype=bool))
    worlds = [world(rng, scenarios=9, missing=0.3 * (k > 0)) for k in range(7)]
    together = bootstrap_intervals(worlds, weight)
    for one, found in zip(worlds, together, strict=True):
        assert bootstrap_intervals([one], weight)[0] == pytest.approx(found, abs=1e-12)
    # In parts, so that no table grows large.
    monkeypatch.setattr(bootstrap, "_TABLE", 2 * DRAWS)
    parts = bootstrap_intervals(worlds, weight)
    assert np.array(parts) == pytest.approx(np.array(together), abs=1e-12)


@pytest.mark.parametrize("kept", [700, 100], ids=["kept", "too large to keep"])
def test_blocks_of_draws_are_as_good_as_one(monkeypatch, kept):
    """A large tournament's draws come in blocks; each has its own stream, and they add up to DRAWS."""
    y = np.random.default_rng(6).normal(0, 1, 50)
    whole = bootstrap_intervals([cells(y, np.arange(50))], ONE)[0]
    monkeypatch.setattr(bootstrap, "_ROOM", 50 * kept)
    blocks = bootstrap_intervals([cells(y, np.arange(50))], ONE)[0]
    assert blocks != whole
    assert blocks == pytest.approx(whole, abs=0.2 / 50**0.5)


def test_domains_of_one_size_are_drawn_apart():
    """Shared draws would make the domains' errors one, and the interval sqrt(2) times too wide."""
    rng = np.random.default_rng(7)
    y = rng.normal(0, 1, 100)
    twice = cells(np.tile(y, 2), np.arange(200), domain=np.repeat([0, 1], 100))
    weight = score_weights(1, np.ones(2, dtype=bool))
    found = bootstrap_intervals([twice], weight)[0]
    assert np.ptp(found) == pytest.approx(np.ptp(estimate(twice, weight).interval()), rel=0.06)


def test_strata_without_weight_change_nothing():
    full = world(np.random.default_rng(8))
    weight = score_weights(2, np.array([True, False, True]))
    kept = full.domain_M != 1
    less = Cells(full.y_M[kept], full.buyer_M[kept], full.domain_M[kept], full.cluster_M[kept])
    assert bootstrap_intervals([full], weight) == bootstrap_intervals([less], weight)


@pytest.mark.parametrize(
    ("y", "cluster", "domain"),
    [
        ([], [], []),
        ([0.1, 0.2, 0.3, 0.4], [0, 1, 2, 3], [0, 0, 1, 1]),
        ([0.1] * 12, range(12), [0, 1] * 6),
        ([0.1, 0.3, 0.2, 0.4, 0.1, 0.3], range(6), [0, 0, 0, 0, 0, 1]),
        ([0.1, 0.3, 0.2, 0.4, 0.1, 0.3], range(6), [0] * 6),
    ],
    ids=["nothing", "four scenarios", "all equal", "a domain with one scenario", "an empty domain"],
)
def test_there_is_no_interval_where_t_has_none(y, cluster, domain):
    weight = score_weights(1, np.ones(2, dtype=bool))
    odd = cells(y, np.array(cluster, dtype=np.int64), domain=np.array(domain, dtype=np.int64))
    good = cells(np.random.default_rng(9).random(20), 50 + np.arange(20), domain=np.arange(20) % 2)
    assert estimate(odd, weight).interval() is None
    first, second = bootstrap_intervals([odd, good], weight)
    assert first is None
    assert second is not None
    assert bootstrap_intervals([], weight) == []


def test_a_scenario_in_two_domains_is_an_error():
    pair = [cells([0.1, 0.2], [0, 1], domain=[0, 1]), cells([0.1, 0.2], [0, 1], domain=[1, 0])]
    with pytest.raises(ValueError, match="two domains"):
        bootstrap_intervals(pair, score_weights(1, np.ones(2, dtype=bool)))


def test_a_stratum_with_one_cell_is_left_out_of_the_draws_that_miss_it():
    rng = np.random.default_rng(10)
    full = world(rng, domains=1, scenarios=40)
    kept = (full.buyer_M == 0) | (full.cluster_M == 3)
    odd = Cells(full.y_M[kept], full.buyer_M[kept], full.domain_M[kept], full.cluster_M[kept])
    (found,) = bootstrap_intervals([odd], score_weights(2, np.ones(1, dtype=bool)))
    assert np.all(np.isfinite(found))
