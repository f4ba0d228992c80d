"""When a run is stopped, and what is left of it: the decision on its own, and in a real training."""

from collections.abc import Sequence
from math import inf, isnan, nan
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

from tests.trainers.small_run import CPU, cells_for, recipe_for, tiny_base
from trainers.collapse import CollapseStop, Limits, Metrics, spoilt, unplayed, verdict
from trainers.grpo import settings, trainer_of
from trainers.loading import load

__all__ = ["tiny_base"]

HEALTHY = {
    "loss": 0.1,
    "grad_norm": 1.0,
    "zero_variance_share": 0.25,
    "fault_rate": 0.1,
    "void_rate": 0.0,
}


def steps(*changes: dict[str, float | None]) -> list[Metrics]:
    return [{**HEALTHY, **change} for change in changes]


def test_a_healthy_run_goes_on() -> None:
    assert verdict(steps(*[{}] * 50)) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"zero_variance_share": 1.0}, "scored the same in 5 steps in a row"),
        ({"fault_rate": 0.26}, "more than 25% of the seller's turns were faulty in 5 steps in a row"),
        ({"zero_variance_share": 1.0, "void_rate": 1.0}, "no match was finished in 5 steps in a row"),
    ],
)
def test_a_collapse_is_five_steps_in_a_row(change: dict[str, float | None], why: str) -> None:
    assert verdict(steps({}, *[change] * 4)) is None
    assert verdict(steps({}, *[change] * 4, {}, change)) is None
    assert why in (verdict(steps({}, *[change] * 5)) or "")


def test_only_where_nothing_was_finished_is_the_policy_not_to_blame() -> None:
    void: dict[str, float | None] = {"zero_variance_share": 1.0, "void_rate": 1.0}
    assert unplayed(steps({}, *[void] * 5))
    assert not unplayed(steps({}, *[void] * 4))
    assert not unplayed(steps({}, *[void] * 4, {"zero_variance_share": 1.0}))


def test_limits_themselves_are_no_fault_and_a_share_just_below_one_still_teaches() -> None:
    assert verdict(steps({}, *[{"fault_rate": 0.25}] * 9)) is None
    assert verdict(steps({}, *[{"zero_variance_share": 0.999}] * 9)) is None


def test_a_base_that_never_spoke_the_protocol_has_not_lost_it() -> None:
    assert verdict(steps(*[{"fault_rate": 0.9}] * 20)) is None
    assert verdict(steps({"fault_rate": 0.2}, *[{"fault_rate": 0.9}] * 5)) is not None


def test_steps_without_a_value_are_no_collapse() -> None:
    lacking: list[dict[str, float | None]] = [{"fault_rate": nan}, {"fault_rate": None}] * 5
    assert verdict(steps({}, *lacking)) is None
    assert verdict([{"loss": 0.0}] * 20) is None


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "zero_variance_share": st.sampled_from([0.0, 0.5, 1.0]),
                "fault_rate": st.sampled_from([0.0, 0.25, 0.3, 1.0]),
                "void_rate": st.sampled_from([0.0, 0.5, 1.0]),
            }
        ),
        max_size=12,
    ),
    st.integers(1, 4),
)
def test_one_good_step_among_the_last_keeps_a_run_going(history: list[dict[str, Any]], k: int) -> None:
    good = {"zero_variance_share": 0.0, "fault_rate": 0.0, "void_rate": 0.0}
    limits = Limits(steps=k)
    for place in range(k):
        assert verdict([*history, good, *[{**good, "fault_rate": 1.0}] * place], limits) is None
    assert verdict([*history, good, *[{**good, "fault_rate": 1.0}] * k], limits) is not None


@pytest.mark.parametrize("broken", [nan, inf, -inf])
@pytest.mark.parametrize("name", ["loss", "grad_norm", "kl"])
def test_numbers_that_are_not_finite_spoil_a_step(name: str, broken: float) -> None:
    assert spoilt(HEALTHY) is None
    assert "no longer a finite number" in (spoilt({**HEALTHY, name: broken}) or "")


def _trained(
    base: Path, folder: Path, stop: CollapseStop, changes: dict[str, Any], also: Sequence[Any] = ()
) -> Any:
    recipe = recipe_for(base, **changes)
    model, tokenizer = load(str(base))
    trainer, rollouts = trainer_of(
        recipe, settings(recipe, CPU, folder), cells_for(recipe), model, tokenizer, [stop, *also]
    )
    rollouts.watch = stop.watch
    trainer.train()
    return trainer


def test_a_collapsed_run_is_saved_and_says_why(tiny_base: Path, tmp_path: Path) -> None:
    """At a limit that every step breaks, the run ends after two steps with a checkpoint there."""
    stop = CollapseStop(limits=Limits(steps=2, zero_variance_share=0.0))
    trainer = _trained(tiny_base, tmp_path, stop, {"steps": 6, "save_steps": 6})
    assert trainer.state.global_step == 2
    assert stop.reason is not None
    assert "2 steps in a row" in stop.reason
    assert not stop.spoilt
    assert (tmp_path / "checkpoint-2" / "model.safetensors").is_file()


def test_a_spoilt_step_is_never_saved(tiny_base: Path, tmp_path: Path) -> None:
    """Even where a checkpoint was due at that very step."""
    from transformers import TrainerCallback

    class Gradient(TrainerCallback):  # type: ignore[misc]
        """Spoils the gradient of the second step."""

        def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if state.global_step == 1:
                given["model"].get_output_embeddings().weight.register_hook(lambda g: g * nan)

    stop = CollapseStop()
    trainer = _trained(tiny_base, tmp_path, stop, {"steps": 6, "save_steps": 2}, [Gradient()])
    assert trainer.state.global_step == 2
    assert stop.spoilt
    assert "gradient" in (stop.reason or "")
    assert not (tmp_path / "checkpoint-2").exists()


def test_a_loss_that_is_no_number_is_logged_as_one(tiny_base: Path, tmp_path: Path) -> None:
    """The trainer would log the mean of earlier losses in its place, and go on."""
    from trl import GRPOTrainer

    compute = GRPOTrainer.compute_loss

    def spoilt_loss(*args: Any, **given: Any) -> Any:
        return compute(*args, **given) * nan

    stop = CollapseStop()
    with patch.object(GRPOTrainer, "compute_loss", spoilt_loss):
        trainer = _trained(tiny_base, tmp_path, stop, {"steps": 3, "save_steps": 1})
    assert isnan(trainer.state.log_history[0]["loss"])
    assert trainer.state.global_step == 1
    assert stop.spoilt
    assert (stop.reason or "").startswith("the loss")
    assert list(tmp_path.glob("checkpoint-*")) == []
