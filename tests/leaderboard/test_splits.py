"""Buyer splits, the pooling alarm and the mark of a general gain, on planted worlds."""

import json
from dataclasses import replace

import numpy as np
import pytest

from leaderboard.inference.holm import holm
from leaderboard.inference.splits import OTHERS, splits
from tests.leaderboard import synthetic
from tests.leaderboard.planted import plan, thinned, world

STUDY = {"domains": 9, "scenarios": 64}
"""512 scenarios in eight open domains."""
BASE = {"x": 0.025, "y": -0.025}
"""A base's split of +.05, x less y."""
TRAP = {"x": 0.1375, "y": -0.0375}
"""Pooled +.050 over it, and a split of +.175."""
HARMLESS = {"x": 0.0985, "y": 0.0015}
"""Pooled +.050 over it, +.0735 and +.0265 by buyer: the split moves by .047. (These worlds have a paired
SD of 0.14: the weakest gain is 4 of its errors, so that "both gains positive" can be seen.)"""


def by_arm(results):
    return {row.arm: row for row in splits(results)}


def alarms(gain, worlds):
    design = plan(("arm", "other", "base"), **STUDY)
    gains = {"arm": gain, "other": BASE, "base": BASE}
    return [by_arm(world(design, gains, seed))["arm"].alarm for seed in range(worlds)]


def test_the_studys_trap_is_caught():
    row = by_arm(world(plan(**STUDY), {"arm": TRAP, "base": BASE}))["arm"]
    assert row.gain.value == pytest.approx(0.05, abs=0.02)
    assert row.split["x - y"].value == pytest.approx(0.175, abs=0.03)
    assert row.base_split["x - y"].value == pytest.approx(0.05, abs=0.03)
    assert row.moved["x - y"].value == pytest.approx(0.125, abs=0.03)
    assert (row.alarm, row.general) == (True, False)
    assert "leans toward x" in row.why
    assert "against y is not detectable" in row.why


def test_the_trap_is_caught_and_the_harmless_move_is_not_world_after_world():
    assert sum(alarms(TRAP, 30)) >= 28
    assert sum(alarms(HARMLESS, 30)) <= 2


def test_a_harmless_move_is_a_general_gain():
    row = by_arm(world(plan(**STUDY), {"arm": HARMLESS, "base": BASE}))["arm"]
    assert row.moved_adjusted_p["x - y"] < 0.05
    assert "gain against y is detectable" in row.why
    assert (row.alarm, row.general) == (False, True)


def test_a_move_beyond_the_margin_is_an_alarm_even_where_every_gain_is_detectable():
    lean = {"x": 0.3, "y": 0.1}
    row = by_arm(world(plan(**STUDY), {"arm": lean}))["arm"]
    assert (row.alarm, row.general) == (True, True)
    assert "beyond 0.050 (ours)" in row.why
    wide = by_arm(world(plan(**STUDY, alarm_margin=0.25), {"arm": lean}))["arm"]
    assert not wide.alarm


def test_a_gain_that_is_the_same_on_every_cell_is_not_in_doubt():
    results = world(plan(**STUDY), {"arm": {"x": 0.1, "y": 0.13}})
    design = results.design
    arm, base = (
        place for name in ("arm", "base") for place, p in enumerate(design.sellers) if p.name == name
    )
    y_M = results.seller_utility_M.copy()
    cell_M = np.stack([results.buyer_M, results.scenario_M])
    for place in np.flatnonzero((results.seller_M == arm) & (results.buyer_M == 0)):
        same = (results.seller_M == base) & np.all(cell_M == cell_M[:, [place]], axis=0)
        y_M[place] = y_M[same][0] + 0.1
    row = by_arm(replace(results, seller_utility_M=y_M))["arm"]
    assert row.gain_by_buyer["x"].p is None
    assert row.gain_by_buyer["x"].value == pytest.approx(0.1)
    assert not row.alarm


def test_a_gain_and_a_loss_that_cancel_raise_no_alarm():
    row = by_arm(world(plan(**STUDY), {"arm": {"x": 0.1, "y": -0.1}}))["arm"]
    assert (row.alarm, row.general) == (False, False)
    assert row.why.startswith("no pooled gain is detectable")


def test_with_more_buyers_each_is_set_against_the_mean_of_the_others():
    design = plan(("arm", "base"), ("x", "y", "z"))
    row = by_arm(world(design, {"arm": {"x": 0.2}}))["arm"]
    gain = {buyer: found.value for buyer, found in row.gain_by_buyer.items()}
    assert list(row.moved) == [f"{buyer} - {OTHERS}" for buyer in "xyz"]
    assert row.moved[f"x - {OTHERS}"].value == pytest.approx(gain["x"] - (gain["y"] + gain["z"]) / 2)
    assert row.moved[f"z - {OTHERS}"].value == pytest.approx(gain["z"] - (gain["x"] + gain["y"]) / 2)
    assert row.alarm
    assert "leans toward x:" in row.why


def test_holms_family_is_arms_by_buyers():
    design = plan(("a1", "a2", "base", "lone"), ("x", "y", "z"), bases={"a1": "base", "a2": "base"})
    rows = by_arm(world(design, {"a1": {"x": 0.03}, "a2": {"y": 0.02}}))
    moved = [found for row in rows.values() for found in row.moved.values()]
    adjusted = [p for row in rows.values() for p in row.moved_adjusted_p.values()]
    assert len(moved) == 6
    assert adjusted == pytest.approx(holm([found.p for found in moved]))
    assert len(rows["lone"].split) == 3
    assert (rows["lone"].gain, rows["lone"].moved, rows["lone"].alarm) == (None, {}, False)
    assert rows["base"].why == "no base is declared for it, so no gain is questioned"


def test_a_family_is_named_only_where_it_has_two_buyers_and_both_are_favoured():
    buyers, gains = ("x", "y", "z"), {"arm": {"x": 0.15, "y": 0.15}}
    families = {"x": "alpha", "y": "alpha", "z": "beta"}
    named = by_arm(world(plan(buyers=buyers, families=families), gains))["arm"]
    assert "toward the alpha family (x, y):" in named.why
    single = by_arm(world(plan(buyers=buyers, families=families | {"y": "beta"}), gains))["arm"]
    assert "family" not in single.why


def test_the_held_out_domain_moves_nothing():
    results = world(plan(), {"arm": {"x": 0.1}})
    out_M = results.domain_M == 2
    other = replace(results, seller_utility_M=np.where(out_M, 0.9, results.seller_utility_M))
    assert [row.to_json() for row in splits(other)] == [row.to_json() for row in splits(results)]


def test_names_and_the_order_of_rows_change_nothing():
    gains = {"arm": {"x": 0.1, "y": 0.02}}
    results = world(plan(), gains)
    shuffled = synthetic.choose(results, np.random.default_rng(1).permutation(len(results.seller_M)))
    assert [row.to_json() for row in splits(shuffled)] == [row.to_json() for row in splits(results)]
    renamed = replace(results, design=plan(("zz", "aa")))
    one, two = by_arm(results)["arm"], by_arm(renamed)["zz"]
    assert one.moved["x - y"].interval() == two.moved["x - y"].interval()
    assert one.moved_adjusted_p == two.moved_adjusted_p


@pytest.mark.parametrize("case", ["equal", "one match", "no buyer y", "one buyer", "nothing"])
def test_thin_results_raise_no_alarm_and_no_error(case):
    results = world(plan(buyers=("x",) if case == "one buyer" else ("x", "y")), {"arm": {"x": 0.1}})
    if case != "one buyer":
        results = thinned(results, case)
    for row in splits(results):
        assert (row.alarm, row.general) == (False, False)
        assert row.why
        json.dumps(row.to_json(), allow_nan=False)
    if case == "equal":
        assert row.split["x - y"].problem == f"all equal, n = {row.split['x - y'].cells}"
