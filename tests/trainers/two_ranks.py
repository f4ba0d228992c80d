"""What each of two processes does in `test_ranks`: ``torchrun ... two_ranks.py BASE FOLDER``.

It trains two steps, plays one batch with weights that FSDP2 spreads over both processes and one as a
vLLM server would answer it, and writes what it saw to ``FOLDER/rank-N.json``.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from agents.language_model.prompt import system_prompt
from agents.scripted import spec_of
from scenarios.scenario import Role
from tests.trainers.small_run import cells_for, recipe_for
from trainers.grpo import Machine, score, settings, trainer_of
from trainers.recipe import Recipe
from trainers.rollout import Episode

BUYERS = ("walk_away", "hardliner")
"""One leaves at once, the other never: dialogues of very different lengths."""


def recipe_of(base: str) -> Recipe:
    buyers = [{"name": name, "version": spec_of(name).version} for name in BUYERS]
    return recipe_for(base, steps=2, group_size=3, groups_per_step=2, turns=4, buyers=buyers, seed=5)


def crc(ids: Sequence[int]) -> str:
    return hashlib.sha256(str(list(ids)).encode()).hexdigest()[:8]


class Server:
    """A stand-in for a vLLM server: each answer names the prompt that it answers."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def generate(self, prompts: list[list[int]], **_: Any) -> dict[str, Any]:
        """Return an answer to each prompt, in order."""
        answers = [self._answer(ids) for ids in prompts]
        return {
            "prompt_ids": prompts,
            "completion_ids": answers,
            "logprobs": [[[-1.0]] * len(ids) for ids in answers],
        }

    def _answer(self, prompt: list[int]) -> list[int]:
        text = json.dumps({"action": "talk", "message": crc(prompt)})
        end = self._tokenizer.convert_tokens_to_ids("<turn|>")
        return [*self._tokenizer(text, add_special_tokens=False)["input_ids"], end]


def served(trainer: Any) -> None:
    """Let `trainer` generate by TRL's own code for vLLM servers, which deals answers out by place."""
    from trl.generation.vllm_generation import VLLMGeneration

    backend = object.__new__(VLLMGeneration)
    plain = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "generation_kwargs")
    backend.__dict__ |= dict.fromkeys([*plain, "logprobs", "structured_outputs_regex"])
    backend.mode, backend.accelerator, backend.max_completion_length = "server", trainer.accelerator, 48
    backend.vllm_client = Server(trainer.processing_class)
    trainer.use_vllm, trainer.vllm_generation = True, backend
    trainer._last_loaded_step = trainer.state.global_step


def lengths(completions: Sequence[Any], **rest: Any) -> list[float]:
    """Reward long answers, so that there is something to learn in every group."""
    score(completions, **rest)
    return [float(len(completion[0]["content"])) for completion in completions]


def sharded(trainer: Any) -> Any:
    """Spread the weights over both processes, as FSDP2 does; return what makes `trainer` believe it.

    accelerate does so on GPUs only, where every layer's weights are gathered for every token: a process
    whose answers end earlier must go on with the others.
    """
    from accelerate import Accelerator
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    fully_shard(trainer.model, mesh=init_device_mesh("cpu", (2,)))
    trainer.model_wrapped = trainer.model
    return patch.object(Accelerator, "is_fsdp2", True)


def briefed(episode: Episode, tokenizer: Any) -> bool:
    """Return whether the prompt is that of the episode's own cell."""
    text = tokenizer.decode(episode.prompt_ids)
    return system_prompt(episode.cell.told[Role.SELLER], "brief1") in text


def own_answers(episode: Episode, tokenizer: Any) -> bool:
    """Return whether each of a server's answers names the ids that it was asked with."""
    ids, marks = (
        episode.prompt_ids + episode.completion_ids,
        [0] * len(episode.prompt_ids) + episode.mask,
    )
    starts = [p for p in range(1, len(ids)) if marks[p] and not marks[p - 1]]
    ends = [
        next(p for p in range(start, len(ids) + 1) if p == len(ids) or not marks[p]) for start in starts
    ]
    return all(
        crc(ids[:start]) in tokenizer.decode(ids[start:end])
        for start, end in zip(starts, ends, strict=True)
    )


def batch(trainer: Any) -> list[Any]:
    """Return the prompts of this rank's share of a step whose groups have different buyers."""
    rank = trainer.accelerator.process_index
    return [trainer.train_dataset[rank]["prompt"]] * 3


def main(base: str, folder: Path) -> None:
    """Train and play; write what was seen."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    recipe = recipe_of(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    machine = Machine(cpu=True, processes=2)
    with patch("trainers.grpo.score", lengths):
        trainer, rollouts = trainer_of(
            recipe, settings(recipe, machine, folder / "run"), cells_for(recipe), model, tokenizer
        )
    episodes: list[Episode] = []
    rollouts.watch = episodes.extend
    rows: list[int] = []
    generate = model.generate

    def counting(*arguments: Any, **options: Any) -> Any:
        rows.append(options["input_ids"].shape[0])
        return generate(*arguments, **options)

    with patch.object(model, "generate", counting):
        trainer.train()
    weights = [hashlib.sha256(p.detach().numpy().tobytes()).hexdigest() for p in model.parameters()]
    trained = list(episodes)
    episodes.clear()
    with sharded(trainer):
        rollouts(batch(trainer), trainer)
    spread = [sum(episode.mask) for episode in episodes]
    served(trainer)
    episodes.clear()
    result = rollouts(batch(trainer), trainer)
    seen = {
        "processes": trainer.accelerator.num_processes,
        "rows": rows,
        "asked": [len(_answers(e)) for e in trained],
        "cells": [episode.cell.number for episode in trained],
        "rewards": [episode.reward for episode in trained],
        "briefed": [briefed(e, tokenizer) for e in trained if e.prompt_ids != [rollouts._chat.close]],
        "weights": weights,
        "moved": [log["grad_norm"] for log in trainer.state.log_history if "grad_norm" in log],
        "logged": [log["score"] for log in trainer.state.log_history if "score" in log],
        "metrics": rollouts.metrics,
        "spread_tokens": spread,
        "served_answers": [len(_answers(e)) for e in episodes],
        "own_answers": [own_answers(e, tokenizer) for e in episodes],
        "served_lengths": [
            [len(result[k][i]) for k in ("completion_ids", "logprobs")] for i in range(3)
        ],
    }
    (folder / f"rank-{trainer.accelerator.process_index}.json").write_text(json.dumps(seen))


def _answers(episode: Episode) -> list[int]:
    """Return where the seller's answers begin."""
    marks = [0, *episode.mask]
    return [p for p in range(1, len(marks)) if marks[p] and not marks[p - 1]]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
