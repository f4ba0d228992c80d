"""What GRPO learns from: every token that the seller sampled, and none that was said to it.

Through TRL's own loss, with a real Gemma 4 of each architecture family that was taught for some seconds.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.trainers.small_run import CPU, cells_for, make_base, recipe_for

torch = pytest.importorskip("torch", reason="training needs pip install 'bargaining-arena[train]'")


class Step(NamedTuple):
    """A batch as it enters the loss, and what was sampled for it."""

    trainer: Any
    episodes: list[Any]
    sampled: list[list[int]]
    inputs: dict[str, Any]


def trainer_and_rollouts(base: Path, folder: Path, **changes: Any) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from trainers.grpo import settings, trainer_of

    recipe = recipe_for(base, group_size=4, groups_per_step=2, **changes)
    model = AutoModelForCausalLM.from_pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    return trainer_of(recipe, settings(recipe, CPU, folder), cells_for(recipe), model, tokenizer)


def spied(method: Callable[..., Any], sampled: list[list[int]], ends: frozenset[int]) -> Any:
    """Return `model.generate`, noting what it adds to every row up to the end of the answer."""

    def generate(*arguments: Any, **options: Any) -> Any:
        found = method(*arguments, **options)
        for row in found[:, options["input_ids"].shape[1] :].tolist():
            stop = next((place + 1 for place, token in enumerate(row) if token in ends), len(row))
            sampled.append(row[:stop])
        return found

    return generate


@pytest.fixture(scope="module", params=["E-series", "conventional"])
def step(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Step:
    """One generation batch of eight dialogues."""
    folder = tmp_path_factory.mktemp("gradients")
    base = make_base(folder / "base", request.param)
    trainer, rollouts = trainer_and_rollouts(base, folder / "run")
    episodes: list[Any] = []
    rollouts.watch = episodes.extend
    sampled: list[list[int]] = []
    model = trainer.model
    model.generate = spied(model.generate, sampled, frozenset(model.generation_config.eos_token_id))
    torch.manual_seed(3)
    model.train()
    rows = [trainer.train_dataset[place // 4] for place in range(8)]
    inputs = trainer._generate_and_score_completions(rows)
    trainer.current_gradient_accumulation_steps = 1
    return Step(trainer, episodes, sampled, inputs)


def per_token(step: Step, inputs: dict[str, Any]) -> tuple[Any, Any]:
    """Return the loss's gradient by each token's log-probability, and those log-probabilities."""
    trainer, kept = step.trainer, {}
    original = trainer._get_per_token_logps_and_entropies

    def watched(*arguments: Any, **options: Any) -> Any:
        logprobs, entropies, rest = original(*arguments, **options)
        kept["logprobs"] = logprobs.detach().requires_grad_()
        return kept["logprobs"], entropies.detach(), rest

    trainer._get_per_token_logps_and_entropies = watched
    try:
        trainer._compute_loss(trainer.model, inputs).backward()
    finally:
        trainer._get_per_token_logps_and_entropies = original
    return kept["logprobs"].grad, kept["logprobs"].detach()


def learned(inputs: dict[str, Any]) -> Any:
    """Return where the loss looks: rows by tokens, true at what the seller sampled."""
    return (inputs["completion_mask"] * inputs["tool_mask"]).bool()


def with_advantages(step: Step) -> dict[str, Any]:
    """Return the batch with an advantage in every row, also in groups whose scores were all equal."""
    rows = len(step.episodes)
    return step.inputs | {"advantages": torch.tensor([1.0, -1.0] * (rows // 2))}


def test_every_seller_token_has_a_gradient_and_no_other_has(step: Step) -> None:
    inputs = with_advantages(step)
    gradient, _ = per_token(step, inputs)
    own = learned(inputs)
    others = inputs["completion_mask"].bool() & ~own
    assert own.sum() == sum(sum(episode.mask) for episode in step.episodes)
    assert own.sum() > 100
    assert others.sum() > 100
    assert (gradient[own] != 0).all()
    assert (gradient[~own] == 0).all()


def test_the_mask_is_not_all_zero_in_any_row_that_counts(step: Step) -> None:
    assert all(
        episode.reward is not None and any(episode.mask) and not all(episode.mask)
        for episode in step.episodes
        if len(episode.outcome.turns) > 2
    )


def test_trained_ids_are_those_that_were_sampled(step: Step) -> None:
    own = learned(step.inputs)
    for row, episode in enumerate(step.episodes):
        trained = step.inputs["completion_ids"][row][own[row]].tolist()
        assert trained == [
            t for t, mark in zip(episode.completion_ids, episode.mask, strict=True) if mark
        ]
    rows = [[t for t, mark in zip(e.completion_ids, e.mask, strict=True) if mark] for e in step.episodes]
    assert sum(map(len, rows)) == sum(map(len, step.sampled))
    assert sorted(token for row in rows for token in row) == sorted(t for s in step.sampled for t in s)
    for row in rows:  # each row is made of whole answers, in order
        while row:
            answer = next(s for s in step.sampled if row[: len(s)] == s)
            row = row[len(answer) :]


def test_what_the_buyer_says_changes_no_loss_term_of_its_own(step: Step) -> None:
    """With other words in their place its tokens still have no gradient and add nothing to the loss."""
    inputs = with_advantages(step)
    own = learned(inputs)
    others = inputs["completion_mask"].bool() & ~own
    ids = inputs["completion_ids"].clone()
    ids[others] = torch.randint(20, len(step.trainer.processing_class), (int(others.sum()),))
    changed = inputs | {"completion_ids": ids}
    gradient, _ = per_token(step, changed)
    assert (gradient[~own] == 0).all()
    # Another likelihood of the buyer's tokens alone leaves the loss where it was.
    assert loss_with(step, inputs, own, 0.0) == loss_with(step, inputs, own, 3.0)


def loss_with(step: Step, inputs: dict[str, Any], own: Any, shift: float) -> float:
    """Return the loss where all tokens that are not the seller's are likelier by `shift`."""
    trainer = step.trainer
    original = trainer._get_per_token_logps_and_entropies

    def shifted(*arguments: Any, **options: Any) -> Any:
        logprobs, entropies, rest = original(*arguments, **options)
        return logprobs + shift * (~own), entropies + shift * (~own), rest

    trainer._get_per_token_logps_and_entropies = shifted
    try:
        with torch.no_grad():
            return float(trainer._compute_loss(trainer.model, inputs))
    finally:
        trainer._get_per_token_logps_and_entropies = original


def test_weights_move_only_for_what_the_seller_said(step: Step) -> None:
    """Without the mask the gradient of the weights is another; with no own token it is 0."""
    trainer, inputs = step.trainer, with_advantages(step)

    def gradient_of(mask: Any) -> Any:
        trainer.model.zero_grad()
        changed = inputs | {"tool_mask": mask, "num_items_in_batch": torch.tensor(1.0)}
        trainer._compute_loss(trainer.model, changed).backward()
        return torch.cat([p.grad.flatten() for p in trainer.model.parameters() if p.grad is not None])

    own = inputs["tool_mask"]
    assert gradient_of(torch.zeros_like(own)).abs().max() == 0
    mine, all_of_it = gradient_of(own), gradient_of(torch.ones_like(own))
    assert mine.abs().max() > 0
    assert not torch.allclose(mine, all_of_it)
    trainer.model.zero_grad()
