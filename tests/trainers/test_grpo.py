"""The pieces that TRL's trainer is given: its settings, its log, and the one method behind it all."""

import json
import math
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

from agents.agent import ActionKind
from arena.errors import UserError
from arena.play import Attempt, Outcome, Turn
from arena.protocol import Ending, Fault
from scenarios.scenario import Role
from tests.trainers.small_run import CPU, cells_for, recipe_for, tiny_base
from trainers.adapter import METHOD, generator
from trainers.grpo import Machine, dealt_out, prompts, settings, trainer_of
from trainers.loading import load
from trainers.metrics import Logged, logged, step_metrics
from trainers.ranks import Ranks
from trainers.recipe import Recipe
from trainers.rollout import Episode, Ids

__all__ = ["tiny_base"]


def made(recipe: Recipe, base: Path, folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    return trainer_of(recipe, settings(recipe, CPU, folder), cells_for(recipe), model, tokenizer)


def test_groups_are_whole_and_a_steps_metrics_are_in_trls_log(tiny_base: Path, tmp_path: Path) -> None:
    recipe = recipe_for(tiny_base, steps=2, group_size=4, groups_per_step=2)
    trainer, rollouts = made(recipe, tiny_base, tmp_path)
    steps: list[Sequence[Episode]] = []
    rollouts.watch = steps.append
    trainer.train()
    assert [[e.cell.number for e in step] for step in steps] == [[0] * 4 + [1] * 4, [2] * 4 + [3] * 4]
    for step, log in zip(steps, trainer.state.log_history, strict=False):
        own = [logged(episode, reference=True, vllm=False) for episode in step]
        expected = step_metrics(own, 4)
        found = {name: log[name] for name in expected}
        assert found == pytest.approx(expected, nan_ok=True, rel=1e-5)
        assert log["reward"] == pytest.approx(expected["score"])
        assert log["completions/mean_length"] * 8 == pytest.approx(expected["seller_tokens"])


@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_small_batches_learn_the_same_from_the_same_dialogues(
    loss_type: str, tiny_base: Path, tmp_path: Path
) -> None:
    """Several backward passes a step, and one update; `bnpo` weighs the tokens of each pass alike."""
    import torch

    recipe = recipe_for(tiny_base, steps=1, group_size=4, groups_per_step=2, loss_type=loss_type)
    found = []
    for micro in (None, 2):
        args = settings(recipe, Machine(cpu=True, micro_batch=micro), tmp_path)
        played, gradient = learned(recipe, args, tiny_base)
        found.append((played, gradient))
    (whole, at_once), (parts, in_parts) = found
    assert len(whole) == recipe.rows_per_step
    assert parts == whole
    assert at_once.norm() > 0.1
    torch.testing.assert_close(in_parts, at_once, rtol=1e-3, atol=1e-5)


def learned(recipe: Recipe, args: Any, base: Path) -> tuple[list[Ids], Any]:
    """Return the ids of a run's one step, and the gradient by all weights that it moved them by."""
    import torch
    from transformers import TrainerCallback

    class Gradient(TrainerCallback):  # type: ignore[misc]
        """Keeps what the optimizer is given."""

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            kept.append(
                torch.cat([p.grad.flatten() for p in given["model"].parameters() if p.grad is not None])
            )

    kept: list[Any] = []
    trainer, rollouts = trainer_of(recipe, args, cells_for(recipe), *load(str(base)), [Gradient()])
    played: list[Ids] = []
    rollouts.watch = lambda episodes: played.extend(episode.completion_ids for episode in episodes)
    trainer.train()
    (gradient,) = kept
    return played, gradient


@pytest.mark.parametrize("micro", [3, 7, 16])
def test_a_step_is_never_cut_short(micro: int, tmp_path: Path) -> None:
    """8 dialogues in passes of 3 would be 6, and TRL says nothing."""
    with pytest.raises(UserError, match=rf"--micro-batch {micro} does not divide the 8 dialogues"):
        settings(recipe_for("none"), Machine(cpu=True, micro_batch=micro), tmp_path)
    with pytest.raises(UserError, match="8 dialogues of a step do not spread evenly over 3 processes"):
        settings(recipe_for("none"), Machine(cpu=True, processes=3), tmp_path)


def test_a_control_deals_scores_out_within_a_group_and_voids_stay_void() -> None:
    scores = [0.1, None, 0.2, 0.3, 0.4, 0.5, 0.6, None]
    dealt = [dealt_out(scores, 4, Random(seed)) for seed in range(60)]
    for found in dealt:
        assert [found[1], found[7]] == [None, None]
        assert sorted(filter(None, found[:4])) == [0.1, 0.2, 0.3]
        assert sorted(filter(None, found[4:])) == [0.4, 0.5, 0.6]
    # Every deal is as likely as the next: no dialogue keeps a part of its own score.
    assert len({tuple(filter(None, found[:4])) for found in dealt}) == 6


def test_a_process_takes_its_own_part_of_what_was_dealt_out() -> None:
    ranks = [Ranks(SimpleNamespace(num_processes=2, process_index=index)) for index in (0, 1)]
    assert [each.share_of([1, 2, 3, 4]) for each in ranks] == [[1, 2], [3, 4]]


def test_shuffled_rewards_are_the_same_ones_elsewhere(tiny_base: Path, tmp_path: Path) -> None:
    """Dealt out by seed and step alone, so that a resumed control is the same control."""
    recipe = recipe_for(tiny_base, group_size=4, groups_per_step=2, shuffled_rewards=True)
    trainer, rollouts = made(recipe, tiny_base, tmp_path)
    import torch

    rows = [prompts(recipe)[place // 4]["prompt"] for place in range(8)]
    played: list[list[float]] = []
    rollouts.watch = lambda episodes: played.append([episode.reward for episode in episodes])
    dealt = []
    for _ in range(2):
        torch.manual_seed(7)
        dealt.append(rollouts(rows, trainer)["utility"])
    assert played[0] == played[1]
    assert len(set(played[0])) > 2
    for group in (slice(0, 4), slice(4, 8)):
        assert sorted(dealt[0][group]) == sorted(played[0][group])
    assert dealt[0] != played[0]
    assert dealt[0] == dealt[1]


def test_sampling_is_that_of_the_policy_itself(tmp_path: Path) -> None:
    """Anything else would bias the ratios that are learned from; the rest is the recipe's."""
    recipe = recipe_for("none", loss_type="bnpo", beta=0.02, learning_rate=3e-6)
    args = settings(recipe, CPU, tmp_path)
    assert (args.temperature, args.top_k, args.top_p, args.repetition_penalty) == (1.0, 0, 1.0, 1.0)
    assert (args.loss_type, args.beta, args.learning_rate) == ("bnpo", 0.02, 3e-6)
    assert (args.num_iterations, args.shuffle_dataset) == (1, False)
    assert args.max_completion_length == recipe.answer_tokens


@pytest.mark.parametrize(
    "own",
    [{"top_k": 1}, {"temperature": 0.01}, {"min_p": 0.9}, {"epsilon_cutoff": 0.5}, {"num_beams": 3}],
)
def test_what_a_base_says_of_sampling_is_not_asked(
    own: dict[str, Any], tiny_base: Path, tmp_path: Path
) -> None:
    """The dialogues are the very ones of a base that says nothing, and those of a group differ."""
    base = Path(shutil.copytree(tiny_base, tmp_path / "base"))
    path = base / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"do_sample": True} | own))
    plain, found = (sampled(folder, tmp_path / "run") for folder in (tiny_base, base))
    assert found == plain
    assert len(set(map(tuple, found))) > 1


def sampled(base: Path, folder: Path) -> list[Ids]:
    """Return the ids of one group of dialogues."""
    import torch

    recipe = recipe_for(base, turns=1, group_size=4, groups_per_step=1)
    args = settings(recipe, CPU, folder)
    trainer, rollouts = trainer_of(recipe, args, cells_for(recipe), *load(str(base)))
    torch.manual_seed(1)
    rows = [prompts(recipe)[0]["prompt"]] * 4
    return list(rollouts(rows, trainer)["completion_ids"])


@pytest.mark.parametrize("machine", [CPU, Machine(micro_batch=1)])
def test_settings_warn_of_nothing_and_recompute_layers_on_a_gpu(
    machine: Machine, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            args = settings(recipe_for("none"), machine, tmp_path)
        except ValueError as error:  # bf16 is refused where there is no GPU
            assert not machine.cpu
            pytest.skip(str(error))
    assert args.activation_checkpointing is not machine.cpu
    assert not args.logging_nan_inf_filter


def test_a_trl_without_the_method_is_named() -> None:
    with pytest.raises(UserError, match=rf"TRL 1\.\d+\.\d+ has no GRPOTrainer\.{METHOD}: install"):
        generator(object(), [])


class Other:
    """An accelerator of two processes, the other of which has `rows` rows."""

    num_processes, device, is_fsdp2 = 2, "cpu", False

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def gather(self, counts: Any) -> Any:
        import torch

        return torch.cat([counts, torch.tensor([self._rows])])


class Backend:
    """A trainer that answers each row with its first id."""

    def __init__(self, other: int, logprobs: bool) -> None:
        self.accelerator, self._logprobs = Other(other), logprobs
        self.asked: list[list[Ids]] = []

    def _generate_single_turn(
        self, rows: list[Ids], images: None, fields: dict[str, Any], num_generations: int
    ) -> Any:
        assert (images, fields, num_generations) == (None, {}, 1)
        self.asked.append(rows)
        return [(row[0], 9) for row in rows], [[-1.0, -2.0] for _ in rows] if self._logprobs else None


@pytest.mark.parametrize("logprobs", [False, True])
@pytest.mark.parametrize("other", [0, 2, 4])
def test_rows_are_filled_up_to_those_of_the_other_process(other: int, logprobs: bool) -> None:
    backend = Backend(other, logprobs)
    found, said = generator(backend, [7, 7])([[1, 2], [3]])
    assert backend.asked == [[[1, 2], [3], *[[7, 7]] * max(0, other - 2)]]
    assert found == [[1, 9], [3, 9]]
    assert said == ([[-1.0, -2.0]] * 2 if logprobs else None)


def test_no_rows_anywhere_are_not_generated_for() -> None:
    backend = Backend(0, True)
    assert generator(backend, [7])([]) == ([], None)
    assert backend.asked == []
    assert generator(Backend(1, True), [7])([]) == ([], [])


def turn(role: Role, message: str = "", fault: Fault | None = None, **changes: Any) -> Turn:
    attempts = (Attempt("?", fault, None),) if fault else ()
    own = {"kind": ActionKind.TALK, "offer": None} | changes
    return Turn(role, own["kind"], own["offer"], message, "", attempts)


def one(ending: Ending, score: float | None, turns: list[Turn], at_fault: Role | None = None) -> Logged:
    deal = (0,) if ending is Ending.AGREEMENT else None
    return Logged("linear", Outcome(ending, at_fault, deal, score, None, turns), 10, 50, 150)


def test_a_steps_metrics() -> None:
    """By hand: two groups of three, one of them flat; a void match counts in its own rate only."""
    seller, buyer = Role.SELLER, Role.BUYER
    step = [
        one(
            Ending.AGREEMENT, 0.8, [turn(seller, "Take this boat."), turn(buyer, kind=ActionKind.ACCEPT)]
        ),
        one(
            Ending.AGREEMENT, 0.2, [turn(buyer, "no", Fault.EMPTY), turn(seller, kind=ActionKind.ACCEPT)]
        ),
        one(Ending.PROVIDER_ERROR, None, [turn(seller, "Take this boat.", Fault.EMPTY)], buyer),
        one(Ending.FORFEIT_FORMAT, 0.0, [turn(seller, "", Fault.NOT_JSON, kind=None)], seller),
        one(Ending.FORFEIT_TIMEOUT, 0.0, [turn(seller, "Take this boat.")], buyer),
        Logged("boulware", one(Ending.WALK_AWAY, 0.0, []).outcome, 0, 2, 4),
    ]
    found = step_metrics(step, 3)
    assert found["score"] == pytest.approx(0.2)
    assert found["deal_rate"] == pytest.approx(2 / 5)
    assert found["walk_away_rate"] == found["forfeit_rate"] == pytest.approx(1 / 5)
    assert found["void_rate"] == pytest.approx(1 / 6)
    assert found["fault_rate"] == found["accept_rate"] == pytest.approx(1 / 4)
    assert found["leak_rate"] == 0
    assert found["opener_concentration"] == 1.0
    assert found["zero_variance_share"] == 0.5
    assert found["turns"] == pytest.approx(4 / 5)
    assert (found["seller_tokens"], found["dialogue_tokens"]) == (50, 252)
    assert found["read_tokens"] == 754
    assert (found["buyer/linear"], found["buyer/boulware"]) == pytest.approx((5 / 6, 1 / 6))


def test_a_step_of_void_matches_has_no_rates() -> None:
    found = step_metrics([one(Ending.PROVIDER_ERROR, None, [])] * 2, 2)
    assert (found["void_rate"], found["zero_variance_share"]) == (1.0, 1.0)
    assert all(math.isnan(found[name]) for name in ("score", "deal_rate", "fault_rate", "turns"))
