"""The FLOPs of a run by its plan and by the lineage of its checkpoint: one count of the same work."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest

from agents.local.tokens import ChatTokens
from agents.scripted import spec_of
from tests.trainers.small_run import cells_for, prepared_for, recipe_for
from trainers import work
from trainers.bases import Base
from trainers.checkpoints import MARK, STATE, Checkpoint
from trainers.grpo import Rollouts, prompts
from trainers.recipe import Recipe, TrainingBuyer
from trainers.registration import lineage
from trainers.rollout import Episode, Ids
from trainers.tiny import SPECIAL, tokenizer_of
from trainers.work import Lengths, work_of

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

TURNS = 4
BASE = Base("gemma", "google/gemma", "a" * 12, "E-series", "gemma", 2.3e9)


def recipe_of(beta: float) -> Recipe:
    """Return one step against a buyer with whom nobody agrees, so that all turns are taken."""
    buyer = TrainingBuyer(name="hardliner", version=spec_of("hardliner").version)
    return recipe_for("none", beta=beta, buyers=(buyer,), steps=1, turns=TURNS, context_tokens=16_000)


def played(recipe: Recipe, vllm: bool) -> tuple[dict[str, float], Sequence[Episode], int]:
    """Return a step's metrics and episodes, and how many ids its generation was handed and gave."""
    chat = ChatTokens(tokenizer_of(["You sell lamps to a hotel."] * 8, 320), [SPECIAL.index("<turn|>")])
    answer = [*chat._ids('{"action":"talk","message":"Well?"}'), chat.close]
    seen = 0

    def generate(rows: Sequence[Ids], *_: Any, **__: Any) -> Any:
        nonlocal seen
        seen += sum(len(row) + len(answer) for row in rows)
        return [answer] * len(rows), [[0.0] * len(answer)] * len(rows) if vllm else None

    alone = SimpleNamespace(num_processes=1, process_index=0, is_fsdp2=False)
    trainer = SimpleNamespace(accelerator=alone, use_vllm=vllm, _generate_single_turn=generate)
    rollouts = Rollouts(recipe, cells_for(recipe), chat)
    steps: list[Sequence[Episode]] = []
    rollouts.watch = steps.append
    rows = prompts(recipe)
    rollouts([rows[n]["prompt"] for n in range(len(rows)) for _ in range(recipe.group_size)], trainer)
    return rollouts.metrics, steps[0], seen


def lengths_of(episodes: Sequence[Episode]) -> Lengths:
    """Return how long the dialogues really were, in the words of a plan."""
    sampled = fmean(sum(episode.mask) for episode in episodes)
    told = fmean(episode.mask.count(0) for episode in episodes)
    heard = told / (TURNS - 1)
    first = fmean(len(episode.prompt_ids) for episode in episodes)
    return Lengths(prompt=first - heard, heard=heard, answer=sampled / TURNS, turns=TURNS)


def flops_of(folder: Path, recipe: Recipe, *steps: dict[str, float]) -> float:
    """Return the FLOPs of a checkpoint whose log says so of its steps."""
    (folder / MARK).write_text(json.dumps({"weights": "b" * 12}))
    (folder / STATE).write_text(json.dumps({"log_history": [{"loss": 0.1, **step} for step in steps]}))
    return float(lineage("run", recipe, BASE, Checkpoint(1, folder))["flops"])


@pytest.mark.parametrize("vllm", [False, True])
@pytest.mark.parametrize("beta", [0.0, 0.05])
def test_a_plan_of_the_real_lengths_is_the_lineage(
    beta: float, vllm: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = recipe_of(beta)
    metrics, episodes, _ = played(recipe, vllm)
    monkeypatch.setattr(work, "lengths_of", lambda *_, **__: lengths_of(episodes))
    asked = prepared_for(recipe)
    plan = work_of(recipe, BASE.params, asked.domains, asked.pool, tiny=True, vllm=vllm)
    assert plan.tokens == pytest.approx(metrics["dialogue_tokens"])
    assert flops_of(tmp_path, recipe, metrics) == pytest.approx(plan.flops, rel=0.005)


@pytest.mark.parametrize("beta", [0.0, 0.05])
def test_without_vllm_all_that_is_handed_to_the_model_is_read(beta: float) -> None:
    """And where there is a reference, it scores every dialogue once."""
    metrics, episodes, seen = played(recipe_of(beta), vllm=False)
    assert seen == sum(episode.read_anew for episode in episodes)
    assert metrics["read_tokens"] == seen + (beta > 0) * metrics["dialogue_tokens"]
    assert seen > 2 * metrics["dialogue_tokens"]


def test_a_step_counts_as_it_was_sampled_whatever_the_run_went_on_with(tmp_path: Path) -> None:
    recipe = recipe_of(0.05)
    with_vllm, without = (played(recipe, vllm)[0] for vllm in (True, False))
    apart = [flops_of(tmp_path, recipe, step) for step in (with_vllm, without)]
    assert apart[0] != pytest.approx(apart[1], rel=0.02)
    assert flops_of(tmp_path, recipe, with_vllm, without) == pytest.approx(sum(apart))
