"""Rank intervals: what they say in plain cases, and that all true ranks lie in them."""

from itertools import combinations

import numpy as np
import pytest

from leaderboard.board import board
from leaderboard.inference.cells import tabulate
from leaderboard.inference.ranks import critical_value, rank_intervals, ranked
from leaderboard.inference.statistic import estimate, score_weights
from scenarios.scenario import Role
from tests.leaderboard.synthetic import choose, design, play_all

WEIGHT = score_weights(2, np.array([True, True, False]))


def ranks(results, arms=None):
    arms = arms if arms is not None else list(range(len(results.design.sellers)))
    found = rank_intervals(tabulate(results, Role.SELLER), WEIGHT, arms)
    return {arm: (rank.low, rank.high) for arm, rank in found.items()}


def test_clear_differences_give_single_places():
    results = play_all(design(scenarios=40), np.random.default_rng(1), {"a": 0.3, "b": 0.7, "c": 0.5})
    assert ranks(results) == {0: (3, 3), 1: (1, 1), 2: (2, 2)}


def test_scenario_effects_that_all_share_do_not_blur_a_paired_contrast():
    plan = design(scenarios=20)
    skill = {"a": 0.50, "b": 0.54, "c": 0.58}
    results = play_all(plan, np.random.default_rng(2), skill, noise=0.02, scenario_noise=0.15)
    rows = board(results).by_agent
    # Each interval alone is wider than the differences, and yet the differences are plain.
    assert rows["a"].open.pooled.interval()[1] > rows["c"].open.pooled.interval()[0]
    assert ranks(results) == {0: (3, 3), 1: (2, 2), 2: (1, 1)}


def test_not_told_apart_is_not_transitive_and_the_intervals_overlap():
    plan = design(scenarios=20)
    skill = {"a": 0.45, "b": 0.50, "c": 0.55}
    results = play_all(plan, np.random.default_rng(13), skill, noise=0.17, scenario_noise=0)
    assert ranks(results) == {0: (2, 3), 1: (1, 3), 2: (1, 2)}


def test_twins_share_places_and_rank_as_one():
    results = play_all(design(scenarios=20), np.random.default_rng(3), {"c": 0.9}, noise=0.0)
    assert ranks(results) == {0: (2, 3), 1: (2, 3), 2: (1, 1)}


def test_one_arm_is_first_and_few_scenarios_tell_nothing():
    results = play_all(design(scenarios=20), np.random.default_rng(4))
    assert ranks(results, arms=[1]) == {1: (1, 1)}
    few = play_all(design(scenarios=2), np.random.default_rng(4), {"a": 0.9, "b": 0.1})
    assert ranks(few) == {0: (1, 3), 1: (1, 3), 2: (1, 3)}


@pytest.mark.parametrize("lost", [0.0, 0.1])
def test_pairs_are_ranked_as_contrasts_over_the_cells_that_both_completed(lost):
    """Where two arms completed the same cells, and where they did not."""
    plan = design(sellers=tuple("abcd"), stochastic=("a", "b"), scenarios=12, replicates=2)
    skill = {"a": 0.45, "b": 0.5, "c": 0.55}
    rng = np.random.default_rng(11)
    results = play_all(plan, rng, skill)
    results = results.where(rng.random(len(results.seller_M)) >= lost)
    table, arms = tabulate(results, Role.SELLER), range(4)
    pairs = {pair: estimate(table.difference(*pair), WEIGHT) for pair in combinations(arms, 2)}
    assert rank_intervals(table, WEIGHT, [*arms]) == ranked([*arms], pairs)


def test_the_result_is_the_same_every_time_and_in_any_order_of_rows():
    plan = design(sellers=tuple("abcdefgh"), scenarios=16)
    skill = {name: 0.4 + 0.02 * i for i, name in enumerate("abcdefgh")}
    results = play_all(plan, np.random.default_rng(5), skill)
    order = np.random.default_rng(6).permutation(len(results.seller_M))
    assert ranks(results) == ranks(results) == ranks(choose(results, order))


def test_the_critical_value_is_t_for_one_contrast_and_between_t_and_bonferroni_for_more():
    from scipy.stats import t

    results = play_all(design(sellers=tuple("abcdef"), scenarios=30), np.random.default_rng(7))
    table = tabulate(results, Role.SELLER)
    contrasts = [estimate(table.difference(a, b), WEIGHT) for a in range(6) for b in range(a + 1, 6)]
    df = contrasts[0].df
    assert critical_value(contrasts[:1]) == pytest.approx(t.ppf(0.975, df), abs=1e-9)
    assert t.ppf(0.975, df) < critical_value(contrasts) < t.ppf(1 - 0.025 / 15, df)


def test_six_equal_arms_need_tukeys_studentized_range():
    """For all pairs of equally noisy arms max |t| is the studentized range over sqrt(2)."""
    from scipy.stats import studentized_range

    plan = design(sellers=tuple("abcdef"), buyers=("x",), domains=1, held_out=0, scenarios=400)
    table = tabulate(play_all(plan, np.random.default_rng(8), scenario_noise=0.0), Role.SELLER)
    one = score_weights(1, np.array([True]))
    contrasts = [estimate(table.difference(a, b), one) for a in range(6) for b in range(a + 1, 6)]
    expected = studentized_range.ppf(0.95, 6, 399) / 2**0.5
    assert critical_value(contrasts) == pytest.approx(expected, rel=0.02)


def simultaneous_coverage(boards: int, seed: int) -> float:
    """The share of boards on which every arm's true ranks lie in its interval.

    Eight arms, four of them truly tied: an arm in a tie has every place of the tie as a true rank.
    """
    names = tuple("abcdefgh")
    plan = design(sellers=names, domains=2, held_out=0, scenarios=12)
    skill = dict(zip(names, (0.35, 0.42, 0.5, 0.5, 0.5, 0.5, 0.56, 0.6), strict=True))
    weight = score_weights(2, np.ones(2, dtype=bool))
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(boards):
        results = play_all(plan, rng, skill, noise=0.12)
        found = rank_intervals(tabulate(results, Role.SELLER), weight, list(range(8)))
        levels = list(skill.values())
        hits += all(
            found[arm].low <= 1 + sum(other > level for other in levels)
            and found[arm].high >= 8 - sum(other < level for other in levels)
            for arm, level in enumerate(levels)
        )
    return hits / boards


def test_true_ranks_lie_in_their_intervals_at_once():
    # Single step is at least 95% where there are true differences; 120 boards allow for 5 misses more.
    assert simultaneous_coverage(boards=120, seed=10) >= 0.90


@pytest.mark.slow
def test_true_ranks_lie_in_their_intervals_at_once_in_95_percent_of_boards():
    assert simultaneous_coverage(boards=3_000, seed=11) >= 0.945
