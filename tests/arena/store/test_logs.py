"""What stands beside the matches: deviations, audits and training runs; added, never changed."""

import math

import pytest

from agents.scripted import spec_of
from arena.store import RunStatus, Store, StoreError
from tests.arena.running import rows
from tests.arena.store.matches import design, freeze


def test_deviations_are_kept_by_design_oldest_first(store: Store) -> None:
    one, other = design(), design(seed=1)
    freeze(store, one)
    freeze(store, other)
    store.add_deviation(one.hash, "n", "64 scenarios instead of 32", "too wide")
    store.add_deviation(other.hash, "guard", "a limit moved", "a typo")
    store.add_deviation(one.hash, "n", "64 scenarios instead of 32", "too wide")
    first, second = store.deviations(one.hash)
    assert first[1:] == second[1:] == ("n", "64 scenarios instead of 32", "too wide")
    assert store.designs()[0].created_at <= first.at < second.at
    assert [entry.kind for entry in store.deviations(other.hash)] == ["guard"]
    assert store.deviations("0" * 12) == []


def test_a_deviation_belongs_to_a_stored_design(store: Store) -> None:
    with pytest.raises(StoreError, match="holds no design 000000000000: see arena designs"):
        store.add_deviation("0" * 12, "n", "something", "why not")


def test_a_buyers_newest_audit_counts_and_the_others_stay(store: Store, address: str) -> None:
    linear, random = spec_of("linear").version, spec_of("random").version
    assert store.audits() == {}
    store.add_audit(linear, {"exploitable": True, "policies": [{"share": 0.95}]})
    store.add_audit(random, {"exploitable": False})
    store.add_audit(linear, {"exploitable": False, "policies": []})
    assert store.audits() == {
        linear: {"exploitable": False, "policies": []},
        random: {"exploitable": False},
    }
    assert len(rows(address, "audits")) == 3


def test_a_training_run_from_its_start_to_its_end(store: Store) -> None:
    recipe = {"base": "small", "learning_rate": 1e-5, "buyers": ["linear"]}
    store.add_training_run("sft then grpo", recipe)
    (run,) = store.training_runs()
    assert (run.name, run.recipe, run.ended_at) == ("sft then grpo", recipe, None)
    assert (run.status, run.why) == ("running", None)
    store.add_training_steps("sft then grpo", [(1, {"reward": 0.25, "kl": 0.0})])
    store.add_training_steps("sft then grpo", [(3, {"reward": math.nan}), (2, {"kl": math.inf})])
    store.add_training_steps("sft then grpo", [])
    steps = store.training_steps("sft then grpo")
    assert [step for step, _ in steps] == [1, 2, 3]
    assert steps[0][1] == {"reward": 0.25, "kl": 0.0}
    assert steps[1][1] == {"kl": math.inf}
    assert math.isnan(steps[2][1]["reward"])
    store.end_training_run("sft then grpo", RunStatus.DONE)
    (ended,) = store.training_runs()
    assert ended._replace(ended_at=None, status=RunStatus.RUNNING) == run
    assert ended.status is RunStatus.DONE
    assert ended.ended_at is not None
    assert ended.ended_at > run.started_at


def test_a_run_that_goes_on_keeps_its_start_and_repeats_steps(store: Store) -> None:
    store.add_training_run("a", {"seed": 1})
    store.add_training_steps("a", [(1, {"reward": 0.1}), (2, {"reward": 0.2})])
    begun = store.training_runs()
    store.end_training_run("a", "stopped", "every answer was faulty")
    assert [(run.status, run.why) for run in store.training_runs()] == [
        ("stopped", "every answer was faulty")
    ]
    store.add_training_run("a", {"seed": 1})
    assert store.training_runs() == begun
    store.add_training_steps("a", [(2, {"reward": 0.3})])
    assert store.training_steps("a") == [(1, {"reward": 0.1}), (2, {"reward": 0.3})]


def test_a_name_stands_for_one_recipe(store: Store) -> None:
    store.add_training_run("a", {"seed": 1})
    with pytest.raises(StoreError, match="'a' with another recipe: choose another name"):
        store.add_training_run("a", {"seed": 2})
    assert [run.recipe for run in store.training_runs()] == [{"seed": 1}]


def test_an_unknown_run_has_no_steps_and_gets_none(store: Store) -> None:
    with pytest.raises(StoreError, match="holds no training run 'b'"):
        store.add_training_steps("b", [(1, {"reward": 0.0})])
    with pytest.raises(StoreError, match="holds no training run 'b'"):
        store.end_training_run("b", RunStatus.DONE)
    assert store.training_steps("b") == []
    assert store.training_runs() == []


def test_what_is_noted_raises_the_revision(store: Store) -> None:
    freeze(store, design())
    seen = [store.revision()]
    for note in (
        lambda: store.add_deviation(design().hash, "n", "what", "why"),
        lambda: store.add_audit("a", {}),
        lambda: store.add_training_run("a", {}),
        lambda: store.add_training_steps("a", [(1, {})]),
        lambda: store.end_training_run("a", RunStatus.DONE),
    ):
        note()
        seen.append(store.revision())
    assert seen == sorted(set(seen))
