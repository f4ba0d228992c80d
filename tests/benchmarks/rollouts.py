"""What a rollout costs on a CPU: dialogues together or one by one, and what it adds to generation.

    python -m tests.benchmarks.rollouts

makes and teaches a `tiny` model, plays training cells with it through TRL's trainer, and prints two
ratios in processor time, on one thread: seller tokens a second with 64 dialogues at once against one at
a time, and rollout steps against the calls of ``model.generate`` in them. The same calls are made again
by themselves, with the same rows and random states, so that they sample the same tokens; on a busy
machine that ratio is the noisier one. ARENA_BENCHMARKS names a file to write the figures to as JSON.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.figures import Figure, show
from tests.trainers.small_run import CPU, cells_for, recipe_for
from trainers.grpo import settings, trainer_of
from trainers.recipe import Recipe
from trainers.warm_start import warm_start

TOGETHER = 64
ALONE = 10
"""Dialogues that are played one at a time; all of 64 would take minutes."""
TIMES = 3
"""Rollout steps that are measured against their bare calls."""
TAUGHT = {"matches": 300, "steps": 90, "batch": 16}
"""A shorter warm start than a run's: enough for dialogues of several turns."""


class Call(NamedTuple):
    """One call of ``model.generate``: what it was given, the random state before it, what it gave, and
    its processor time in seconds."""

    options: dict[str, Any]
    state: Any
    ids: Any
    seconds: float


class Bench:
    """A trainer of a tiny model, whose generation can be watched."""

    def __init__(self, folder: Path, **taught: Any) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        recipe = recipe_of("none")
        self.cells = cells_for(recipe)
        warm_start(recipe, self.cells, folder / "base", architecture="E-series", **{**TAUGHT, **taught})
        self.model = AutoModelForCausalLM.from_pretrained(folder / "base")
        tokenizer = AutoTokenizer.from_pretrained(folder / "base")
        recipe = recipe_of(str(folder / "base"))
        self.trainer, self.rollouts = trainer_of(
            recipe, settings(recipe, CPU, folder / "run"), self.cells, self.model, tokenizer
        )
        self.rollouts.watch = self._count
        self.tokens = self.turns = 0

    def _count(self, episodes: Any) -> None:
        self.tokens += sum(sum(episode.mask) for episode in episodes)
        self.turns += sum(len(episode.outcome.turns) for episode in episodes)

    def play(self, first: int, dialogues: int) -> float:
        """Play so many cells from `first` on, all at once; return the processor time in seconds."""
        prompts = [[{"cell": first + place}] for place in range(dialogues)]
        began = time.process_time()
        self.rollouts(prompts, self.trainer)
        return time.process_time() - began

    def watched(self, first: int, dialogues: int) -> tuple[float, list[Call]]:
        """Play as :meth:`play` does; return its time and the calls of ``model.generate`` in it."""
        import torch

        calls: list[Call] = []
        generate = self.model.generate

        def noting(**options: Any) -> Any:
            state = torch.get_rng_state()
            began = time.process_time()
            ids = generate(**options)
            calls.append(Call(options, state, ids, time.process_time() - began))
            return ids

        self.model.generate = noting
        try:
            return self.play(first, dialogues), calls
        finally:
            del self.model.generate

    def again(self, calls: list[Call]) -> float:
        """Make the same calls and nothing else; return the processor time in seconds."""
        import torch

        found = []
        seconds = 0.0
        self.model.eval()
        for call in calls:
            torch.set_rng_state(call.state)
            began = time.process_time()
            with torch.no_grad():
                found.append(self.model.generate(**call.options))
            seconds += time.process_time() - began
        assert all(torch.equal(ids, call.ids) for ids, call in zip(found, calls, strict=True))
        return seconds


def recipe_of(model: str) -> Recipe:
    """Return the recipe: matches of six turns a side, as a demonstration has them."""
    changes = {"turns": 6, "answer_tokens": 80, "context_tokens": 2048}
    return recipe_for(model, group_size=2, groups_per_step=TOGETHER // 2, **changes)


def batching(bench: Bench, together: int = TOGETHER, alone: int = ALONE) -> dict[str, float]:
    """Return seller tokens a second of processor time, together and one by one, and their ratio."""
    figures = {}
    for name, sizes in (("together", [together]), ("alone", [1] * alone)):
        bench.tokens = bench.turns = 0
        seconds = sum(bench.play(1_000 + place, size) for place, size in enumerate(sizes))
        figures[name] = bench.tokens / seconds
        figures[f"{name}_tokens"], figures[f"{name}_turns"] = bench.tokens, bench.turns
    return figures | {"ratio": figures["together"] / figures["alone"]}


def overhead(bench: Bench, together: int = TOGETHER, times: int = TIMES) -> dict[str, float]:
    """Return the seconds of rollout steps, of the calls of generate in them and of the same calls made
    again, and what a step adds to its calls as a share."""
    steps = within = again = 0.0
    for number in range(times):
        seconds, calls = bench.watched(5_000 + number * together, together)
        steps += seconds
        within += sum(call.seconds for call in calls)
        again += bench.again(calls)
    shares = {"overhead": steps / within - 1, "overhead_again": steps / again - 1}
    return {"steps": steps, "within": within, "again": again, **shares}


def measure(folder: Path) -> dict[str, Any]:
    """Make the model and return all figures."""
    bench = Bench(folder)
    bench.play(0, 2)  # imports and first allocations are not a rollout's
    return {
        "batching": batching(bench),
        "overhead": overhead(bench),
        "load": os.getloadavg()[0],
        "processors": os.cpu_count(),
    }


def table(result: dict[str, Any]) -> str:
    """Return the figures as lines."""
    speed, cost = result["batching"], result["overhead"]
    return "\n".join(
        (
            f"one thread, processor time; load {result['load']:.1f}, {result['processors']} processors",
            f"seller tokens a second, {TOGETHER} dialogues at once   {speed['together']:9,.0f}",
            f"seller tokens a second, one dialogue at a time  {speed['alone']:9,.0f}",
            f"{speed['ratio']:.1f} times as many together",
            f"{TIMES} rollout steps of {TOGETHER} dialogues        {cost['steps']:8.2f} s",
            f"the calls of generate in them           {cost['within']:8.2f} s",
            f"the same calls made again               {cost['again']:8.2f} s",
            f"{cost['overhead']:.1%} on top of generation ({cost['overhead_again']:.1%} made again)",
        )
    )


def shown(result: dict[str, Any]) -> list[Figure]:
    """Return what batching gains, and what a rollout adds to its calls."""
    speed, cost = result["batching"], result["overhead"]
    return [
        Figure(
            f"training rollouts of a tiny model, {TOGETHER} dialogues at once",
            speed["together"],
            "seller tokens / CPU s",
            "the same, one at a time",
            speed["alone"],
            speed["ratio"],
            least=5.0,
            conditions="one thread",
        ),
        Figure(
            "what a rollout adds to its calls of model.generate, as a share",
            cost["overhead"],
            "",
            most=0.15,
            conditions=f"one thread, {TIMES} steps of {TOGETHER} dialogues",
        ),
    ]


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        result = measure(Path(name))
    show(table(result), result, shown(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
