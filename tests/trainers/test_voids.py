"""Void matches through TRL: they are no part of a group's baseline, of its spread, or of the loss."""

from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

from tests.trainers.small_run import CPU, cells_for, recipe_for, tiny_base
from trainers import rollout
from trainers.grpo import settings, trainer_of
from trainers.loading import load
from trainers.recipe import LossType
from trainers.rollout import Episode

__all__ = ["tiny_base"]

SCORES = [0.2, 0.8, None, 0.5, None, None, 0.7, None]
"""Of two groups of four: one with a void match, one with a lone survivor."""


def void_by(scores: list[float | None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the dialogues of a rollout have these scores; what a void one gets is the rollout's doing."""
    from arena.play import Outcome
    from arena.protocol import Ending

    played = rollout.run_lockstep

    async def scored(*arguments: Any) -> list[Outcome]:
        turns = [outcome.turns for outcome in await played(*arguments)]
        return [
            Outcome(Ending.PROVIDER_ERROR, None, None, None, None, said)
            if score is None
            else Outcome(Ending.WALK_AWAY, None, None, score, None, said)
            for score, said in zip(scores, turns, strict=True)
        ]

    monkeypatch.setattr(rollout, "run_lockstep", scored)


def batch(base: Path, folder: Path, **changes: Any) -> tuple[Any, list[Episode], dict[str, Any]]:
    """Return a trainer, and one generation batch as its episodes and as it enters the loss."""
    import torch

    recipe = recipe_for(base, group_size=4, groups_per_step=2, **changes)
    model, tokenizer = load(str(base))
    args = settings(recipe, CPU, folder)
    trainer, rollouts = trainer_of(recipe, args, cells_for(recipe), model, tokenizer)
    episodes: list[Episode] = []
    rollouts.watch = episodes.extend
    torch.manual_seed(1)
    trainer.model.train()
    rows = [trainer.train_dataset[place // 4] for place in range(8)]
    inputs = trainer._generate_and_score_completions(rows)
    trainer.current_gradient_accumulation_steps = 1
    return trainer, episodes, inputs


def gradient(trainer: Any, inputs: dict[str, Any]) -> Any:
    """Return the gradient of the loss by all weights, as one vector."""
    import torch

    trainer.model.zero_grad()
    trainer._compute_loss(trainer.model, inputs).backward()
    return torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None])


def test_a_group_is_compared_without_its_void_matches(
    tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: [0.2, 0.8, 0.5] has mean 0.5 and standard deviation 0.3."""
    void_by(SCORES, monkeypatch)
    _, episodes, inputs = batch(tiny_base, tmp_path)
    assert [episode.reward for episode in episodes] == SCORES
    assert inputs["advantages"].tolist() == pytest.approx([-1, 1, 0, 0, 0, 0, 0, 0], abs=1e-3)


@pytest.mark.parametrize("loss_type", get_args(LossType))
def test_a_void_match_is_no_part_of_the_loss(
    loss_type: str, tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is said to be worth, with a penalty that every token would add to."""
    import torch

    void_by(SCORES, monkeypatch)
    trainer, episodes, inputs = batch(tiny_base, tmp_path, loss_type=loss_type, beta=0.5)
    void = torch.tensor([score is None for score in SCORES])
    answered = [
        len(e.completion_ids) > 20 for e, score in zip(episodes, SCORES, strict=True) if score is None
    ]
    assert any(answered)
    counted = inputs["completion_mask"] * inputs["tool_mask"]
    assert counted[void].sum() == 0
    assert counted[~void].sum(dim=1).min() > 0
    worth = inputs | {"advantages": torch.where(void, 5.0, inputs["advantages"])}
    assert torch.equal(gradient(trainer, inputs), gradient(trainer, worth))


def test_dapo_divides_by_the_tokens_of_finished_matches(
    tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    void_by(SCORES, monkeypatch)
    _, episodes, inputs = batch(tiny_base, tmp_path, loss_type="dapo")
    own = [sum(episode.mask) for episode in episodes]
    assert [tokens == 0 for tokens in own] == [score is None for score in SCORES]
    assert inputs["num_items_in_batch"] == sum(own)
