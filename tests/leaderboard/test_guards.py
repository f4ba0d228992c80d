"""The four guards: pass, fail, and not judged where the matches do not say."""

import json
from dataclasses import replace

import numpy as np
import pytest

from leaderboard.inference.badges import badges
from leaderboard.inference.guards import (
    ALARM,
    BASE,
    BELOW,
    DEALS,
    INFEASIBLE,
    LEAK,
    OPENER,
    GuardResult,
    guards,
    judge,
)
from tests.leaderboard import synthetic
from tests.leaderboard.planted import plan, speaking, thinned, world

PASS, FAIL, NOT_JUDGED = GuardResult.PASS, GuardResult.FAIL, GuardResult.NOT_JUDGED
LARGE = {"domains": 5, "scenarios": 64}


def of(results, arm="arm"):
    return {guard.name: guard for guard in guards(results)[arm]}


def part(results, name):
    return next(part for part in of(results)[BASE].parts if part.name == name)


def with_deals(results, share_S, seed=0):
    """Return the results with agreements at these rates, by seller, alike on a scenario."""
    luck_G = np.random.default_rng(seed).random(1 + results.scenario_M.max())
    return replace(results, deal_M=luck_G[results.scenario_M] < np.array(share_S)[results.seller_M])


def with_infeasible(design, deals_S):
    """Return a world with its feasible cells again as an infeasible panel, of other scenarios."""
    results = with_deals(world(design, {}), [1.0, 1.0])
    panel = replace(
        with_deals(results, deals_S),
        scenario_M=results.scenario_M + 1 + results.scenario_M.max(),
        feasible_M=np.zeros(len(results.seller_M), bool),
    )
    columns = {
        name: np.concatenate([getattr(results, name), getattr(panel, name)])
        for name in vars(results)
        if "_M" in name and name != "words_M"
    }
    return replace(results, **columns, words_M=[*results.words_M, *panel.words_M])


@pytest.mark.parametrize(
    ("low", "high", "result"),
    [
        (0.0, 0.05, PASS),
        (0.06, 0.2, FAIL),
        (0.04, 0.06, NOT_JUDGED),
        (0.05, 0.06, NOT_JUDGED),
        (None, None, NOT_JUDGED),
    ],
)
def test_an_interval_is_beyond_the_limit_within_it_or_neither(low, high, result):
    assert judge(low, high, 0.05) is result


@pytest.mark.parametrize(
    ("leaks", "of_ten", "result"), [(0, 10, PASS), (9, 10, FAIL), (1, 20, NOT_JUDGED)]
)
def test_action_leak_is_a_share_of_messages(leaks, of_ten, result):
    words = [f"word {number}" for number in range(of_ten)]
    results = speaking(world(plan(**LARGE), {}), 0, words, leaks)
    if result is NOT_JUDGED:
        # One in twenty on average, by scenario: the interval holds the limit of 0.05.
        measures_M = results.measures_M.copy()
        measures_M["leaks"][:, 0] = np.where(results.scenario_M % 2 == 0, leaks * 2, 0) * (
            results.seller_M == 0
        )
        results = replace(results, measures_M=measures_M)
    found = of(results)[LEAK]
    assert found.value == pytest.approx(leaks / of_ten)
    assert (found.result, found.limit, found.clusters) == (result, 0.05, 256)
    assert found.n == 256 * 2 * of_ten


def test_the_faulty_turn_rate_stands_beside_the_leak():
    results = speaking(world(plan(), {}), 0, ["a b", "c d", "e f", "g h"])
    measures_M = results.measures_M.copy()
    measures_M["faulty_turns"][:, 0] = results.seller_M == 0
    found = of(replace(results, measures_M=measures_M))[LEAK]
    assert found.beside.value == 0.25


def test_opener_is_the_share_of_the_most_common_first_two_words():
    words = ["i appreciate", "i appreciate", "let us", "what about"]
    found = of(speaking(world(plan(**LARGE), {}), 0, words))[OPENER]
    assert (found.value, found.result) == (0.5, FAIL)
    assert '"i appreciate"' in found.note
    varied = [f"word {number}" for number in range(4)]
    found = of(speaking(world(plan(**LARGE), {}), 0, varied))[OPENER]
    assert (found.value, found.result) == (0.25, PASS)
    assert '"word 0"' in found.note


def test_a_silent_seller_is_not_judged_on_its_prose():
    found = of(world(plan(), {}))
    for name in (LEAK, OPENER):
        assert (found[name].result, found[name].value, found[name].n) == (NOT_JUDGED, None, 0)
        assert found[name].note == "it wrote no message, so there is nothing to judge"


def test_the_pooling_alarm_fails_a_seller_and_no_alarm_alone_does_not_pass_it():
    trap, general = {"x": 0.2, "y": -0.05}, {"x": 0.1, "y": 0.1}
    assert of(world(plan(**LARGE), {"arm": trap}))[ALARM].result is FAIL
    assert of(world(plan(**LARGE), {"arm": general}))[ALARM].result is PASS
    same = of(world(plan(**LARGE), {}))[ALARM]
    assert (same.result, same.limit) == (PASS, 0.05)
    few = of(world(plan(scenarios=4), {}, noise=0.3))[ALARM]
    assert few.result is NOT_JUDGED
    torn = of(world(plan(**LARGE), {"arm": {"x": 0.2, "y": -0.2}}))[ALARM]
    assert (torn.result, torn.value > 0.3) == (NOT_JUDGED, True)


@pytest.mark.parametrize(("own", "result"), [(0.9, PASS), (0.5, FAIL), (0.86, NOT_JUDGED), (1.0, PASS)])
def test_a_lower_deal_rate_than_base_s(own, result):
    found = part(with_deals(world(plan(**LARGE), {}), [own, 0.9], seed=2), DEALS)
    assert (found.result, found.limit) == (result, 0.05)
    assert found.value == pytest.approx(0.9 - own, abs=0.05)


def test_agreements_below_the_walk_away_value():
    results = with_deals(world(plan(**LARGE), {}), [1.0, 1.0])
    utility_M = np.where((results.seller_M == 0) & (results.scenario_M % 8 == 0), 0.3, 0.4)
    worse = replace(results, seller_utility_M=utility_M)
    found = part(worse, BELOW)
    assert (found.value, found.result) == (pytest.approx(1 / 8), FAIL)
    assert of(worse)[BASE].result is FAIL
    assert of(worse)[BASE].value == found.value
    refused = replace(worse, deal_M=np.zeros(len(utility_M), bool))
    assert part(refused, BELOW).value == 0


def test_agreements_in_infeasible_cells_count_where_the_design_plays_any():
    design = synthetic.design(
        ("arm", "base"), domains=5, scenarios=64, infeasible=64, analysis=plan(**LARGE).analysis
    )
    found = part(with_infeasible(design, [0.5, 0.1]), INFEASIBLE)
    assert (found.result, found.value) == (FAIL, pytest.approx(0.4, abs=0.08))
    assert part(with_infeasible(design, [0.1, 0.1]), INFEASIBLE).result is PASS
    without = of(with_deals(world(plan(**LARGE), {}), [1.0, 1.0]))[BASE]
    assert [one.name for one in without.parts] == [DEALS, BELOW]
    assert "no infeasible panel is played" in without.note


def test_a_difference_never_seen_passes_only_on_many_scenarios():
    def judged(scenarios):
        results = with_deals(world(plan(scenarios=scenarios, domains=5), {}), [1.0, 1.0])
        return part(replace(results, seller_utility_M=np.full(len(results.deal_M), 0.5)), BELOW)

    few, many = judged(4), judged(64)
    assert (few.value, many.value) == (0, 0)
    assert few.low < 0 < few.high
    assert (few.result, many.result) == (NOT_JUDGED, PASS)
    assert "all equal" in many.note


def test_limits_are_the_designs():
    words = ["a b", "a b", "c d", "e f"]
    strict, lax = ({"guards": {"opener": limit}} for limit in (0.1, 0.9))
    assert of(speaking(world(plan(**LARGE, **strict), {}), 0, words))[OPENER].result is FAIL
    assert of(speaking(world(plan(**LARGE, **lax), {}), 0, words))[OPENER].result is PASS


def test_without_an_analysis_only_the_prose_is_judged():
    design = plan(**LARGE).model_copy(update={"analysis": None})
    found = of(speaking(world(design, {}), 0, ["a b", "c d", "e f", "g h"]))
    assert [found[name].result for name in (LEAK, OPENER, ALARM, BASE)] == [
        PASS,
        PASS,
        NOT_JUDGED,
        NOT_JUDGED,
    ]
    assert found[BASE].note == "no base is declared for it"


@pytest.mark.parametrize("case", ["equal", "one match", "no buyer y", "nothing"])
def test_thin_results_pass_nothing_and_break_nothing(case):
    results = speaking(world(plan(), {"arm": {"x": 0.1}}), 0, ["i see"])
    results = thinned(results, case)
    found = of(results)
    json.dumps([guard.to_json() for guard in found.values()], allow_nan=False)
    judged = {name: guard.result for name, guard in found.items()}
    if case in ("one match", "nothing"):
        assert set(judged.values()) == {NOT_JUDGED}
    else:
        assert (judged[OPENER], judged[ALARM]) == (FAIL, NOT_JUDGED)


def test_the_order_of_rows_changes_nothing():
    results = speaking(world(plan(), {"arm": {"x": 0.1}}), 0, ["a b", "b c"])
    shuffled = synthetic.choose(results, np.random.default_rng(1).permutation(len(results.seller_M)))
    assert guards(shuffled) == guards(results)


def test_badges_mark_buyers_of_a_training_family_and_exploitable_ones():
    design = plan(families={"x": "alpha", "y": "beta"}, training_families=("alpha",))
    policies = [{"policy": "stall", "share": 0.5}, {"policy": "hardliner", "share": 0.934}]
    audit = {"best": "hardliner", "policies": policies, "exploitable": True}
    found = badges(design, {"y": audit})
    assert {name: [badge.name for badge in marks] for name, marks in found.items()} == {
        "x": ["training family"],
        "y": ["exploitable"],
    }
    assert "hardliner earns 93%" in found["y"][0].why
    assert badges(design, {"y": audit | {"exploitable": False}})["y"] == ()
    assert badges(synthetic.design(), {}) == {"x": (), "y": ()}
