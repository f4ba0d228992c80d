"""Power: the study's own sum, statsmodels, analysis of variance, and power that is really there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from leaderboard.inference.power import (
    WORTH,
    Components,
    Needs,
    advice,
    cells_needed,
    components,
    detectable,
    multiple,
    needs,
)
from leaderboard.inference.statistic import Cells, estimate, score_weights


def draw(rng, scenario=0.1, within=0.15, effect=0.0, buyers=2, domains=2, scenarios=32, replicates=1):
    """Return a paired difference with these SDs between scenarios and between cells of one."""
    shape = (buyers, domains, scenarios, replicates)
    buyer, domain, number, _ = (axis.ravel() for axis in np.indices(shape))
    cluster = domain * scenarios + number
    y = effect + rng.normal(0, scenario, domains * scenarios)[cluster]
    return Cells(y + rng.normal(0, within, len(y)), buyer, domain, cluster)


def weights(buyers=2, domains=2):
    return score_weights(buyers, np.ones(domains, dtype=bool))


def test_the_studys_385_cells_detect_three_hundredths():
    # Derived there: an SD of 0.21 and 80% power take about 385 matched cells to detect +0.03.
    assert ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * 0.21 / 0.03) ** 2 == pytest.approx(
        385, abs=1
    )
    assert cells_needed(0.21, 0.03) == pytest.approx(385, abs=2)
    assert detectable(0.21 / 385**0.5, 384) == pytest.approx(0.030, abs=0.0001)


@pytest.mark.parametrize(("sd", "effect"), [(0.21, 0.03), (0.17, 0.05), (0.35, 0.02), (0.3, 0.15)])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_cells_needed_agree_with_the_noncentral_t_of_statsmodels(sd, effect, power):
    exact = TTestPower().solve_power(effect_size=effect / sd, alpha=0.05, power=power)
    assert cells_needed(sd, effect, power) == pytest.approx(np.ceil(exact), abs=1)
    assert cells_needed(sd, -effect, power) == cells_needed(sd, effect, power)


def test_one_cell_less_is_too_few():
    n = cells_needed(0.2, 0.04)
    assert detectable(0.2 / n**0.5, n - 1) <= 0.04 < detectable(0.2 / (n - 1) ** 0.5, n - 2)
    with pytest.raises(ValueError, match="difference of 0"):
        cells_needed(0.2, 0)
    assert cells_needed(0.2, 1e-9) is None


def test_components_are_those_of_a_one_way_analysis_of_variance():
    cells = draw(np.random.default_rng(1), buyers=1, domains=1, replicates=3)
    found = components(cells, weights(1, 1))
    groups = [cells.y_M[cells.cluster_M == g] for g in range(32)]
    within = np.mean([np.var(group, ddof=1) for group in groups])
    between = 3 * np.var([group.mean() for group in groups], ddof=1)
    assert found.within == pytest.approx(within)
    assert found.scenario == pytest.approx((between - within) / 3)
    assert stats.f_oneway(*groups).statistic == pytest.approx(3 * found.scenario / found.within + 1)
    assert (found.repeated, found.clusters, found.per_scenario) == (True, 32, 3)


@pytest.mark.parametrize("replicates", [1, 2])
def test_planted_variances_are_found_and_give_back_the_standard_error(replicates):
    cells = draw(np.random.default_rng(2), scenarios=2_000, replicates=replicates)
    found = components(cells, weights())
    assert found.scenario**0.5 == pytest.approx(0.10, rel=0.04)
    assert found.within**0.5 == pytest.approx(0.15, rel=0.04)
    assert found.repeated == (replicates == 2)
    assert found.se() == pytest.approx(estimate(cells, weights()).se, rel=1e-9)


def test_means_of_buyers_and_domains_are_no_variance():
    cells = draw(np.random.default_rng(3))
    shifted = Cells(
        cells.y_M + 0.3 * cells.buyer_M - 0.2 * cells.domain_M,
        cells.buyer_M,
        cells.domain_M,
        cells.cluster_M,
    )
    plain, moved = (components(one, weights()) for one in (cells, shifted))
    assert moved.scenario == pytest.approx(plain.scenario)
    assert moved.within == pytest.approx(plain.within)


def test_what_a_buyer_does_on_a_scenario_is_not_what_replicates_average_away():
    rng = np.random.default_rng(4)
    cells = draw(rng, scenario=0.0, within=0.05, scenarios=500, replicates=2)
    taste = rng.normal(0, 0.2, (2, 1_000))[cells.buyer_M, cells.cluster_M]
    found = components(
        Cells(cells.y_M + taste, cells.buyer_M, cells.domain_M, cells.cluster_M), weights()
    )
    assert found.within**0.5 == pytest.approx(0.05, rel=0.1)
    assert found.scenario == pytest.approx(0.2**2 / 2, rel=0.1)


def test_a_negative_component_is_zero_and_one_cell_a_scenario_tells_no_within():
    rng = np.random.default_rng(5)
    opposed = draw(rng, scenario=0.0, within=0.0)
    sign = np.where(opposed.buyer_M == 0, 1, -1) * rng.normal(0, 0.1, 64)[opposed.cluster_M]
    y = sign + rng.normal(0, 0.01, len(sign))
    mirrored = Cells(y, opposed.buyer_M, opposed.domain_M, opposed.cluster_M)
    clipped = components(mirrored, weights())
    assert clipped.scenario == 0
    assert clipped.se() == pytest.approx(estimate(mirrored, weights()).se)
    single = components(draw(rng, buyers=1), weights(1))
    assert single.within is None
    assert needs(single, 0.001, replicates=1).replicates is None
    equal = Cells(np.ones(64), np.zeros(64, int), np.zeros(64, int), np.arange(64))
    assert components(equal, weights(1, 1)) is None


FOUND = Components(0.1**2, 0.15**2, True, 64, 2, 2.0)


def test_the_scenarios_needed_are_the_fewest_that_do():
    effect = 0.03
    more = needs(FOUND, effect).scenarios
    for per_domain, enough in ((32 + more, True), (32 + more - 1, False)):
        clusters = 2 * per_domain
        assert (detectable(FOUND.se(clusters), clusters - 2) <= effect) == enough
    assert needs(FOUND, 0.2).scenarios == 0
    assert needs(FOUND, -effect) == needs(FOUND, effect)


def test_the_replicates_needed_are_the_fewest_that_do_unless_scenarios_differ_too_much():
    effect = 0.045
    more = needs(FOUND, effect, replicates=1).replicates
    assert more > 0
    for replicates, enough in ((1 + more, True), (more, False)):
        assert (detectable(FOUND.se(times=replicates), 62) <= effect) == enough
    # With any number of them the scenarios' own variance stays.
    floor = multiple(62) * 0.1 / 64**0.5
    assert needs(FOUND, floor * 0.99, replicates=1).replicates is None
    assert needs(FOUND, floor * 1.01, replicates=1).replicates > 10
    # Deterministic sides would play the same match again.
    assert needs(FOUND, effect, replicates=None).replicates is None
    assert needs(FOUND, 0.2, replicates=2).replicates == 0


def test_no_size_settles_a_difference_of_zero():
    assert needs(FOUND, 0.0, replicates=1) == Needs(None, None)
    assert needs(FOUND, 1e-9, replicates=1) == Needs(None, None)


def test_advice_says_what_would_do_or_that_it_is_absurd():
    assert advice(Needs(0, 0), True, 32, 1) == "settled: it is detectable as it stands"
    assert advice(Needs(8, None), False, 32) == (
        "8 more scenarios a domain (32 to 40) would settle a difference of this size"
    )
    assert advice(Needs(8, 2), False, 32, 1) == (
        "8 more scenarios a domain (32 to 40) or 2 more replicates (1 to 3) "
        "would settle a difference of this size"
    )
    absurd = "not worth settling: it would take over 10 times the scenarios (a limit of ours)"
    assert WORTH == 10
    assert advice(Needs(9 * 32, None), False, 32).startswith("288 more")
    assert advice(Needs(9 * 32 + 1, None), False, 32) == absurd
    assert advice(Needs(None, None), False, 32, 1) == absurd


def test_the_minimal_detectable_effect_is_detected_in_80_percent_of_worlds():
    rng = np.random.default_rng(6)
    se = Components(0.1**2, 0.15**2, False, 64, 2, 2.0).se()
    effect = detectable(se, 62)
    worlds = [estimate(draw(rng, effect=effect), weights()).p < 0.05 for _ in range(1_500)]
    # The standard error of this share is 1.0%.
    assert np.mean(worlds) == pytest.approx(0.80, abs=0.033)


@pytest.mark.parametrize("replicates", [1, 3])
def test_an_opener_is_no_repeat_of_a_match(replicates):
    rng = np.random.default_rng(6)
    one_way = draw(rng, scenario=0.05, within=0.01, scenarios=400, replicates=2 * replicates)
    opens = np.arange(len(one_way.y_M)) % 2 == 0
    y_M = one_way.y_M + np.where(opens, 0.15, -0.15)
    cells = Cells(y_M, one_way.buyer_M, one_way.domain_M, one_way.cluster_M, opens)
    found = components(cells, weights())
    assert found.within**0.5 == pytest.approx(0.01, rel=0.1)
    assert found.scenario**0.5 == pytest.approx(0.05, rel=0.1)
    assert found.se() == pytest.approx(estimate(cells, weights()).se)


@given(seed=st.integers(0, 10_000), scenario=st.sampled_from([0.0, 0.1]), buyers=st.integers(1, 3))
def test_what_can_be_detected_needs_no_more(seed, scenario, buyers):
    cells = draw(np.random.default_rng(seed), buyers=buyers, scenarios=8, scenario=scenario)
    weight_B_D = weights(buyers)
    found, whole = components(cells, weight_B_D), estimate(cells, weight_B_D)
    least = detectable(whole.se, whole.df)
    assert needs(found, least * 1.001).scenarios == 0
