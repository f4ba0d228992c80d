"""GRPO on rollouts of the arena: the pieces that TRL's trainer is given, and the trainer itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from agents.local.tokens import ChatTokens, stops_of
from arena.errors import UserError
from trainers import memory
from trainers.adapter import generator
from trainers.cells import Cells
from trainers.metrics import logged, step_metrics
from trainers.ranks import Ranks
from trainers.recipe import Recipe
from trainers.rollout import Episode, roll_out

TEMPERATURE = 1.0
"""Anything else, or a cut of the tail, would bias the ratios that GRPO learns from."""
IDLE = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say yes."})
"""What a process generates for while only others have dialogues left."""


@dataclass(frozen=True)
class Machine:
    """Where and how a run is computed; nothing here is part of its recipe."""

    cpu: bool = False
    micro_batch: int | None = None
    """Dialogues that one device takes through one backward pass; None: all of its share of a step."""
    processes: int = 1
    vllm: Literal["off", "colocate", "server"] = "off"
    vllm_url: str | None = None
    """Of a server; None where none was named yet."""
    vllm_tensor_parallel: int = 1
    report_to: str | None = None


class Rollouts:
    """What TRL calls for every batch: plays the cells, and hands over ids, masks and scores."""

    def __init__(self, recipe: Recipe, cells: Cells, chat: ChatTokens) -> None:
        self._recipe, self._cells, self._chat = recipe, cells, chat
        self._idle = chat.first(IDLE)
        self.metrics: dict[str, float] = {}
        """Of the last batch, those of all processes together; :func:`trainers.metrics.step_metrics`."""
        self.watch: Callable[[Sequence[Episode]], None] = lambda episodes: None
        """Called with this process's episodes of every batch."""

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """Play one dialogue a prompt; a prompt only names its cell, and a group repeats it."""
        cells = [self._cells.at(prompt[-1]["cell"]) for prompt in prompts]
        ranks = Ranks(trainer.accelerator)
        generate = generator(trainer, self._idle)
        episodes = roll_out(cells, self._chat, self._recipe, generate, ranks.any)
        read = {"reference": self._recipe.beta > 0, "vllm": trainer.use_vllm}
        step = ranks.all_of([logged(episode, **read) for episode in episodes])
        self.metrics = step_metrics(step, self._recipe.group_size)
        self.watch(episodes)
        scores = [one.score for one in step]
        if self._recipe.shuffled_rewards:
            number = cells[0].number // self._recipe.groups_per_step
            rng = Random(f"{self._recipe.seed}/{number}")
            scores = dealt_out(scores, self._recipe.group_size, rng)
        return {
            "prompt_ids": [episode.prompt_ids for episode in episodes],
            "completion_ids": [episode.completion_ids for episode in episodes],
            "logprobs": [e.logprobs for e in episodes] if trainer.use_vllm else None,
            "env_mask": [episode.mask for episode in episodes],
            "utility": ranks.share_of(scores),
            "metrics": self.metrics,
        }


def dealt_out(scores: Sequence[float | None], group_size: int, rng: Random) -> list[float | None]:
    """Return a step's scores, each dealt to a random dialogue of its own group: a negative control.

    Within a group, because GRPO compares a dialogue with its group: every group keeps its mean and its
    spread, and only the link between a dialogue and its score is cut. Void dialogues, None, stay void.
    """
    found = list(scores)
    for start in range(0, len(found), group_size):
        group = range(start, start + group_size)
        places = [place for place in group if found[place] is not None]
        kept = [found[place] for place in places]
        rng.shuffle(kept)
        for place, value in zip(places, kept, strict=True):
            found[place] = value
    return found


def score(
    completions: Sequence[Any],
    utility: Sequence[float | None],
    metrics: Sequence[Mapping[str, float]],
    log_metric: Callable[[str, float], None],
    **_: Any,
) -> list[float | None]:
    """Return the rewards, the seller's scores that the engine gave, and log the step's metrics.

    TRL hands every row the same `metrics`, and adds what is logged here to its own.
    """
    for name, value in metrics[0].items():
        log_metric(name, value)
    return list(utility)


def prompts(recipe: Recipe) -> Any:
    """Return the dataset: one row a group, in the order in which the run takes them.

    A row's message only names its cell; what the seller reads depends on who opens and is rendered in
    the rollout.
    """
    from datasets import Dataset

    rows = recipe.steps * recipe.groups_per_step
    return Dataset.from_list(
        [{"prompt": [{"role": "user", "content": f"cell {n}", "cell": n}]} for n in range(rows)]
    )


def uneven(recipe: Recipe, machine: Machine) -> str | None:
    """Return why a step's dialogues do not spread evenly over the machine's processes and their backward
    passes, and what to do; None: they do."""
    rows, micro = recipe.rows_per_step, machine.micro_batch
    share, over = divmod(rows, machine.processes)
    if over:
        return (
            f"the {rows} dialogues of a step do not spread evenly over {machine.processes} processes: "
            "start as many as divide them, or change --groups-per-step"
        )
    if micro and share % micro:
        fits = max(size for size in range(1, min(micro, share) + 1) if share % size == 0)
        return (
            f"--micro-batch {micro} does not divide the {share} dialogues that a process learns from in "
            f"a step: --micro-batch {fits} does"
        )
    return None


def settings(recipe: Recipe, machine: Machine, folder: Path) -> Any:
    """Return TRL's configuration of a run that lives in `folder`. Raises UserError where a step's
    dialogues cannot be spread evenly.

    Make it before the model is loaded, and keep it: under DeepSpeed ZeRO-3 it holds what tells
    ``from_pretrained`` to spread weights as they are read, by a weak reference
    (``transformers.integrations.deepspeed``). Without it every process would load all of them.
    """
    from trl import GRPOConfig

    if said := uneven(recipe, machine):
        raise UserError(said)
    share = recipe.rows_per_step // machine.processes
    micro = machine.micro_batch or share
    return GRPOConfig(
        str(folder),
        max_steps=recipe.steps,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant",
        max_grad_norm=recipe.max_grad_norm,
        beta=recipe.beta,
        loss_type=recipe.loss_type,
        scale_rewards="group",
        num_generations=recipe.group_size,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=share // micro,
        shuffle_dataset=False,
        logging_steps=1,
        save_steps=recipe.save_steps,
        report_to=machine.report_to or "none",
        use_cpu=machine.cpu,
        bf16=not machine.cpu,
        # Of the reference, which TRL loads itself and only reads.
        model_init_kwargs=None if machine.cpu else {"dtype": "bfloat16"},
        activation_checkpointing=not machine.cpu,
        logging_nan_inf_filter=False,  # a loss that is no number is logged as one, and ends the run
        disable_tqdm=True,
        seed=recipe.seed,
        **_sampling(recipe, machine),
    )


def _sampling(recipe: Recipe, machine: Machine) -> dict[str, Any]:
    """Return the part of TRL's configuration that says how answers are sampled, and where."""
    how = {
        "max_completion_length": recipe.answer_tokens,
        "temperature": TEMPERATURE,
        "top_k": 0,
        "top_p": 1.0,
    }
    if machine.vllm == "off":
        return how | {"generation_kwargs": {"max_new_tokens": recipe.answer_tokens}}
    return how | {
        "use_vllm": True,
        "vllm_mode": machine.vllm,
        "vllm_server_base_url": machine.vllm_url,
        "vllm_tensor_parallel_size": machine.vllm_tensor_parallel,
        "vllm_gpu_memory_utilization": memory.COLOCATED,
        "vllm_importance_sampling_mode": "token_truncate",
    }


def trainer_of(
    recipe: Recipe,
    args: Any,
    cells: Cells,
    model: Any,
    tokenizer: Any,
    callbacks: Sequence[Any] = (),
) -> tuple[Any, Rollouts]:
    """Return TRL's trainer for a run with these :func:`settings`, and the rollouts it learns from."""
    from trl import GRPOTrainer

    chat = ChatTokens(tokenizer, stops_of(model.generation_config))
    rollouts = Rollouts(recipe, cells, chat)
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=score,
        args=args,
        train_dataset=prompts(recipe),
        processing_class=tokenizer,
        rollout_func=rollouts,
        callbacks=list(callbacks),
    )
    generator(trainer, [])  # a TRL without the method fails here, not in the first step
    # No setting turns TRL's card off, and it cannot name a base that lies in a folder.
    trainer.create_model_card = lambda **_: None
    return trainer, rollouts
