"""What a design declares before play: what belongs to its identity, and what cannot be declared."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from arena.analysis import Analysis, Contrast, Guards
from arena.design import Design
from scenarios.canonical import digest
from tests.leaderboard.synthetic import design

FULL: dict[str, Any] = {
    "contrasts": (Contrast(plus=("a",), minus=("b",)), Contrast(plus=("c", "b"), minus=("b2", "a"))),
    "bases": {"a": "b", "c": "b2"},
    "families": {"a": "one", "x": "other"},
    "training_families": ("one", "two"),
    "excluded": ("x", "y"),
}


def declared(**changes: Any) -> Design:
    """Return a design that declares FULL with changes."""
    return design(("a", "b", "c", "b2"), analysis=Analysis(**FULL | changes))


def test_a_design_without_an_analysis_keeps_the_hash_of_earlier_releases() -> None:
    old = design()
    content = json.loads(old.model_dump_json())
    del content["analysis"]  # earlier releases knew of none
    for side in ("sellers", "buyers", "domains"):
        content[side].sort(key=lambda entry: (entry["name"], entry["version"]))
    assert old.hash == digest(content, 12)
    assert design(protocol=1, draw=1).hash == "90a327c3a2b6"  # what such a release says
    assert design(analysis=Analysis()).hash != old.hash


def test_orders_that_mean_nothing_do_not_change_the_hash() -> None:
    first, second = FULL["contrasts"]
    same: list[dict[str, Any]] = [
        {"contrasts": (second, first)},
        {"contrasts": (first, Contrast(plus=("b", "c"), minus=("a", "b2")))},
        {"bases": {"c": "b2", "a": "b"}},
        {"training_families": ("two", "one")},
        {"excluded": ("y", "x")},
        {"families": {"a": "none of these"}},
    ]
    for changes in same:
        assert declared(**changes).hash == declared().hash, changes


def test_everything_declared_is_in_the_hash() -> None:
    first, _ = FULL["contrasts"]
    other: list[dict[str, Any]] = [
        {"contrasts": (first,)},
        {"contrasts": (Contrast(plus=("b",), minus=("a",)), FULL["contrasts"][1])},
        {"bases": {"a": "b"}},
        {"training_families": ("one",)},
        {"excluded": ("x",)},
        {"guards": Guards(action_leak=0.1)},
        {"alarm_margin": 0.1},
        {"interval": "bootstrap"},
    ]
    hashes = {declared(**changes).hash for changes in other}
    assert len(hashes | {declared().hash}) == len(other) + 1


def test_a_contrast_in_words() -> None:
    first, second = FULL["contrasts"]
    assert first.label({"a": "A", "b": "B"}) == "A - B"
    assert second.label({"c": "C"}) == "(C - b2) - (a - b)"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"contrasts": (Contrast(plus=("a",), minus=("b",)),) * 2}, "stands twice"),
        (
            {"contrasts": (Contrast(plus=("a",), minus=("b",)), Contrast(plus=("b",), minus=("a",)))},
            "stands twice",
        ),
        ({"bases": {"a": "a"}}, "its own base"),
        ({"bases": {"a": "nobody"}}, "nobody, which is no seller"),
        ({"excluded": ("nobody",)}, "nobody, which is no buyer"),
        ({"guards": {"action_leak": 2}}, "less than or equal to 1"),
    ],
)
def test_what_cannot_be_declared(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        declared(**changes)
