"""What is known of arms, arranged for the figure of scaling."""

import math
from dataclasses import replace

import numpy as np
import pytest

from arena.analysis import Analysis
from leaderboard.figures.scaling import scaling_figure
from leaderboard.inference.scaling import (
    MATCHED,
    REFERENCE,
    boundaries,
    points,
    rate_label,
    size_label,
)
from leaderboard.known import Kind, Known
from leaderboard.verdicts import gains_over_base
from tests.leaderboard import synthetic


def known(params=None, family="gemma", **lineage) -> Known:
    return Known(Kind.TRAINED, family, None, family, params, lineage)


def world(arms: dict[str, tuple[str, Known]], bases: dict[str, Known]):
    """The points of arms, each with the name of its base and what is known of it."""
    declared = {arm: base for arm, (base, _) in arms.items()}
    plan = synthetic.design((*arms, *bases), ("x", "y"), scenarios=12, analysis=Analysis(bases=declared))
    results = synthetic.play_all(plan, np.random.default_rng(0))
    agents = bases | {arm: profile for arm, (_, profile) in arms.items()}
    return points(plan, agents, gains_over_base(results))


SMALL, LARGE = known(2e9, architecture="early"), known(8e9, architecture="late")


def study(**changes):
    """Two sizes, two learning rates; the smaller rate is trained longer."""
    arms = {
        "small slow": ("small", known(learning_rate=1e-6, steps=104)),
        "small fast": ("small", known(learning_rate=3e-6, steps=56)),
        "large slow": ("large", known(learning_rate=1e-6, steps=104)),
        "large fast": ("large", known(learning_rate=3e-6, steps=104)),
    }
    return {point.seller: point for point in world(arms | changes, {"small": SMALL, "large": LARGE})}


def test_an_arm_takes_its_bases_size_unless_it_has_its_own():
    found = study(**{"large own": ("large", known(9e9, learning_rate=1e-6))})
    assert found["small slow"].params == 2e9
    assert found["large own"].params == 9e9
    assert next(iter(found)).startswith("small"), "in the order of size"
    assert found["small slow"].gain.contrast.minus == ("small",)


def test_compute_is_set_against_the_arm_of_the_same_base_at_the_commonest_rate():
    found = study()
    assert found["small slow"].compute == found["large slow"].compute == REFERENCE
    assert found["large fast"].compute == MATCHED
    assert found["small fast"].compute == "56 steps, not 104"
    assert not found["small fast"].matched


def test_tokens_count_before_steps_and_within_a_twentieth():
    tokens = {"learning_rate": 1e-6, "steps": 104, "tokens": 1e8}
    found = study(
        **{
            "small slow": ("small", known(**tokens)),
            "near": ("small", known(learning_rate=3e-6, steps=9, tokens=1.05e8)),
            "far": ("small", known(learning_rate=5e-6, steps=104, tokens=1.06e8)),
        }
    )
    assert found["near"].compute == MATCHED
    assert found["far"].compute == "1.06e+08 tokens, not 1e+08"
    assert found["small fast"].compute == "56 steps, not 104", "it does not say its tokens"


def test_what_nobody_said_is_not_taken_for_matched():
    found = study(**{"small fast": ("small", known(learning_rate=3e-6))})
    assert found["small fast"].compute == "tokens and steps are not known"
    assert not found["small fast"].matched


def test_a_line_passes_through_the_checkpoint_that_was_trained_longest():
    found = study(**{"small early": ("small", known(learning_rate=1e-6, steps=52))})
    assert found["small slow"].on_line
    assert not found["small early"].on_line
    assert found["small early"].compute == "52 steps, not 104"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("3e-6", 3e-6),
        (3e-6, 3e-6),
        ("fast", None),
        (0, None),
        (-1, None),
        (True, None),
        (math.nan, None),
    ],
)
def test_a_learning_rate_is_a_positive_number_however_it_is_written(given, read):
    point = study(**{"odd": ("small", known(learning_rate=given))})["odd"]
    assert point.learning_rate == read
    assert point.placed == (read is not None)
    assert point.lacking == ([] if read else ["lineage: learning_rate"])


def test_the_boundary_lies_between_architectures_halfway_on_a_log_axis():
    (border,) = boundaries(list(study().values()))
    assert border.at == pytest.approx(4e9)
    assert (border.smaller, border.larger) == ("early", "late")


def test_families_tell_architectures_apart_only_where_not_all_are_said():
    found = list(study().values())
    unsaid = [replace(point, architecture=None) for point in found]
    assert boundaries(unsaid) == [], "one family"
    mixed = [replace(point, family="other") if point.params == 8e9 else point for point in unsaid]
    assert [(b.smaller, b.larger) for b in boundaries(mixed)] == [("gemma", "other")]
    same = [replace(point, architecture="one") for point in mixed]
    assert boundaries(same) == []


def test_labels_are_as_people_write_them():
    assert [rate_label(rate) for rate in (1e-6, 3e-6, 1e-5, 2.5e-4)] == [
        "1e-6",
        "3e-6",
        "1e-5",
        "2.5e-4",
    ]
    assert [size_label(size) for size in (2.3e9, 12e9, 4.5e8, 3.16e5)] == ["2.3B", "12B", "450M", "316K"]


def test_the_figure_has_the_placed_points_alone_hollow_where_not_matched():
    found = study(**{"unknown": ("small", known())})
    figure = scaling_figure(list(found.values()), boundaries(list(found.values()))).to_dict()
    rows = {
        row["seller"]: row for data in figure["datasets"].values() for row in data if "seller" in row
    }
    assert set(rows) == set(found) - {"unknown"}
    assert {name for name, row in rows.items() if not row["solid"]} == {"small fast"}
    gain = found["small fast"].gain
    assert rows["small fast"]["gain"] == gain.estimate.value
    assert (rows["small fast"]["low"], rows["small fast"]["high"]) == gain.interval
    assert scaling_figure([found["unknown"]], []) is None
