"""Contrasts: against plain sums, the declared family, what is confirmatory, edges, and sentences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.analysis import Analysis, Contrast
from arena.design import Design, Player
from arena.errors import UserError
from leaderboard.board import board
from leaderboard.comparison import held_out_sentence, sentence, to_json
from leaderboard.inference.cells import tabulate
from leaderboard.inference.contrasts import compare, family, gains, pair
from leaderboard.inference.holm import holm
from leaderboard.inference.statistic import estimate, score_weights
from scenarios.scenario import Role
from tests.leaderboard.synthetic import choose, design, play_all

A_B = Contrast(plus=("a",), minus=("b",))
A_C = Contrast(plus=("a",), minus=("c",))
GAINS = Contrast(plus=("a", "d"), minus=("b", "c"))
SKILL = {"a": 0.56, "c": 0.52}


def played(seed=1, contrasts=(A_B, A_C, GAINS), skill=SKILL, interval="t", **settings_):
    analysis = Analysis(contrasts=contrasts, interval=interval)
    options = {"sellers": tuple("abcd"), "scenarios": 20, "domains": 4, "analysis": analysis}
    return play_all(design(**options | settings_), np.random.default_rng(seed), skill)


def scores(results, seller, open_only=True):
    """An arm's scores by (buyer, scenario)."""
    held = {d for d, domain in enumerate(results.design.domains) if domain.held_out}
    arm = [player.version for player in results.design.sellers].index(seller)
    rows = zip(
        results.seller_M,
        results.buyer_M,
        results.scenario_M,
        results.domain_M,
        results.seller_utility_M,
        strict=True,
    )
    return {(b, g): y for s, b, g, d, y in rows if s == arm and (d in held) != open_only}


def assert_same(first, second):
    """Assert that two comparisons hold the same figures, but for rounding."""
    one, two = (_flat(to_json(found, "")) for found in (first, second))
    assert len(one) > 60, len(one)
    assert one == pytest.approx(two, abs=1e-9)


def _flat(content, path=""):
    """Return the numbers of a JSON object by their path; None as -99, so that it equals itself alone."""
    if isinstance(content, dict):
        return {k: v for name, c in content.items() for k, v in _flat(c, f"{path}/{name}").items()}
    if isinstance(content, list):
        return {k: v for i, c in enumerate(content) for k, v in _flat(c, f"{path}/{i}").items()}
    return {} if isinstance(content, str) else {path: -99 if content is None else content}


# Figures


def test_one_stratum_is_the_paired_t_test():
    results = played(buyers=("x",), domains=1, held_out=0)
    a, b = (list(scores(results, name).values()) for name in "ab")
    expected = stats.ttest_rel(a, b)
    found = pair(results, "a", "b")
    assert found.estimate.value == pytest.approx(np.mean(a) - np.mean(b))
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert found.t_interval == pytest.approx((interval.low, interval.high))


def test_a_difference_of_gains_is_that_of_all_four():
    results = played()
    found = compare(results, GAINS)
    y = {name: scores(results, name) for name in "abcd"}
    expected = np.mean(
        [(y["a"][cell] - y["b"][cell]) - (y["c"][cell] - y["d"][cell]) for cell in y["a"]]
    )
    assert found.estimate.value == pytest.approx(expected)
    assert found.label == "(a - b) - (c - d)"
    assert_same(gains(results, ("a", "b"), ("c", "d")), found)


def test_gains_over_one_base_are_the_difference_of_the_arms():
    results = played()
    assert_same(gains(results, ("a", "b"), ("c", "b")), pair(results, "a", "c"))
    with pytest.raises(UserError, match="one and the same"):
        gains(results, ("a", "b"), ("a", "b"))


def test_parts_add_up_to_the_pooled_difference():
    found = pair(played(), "a", "b")
    by_domain = {name: part.value for name, part in found.by_domain.items()}
    assert list(by_domain) == ["domain_0", "domain_1", "domain_2"]
    assert found.estimate.value == pytest.approx(np.mean(list(by_domain.values())))
    assert found.estimate.value == pytest.approx(np.mean([e.value for e in found.by_buyer.values()]))
    for name, without in found.leave_one_out.items():
        others = [value for other, value in by_domain.items() if other != name]
        assert without.value == pytest.approx(np.mean(others))
        assert without.clusters == 40


def test_one_open_domain_cannot_be_left_out():
    assert pair(played(domains=2), "a", "b").leave_one_out == {}
    assert pair(played(domains=2, held_out=0), "a", "b").held_out is None


def test_the_printed_interval_is_the_one_that_the_design_asks_for():
    t, booted = (pair(played(interval=kind), "a", "b") for kind in ("t", "bootstrap"))
    assert t.interval == t.t_interval == booted.t_interval
    assert booted.interval == booted.bootstrap_interval == t.bootstrap_interval
    assert t.p == booted.p
    assert t.interval != booted.interval
    assert booted.interval == pytest.approx(t.interval, abs=0.3 * t.estimate.se)
    for name in ("interval", "t_interval", "bootstrap_interval"):
        assert getattr(t.held_out, name) is not None


def test_the_minimal_detectable_effect_stands_beside_both_panels():
    found = pair(played(scenarios=64), "a", "b")
    multiple = stats.t.ppf(0.975, 189) + stats.t.ppf(0.8, 189)
    assert found.mde == pytest.approx(multiple * found.estimate.se)
    assert found.held_out.mde > 1.3 * found.mde


def test_buyers_are_compared_on_their_own_utility():
    results = played()
    found = pair(results, "x", "y", Role.BUYER)
    rows = board(results, Role.BUYER).by_agent
    expected = rows["x"].open.pooled.value - rows["y"].open.pooled.value
    assert found.estimate.value == pytest.approx(expected)
    assert list(found.by_buyer) == list("abcd")
    assert not found.confirmatory


# The family


def test_holm_is_over_the_declared_family_whatever_is_asked_for():
    results = played()
    found = family(results)
    assert [one.label for one in found] == ["a - b", "a - c", "(a - b) - (c - d)"]
    assert [one.adjusted_p for one in found] == holm([one.p for one in found])
    assert_same(compare(results, A_C), found[1])
    assert all(one.confirmatory and one.why == "" for one in found)


def test_the_held_out_domains_are_a_family_of_their_own():
    found = family(played())
    apart = [one.held_out for one in found]
    assert [one.adjusted_p for one in apart] == holm([one.p for one in apart])
    assert [one.p for one in apart] != [one.p for one in found]
    assert all(one.cells == 40 for one in apart)


def test_held_out_results_move_nothing_else():
    results = played()
    held = results.domain_M == 3
    y_M = np.where(held, 1 - results.seller_utility_M, results.seller_utility_M)
    first, second = (pair(one, "a", "b") for one in (results, replace(results, seller_utility_M=y_M)))
    assert first.held_out.estimate.value == pytest.approx(-second.held_out.estimate.value)
    assert_same(replace(first, held_out=None), replace(second, held_out=None))


def test_the_other_way_round_is_the_same_test():
    results = played()
    forth, back = pair(results, "a", "c"), pair(results, "c", "a")
    assert back.estimate.value == pytest.approx(-forth.estimate.value)
    assert back.adjusted_p == pytest.approx(forth.adjusted_p)
    assert back.confirmatory


def test_an_undeclared_contrast_is_exploratory_and_not_corrected():
    found = pair(played(), "b", "d")
    assert (found.adjusted_p, found.confirmatory, found.why) == (
        None,
        False,
        "not declared in the design",
    )
    assert found.held_out.why == "not declared in the design"
    nothing = play_all(design(scenarios=8), np.random.default_rng(2))
    assert family(nothing) == []
    assert pair(nothing, "a", "b").why == "not declared in the design"


def test_a_test_that_cannot_be_made_still_counts_in_the_family():
    results = played()
    gone = choose(results, results.seller_M != 3)
    first, second, third = family(gone)
    assert (third.p, third.declared, third.tests) == (None, True, 3)
    assert [first.adjusted_p, second.adjusted_p] == holm([first.p, second.p], m=3)


def test_matches_from_before_the_design_was_frozen_make_it_exploratory():
    results = played()
    arm_b = np.flatnonzero((results.seller_M == 1) & (results.domain_M == 0))[:3]
    old = replace(results, fresh_M=~np.isin(np.arange(len(results.fresh_M)), arm_b))
    found = {one.label: one for one in family(old)}
    assert found["a - b"].why == "reuses 3 matches from before the design was frozen"
    assert not found["a - b"].confirmatory
    assert found["a - b"].adjusted_p == pair(results, "a", "b").adjusted_p
    assert not found["(a - b) - (c - d)"].confirmatory
    assert found["a - c"].confirmatory
    assert found["a - b"].held_out.confirmatory, "none of its matches is old"


def test_one_old_match_is_told_in_the_singular_and_only_where_it_is_used():
    results = played()
    place = int(np.flatnonzero((results.seller_M == 0) & (results.domain_M == 1))[0])
    old = replace(results, fresh_M=np.arange(len(results.fresh_M)) != place)
    assert pair(old, "a", "b").why == "reuses 1 match from before the design was frozen"
    cell = (results.buyer_M == results.buyer_M[place]) & (
        results.scenario_M == results.scenario_M[place]
    )
    without_b = choose(old, ~(cell & (results.seller_M == 1)))
    assert pair(without_b, "a", "b").confirmatory, "the old match has nothing to be compared with"


# Cells


def test_dropped_cells_are_those_planned_that_not_all_completed():
    results = played()
    open_rows = np.flatnonzero(results.domain_M < 3)
    rows = [
        open_rows[results.seller_M[open_rows] == arm][place] for arm, place in ((0, 3), (1, 3), (1, 9))
    ]
    some = choose(results, ~np.isin(np.arange(len(results.seller_M)), rows))
    found = pair(some, "a", "b")
    assert (found.cells, found.dropped, found.held_out.dropped) == (118, 2, 0)
    assert pair(some, "c", "d").dropped == 0


def test_one_match_of_deterministic_sides_stands_for_every_replicate():
    results = played(replicates=3, stochastic=("b", "y"))
    found = pair(results, "a", "b")
    # 60 open scenarios: b plays three times against x and y, a once against x and three times against y.
    assert (found.cells, found.dropped) == (60 * 6, 0)
    assert found.replicates == 3
    assert pair(results, "a", "c").cells == 60 * 4
    assert pair(played(), "a", "c").replicates is None


# Edges


def test_all_equal_has_no_interval_and_says_so():
    results = played()
    equal = replace(results, seller_utility_M=np.where(results.seller_M == 0, 0.6, 0.5))
    found = pair(equal, "a", "b")
    assert (found.interval, found.bootstrap_interval, found.p, found.mde) == (None,) * 4
    assert found.adjusted_p == 1.0
    assert not found.detectable
    assert found.advice == ""
    assert sentence(found) == (
        "a - b: +0.100 on 120 of 120 cells; no interval and no p: all equal, n = 120"
    )


@pytest.mark.parametrize("rows", [0, 1, 9], ids=["no match", "one match", "nine matches"])
def test_hardly_any_match_crashes_nothing(rows):
    results = played()
    few = choose(results, np.arange(len(results.seller_M)) < rows)
    found = pair(few, "a", "b")
    assert (found.estimate.value, found.p, found.interval) == (None, None, None)
    assert found.dropped == 120
    assert "No score for a - b" in sentence(found)
    assert len(family(few)) == 3
    assert to_json(found, "0")["difference"] is None


@pytest.mark.parametrize("rows", [0, 90], ids=["no match", "no match of b"])
def test_what_nobody_played_is_not_confirmatory_and_has_no_p(rows):
    results = played()
    few = choose(results, (results.seller_M != 1) & (np.arange(len(results.seller_M)) < rows))
    for found in (pair(few, "a", "b"), pair(few, "b", "d")):
        for panel in (found, found.held_out):
            assert (panel.cells, panel.confirmatory, panel.adjusted_p) == (0, False, None)
            assert panel.status == "not played: no cell was completed by all of its agents"
        assert sentence(found) == (
            f"No score for {found.label}: no cell was completed by all of its agents"
        )
    said = to_json(pair(few, "a", "b"), "0")
    for panel in (said, said["held_out"]):
        assert not panel["confirmatory"]
        assert panel["why"] == "no cell was completed by all of its agents"
        figures = ("difference", "low", "high", "t_interval", "bootstrap_interval", "p", "adjusted_p")
        assert [panel[name] for name in figures] == [None] * 7


def test_a_panel_says_what_it_may_be_taken_for():
    results = played()
    assert pair(results, "a", "b").status == "confirmatory"
    assert pair(results, "b", "d").status == "exploratory: not declared in the design"
    assert pair(played(scenarios=1), "a", "b").status == (
        "confirmatory; no interval: only 3 scenarios, fewer than 5"
    )


def test_few_scenarios_have_a_difference_and_no_interval():
    found = pair(played(scenarios=1), "a", "b")
    assert found.estimate.value is not None
    assert (found.interval, found.bootstrap_interval, found.p) == (None, None, None)
    assert "only 3 scenarios" in sentence(found)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("z", "b", "no seller is called z here; there are: a, b, c, d"),
        ("a", "a", "against itself"),
        ("a@b", "b", "no seller is called a@b"),
    ],
)
def test_names_that_are_wrong_get_one_sentence(a, b, why):
    with pytest.raises(UserError, match=why):
        pair(played(), a, b)


def test_versions_of_one_name_are_told_apart():
    results = played(contrasts=())
    sellers = [
        Player(name=name, version=version, deterministic=True)
        for name, version in (("a", "1f"), ("a", "2e"), ("b", "b"), ("c", "c"))
    ]
    twice = replace(results, design=results.design.model_copy(update={"sellers": tuple(sellers)}))
    found = pair(twice, "a@1f", "a@2")
    assert found.label == "a@1f - a@2e"
    assert found.estimate.value == pair(results, "a", "b").estimate.value
    with pytest.raises(UserError, match="a stands for 2 versions here: write a@1f or a@2e"):
        pair(twice, "a", "b")
    with pytest.raises(UserError, match="no seller of version q"):
        compare(twice, Contrast(plus=("q",), minus=("b",)))


# Sentences


def told(value, interval, p, adjusted_p=None, contrast="ab", **more):
    found = compare(played(), A_B if contrast == "ab" else GAINS)
    estimate = replace(found.estimate, value=value, se=0.01, clusters=512)
    names = {"a": "12B tuned", "b": "12B", "c": "4B tuned", "d": "4B"}
    figures = {"interval": interval, "p": p, "adjusted_p": adjusted_p, "cells": 1_021, "dropped": 3}
    return sentence(replace(found, estimate=estimate, names=names, **figures | more))


def test_the_sentence_that_people_can_quote():
    assert told(0.063, (0.052, 0.075), 1e-9, 1e-8) == (
        "12B tuned scores 0.063 more than 12B [0.052, 0.075] on 1,021 of 1,024 cells; Holm p < 0.001"
    )
    assert told(-0.063, (-0.075, -0.052), 0.004, 0.012) == (
        "12B tuned scores 0.063 less than 12B [0.052, 0.075] on 1,021 of 1,024 cells; Holm p = 0.012"
    )
    assert told(0.003, (-0.013, 0.019), 0.71, 0.71) == (
        "No detectable difference between 12B tuned and 12B: +0.003 [-0.013, +0.019] "
        "on 1,021 of 1,024 cells; Holm p = 0.710"
    )
    assert told(0.02, (0.001, 0.039), 0.04, 0.12).startswith(
        "No detectable difference after Holm between 12B tuned and 12B: +0.020"
    )
    exploratory = told(0.04, (0.01, 0.07), 0.01, why="not declared in the design", confirmatory=False)
    assert exploratory.endswith("cells; p = 0.010 (exploratory: not declared in the design)")
    assert told(0.04, (0.024, 0.056), 1e-6, 1e-5, contrast="gains") == (
        "12B tuned gains 0.040 more over 12B than 4B tuned over 4B [0.024, 0.056] "
        "on 1,021 of 1,024 cells; Holm p < 0.001"
    )


def test_the_held_out_sentence_says_what_could_be_detected():
    found = pair(played(), "a", "b")
    said = held_out_sentence(found)
    assert said.endswith(f"Detectable there: {found.held_out.mde:.3f} or more, with 80% power")
    assert "on 40 of 40 cells" in said
    assert "~" in said, "20 scenarios are few"
    assert held_out_sentence(pair(played(held_out=0), "a", "b")) is None


# Properties


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_shuffled_rows_and_renamed_arms_change_nothing(seed, data):
    results = played(seed=seed, scenarios=6, skill={"a": 0.53})
    rng = np.random.default_rng(seed)
    results = choose(results, rng.random(len(results.seller_M)) < 0.9)
    new = dict(zip("abcd", data.draw(st.permutations(["p", "q", "r", "s"])), strict=True))
    order = data.draw(st.permutations(range(4)))
    shuffled = choose(results, rng.permutation(len(results.seller_M)))
    renamed = replace(
        shuffled,
        design=_renamed(results.design, new, order),
        seller_M=np.argsort(order)[shuffled.seller_M],
        planned_S_B_D=results.planned_S_B_D[order],
    )
    for first, second in zip(family(results), family(renamed), strict=True):
        assert_same(first, second)


def _renamed(old: Design, new: dict[str, str], order) -> Design:
    def renamed(contrast):
        return Contrast(plus=[new[v] for v in contrast.plus], minus=[new[v] for v in contrast.minus])

    contrasts = tuple(renamed(contrast) for contrast in old.analysis.contrasts)
    sellers = tuple(
        Player(
            name=new[old.sellers[arm].name], version=new[old.sellers[arm].version], deterministic=True
        )
        for arm in order
    )
    return old.model_copy(update={"sellers": sellers, "analysis": Analysis(contrasts=contrasts)})


def test_p_is_below_five_percent_exactly_where_the_t_interval_excludes_zero():
    seen = set()
    for seed in range(40):
        found = pair(played(seed=seed, skill={"a": 0.52}, scenarios=10), "a", "b")
        excluded = not found.t_interval[0] <= 0 <= found.t_interval[1]
        assert (found.p < 0.05) == excluded
        seen.add(excluded)
    assert seen == {True, False}


def test_losing_most_matches_against_the_easiest_buyer_moves_the_plain_mean_and_not_the_score():
    """On 60 boards an arm loses 90% of its matches against the buyer that gives in most."""
    moved, within = [], []
    weight = score_weights(2, np.array([True, True, False]))
    for seed in range(60):
        results = played(seed=seed, contrasts=(), domains=3, scenarios=64)
        easy = (results.seller_M == 0) & (results.buyer_M == 1)
        y_M = np.where(results.buyer_M == 1, results.seller_utility_M + 0.25, results.seller_utility_M)
        full = replace(results, seller_utility_M=y_M)
        rng = np.random.default_rng(seed)
        kept = ~easy | (rng.random(len(y_M)) < 0.1)
        # Every buyer and domain keeps two matches, or there would be no score.
        for domain in range(3):
            kept[np.flatnonzero(easy & (results.domain_M == domain))[:2]] = True
        reduced = choose(full, kept)
        before, after = (estimate(tabulate(one, Role.SELLER).of(0), weight) for one in (full, reduced))
        arm = results.seller_M == 0
        moved.append(y_M[arm].mean() - y_M[arm & kept].mean())
        within.append(abs(after.value - before.value) < 2 * after.se)
    assert min(moved) > 0.05
    # Two standard errors hold 95% of such moves at the least; 60 boards allow for 3 more misses.
    assert np.mean(within) >= 0.9
