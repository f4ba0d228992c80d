"""The plan of a run: what it needs, what it takes, how it is started, and what is missing here for that.

Needs neither torch nor a network.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trainers import launch
from trainers.gpus import Gpu
from trainers.grpo import Machine
from trainers.layout import Layout
from trainers.missing import missing
from trainers.on_disk import described
from trainers.prepare import Prepared
from trainers.sizes import FREEZE
from trainers.work import Work, longest, work_of


@dataclass(frozen=True)
class Plan:
    """A run on a kind of machine."""

    prepared: Prepared
    layout: Layout
    work: Work
    commands: tuple[tuple[str, ...], ...]
    """To be run, in this order: the server's, where there is one, and the trainer's."""
    missing: tuple[str, ...]
    """What stands in the way of starting here; each says what to do."""

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-ready data; null is what is not known."""
        layout, recipe, flops = self.layout, self.prepared.recipe, self.work.flops
        size, machine = layout.size, layout.machine
        need = layout.memory(layout.processes)
        return {
            "model": recipe.model,
            "size": recipe.size,
            "model_class": size and size.model_class,
            "architecture": size and size.architecture,
            "effective_parameters": size and size.effective_params,
            "parameters": size and size.total_params,
            "trainable_parameters": size and size.trainable_params,
            "frozen": FREEZE,
            "recipe": {"hash": recipe.hash} | recipe.content(),
            "vllm": {
                "mode": machine.vllm,
                "url": machine.vllm_url,
                "tensor_parallel": machine.vllm_tensor_parallel,
            },
            "micro_batch": machine.micro_batch,
            "device": "cpu" if machine.cpu else "gpu",
            "gpus": {
                "needed": layout.needed,
                "of_gb": None if machine.cpu else round(layout.gb, 1),
                "for_vllm_server": layout.server_gpus,
                "processes": layout.processes,
                "found": [{"name": gpu.name, "gb": round(gpu.gb, 1)} for gpu in layout.gpus],
            },
            "memory_gb_per_process": need and need.to_json(),
            "commands": [launch.shown(command) for command in self.commands],
            "dialogues": self.work.dialogues,
            "matches_to_choose": self.work.to_choose,
            "tokens_per_dialogue": round(self.work.lengths.tokens),
            "longest_dialogue_tokens": layout.tokens,
            "tokens": round(self.work.tokens),
            "seller_tokens": round(self.work.seller_tokens),
            "training_flops": None if math.isnan(flops) else flops,
            "buyers": [bill.to_json() for bill in self.work.bills],
            "usd": self.work.usd,
            "settings": self.prepared.ours,
            "warnings": self.prepared.warnings,
            "missing": list(self.missing),
        }


def plan_of(
    prepared: Prepared, machine: Machine, gpus: Sequence[Gpu], options: Sequence[str] = ()
) -> Plan:
    """Return the plan of a run on a machine with `gpus`.

    Of `machine`, `processes` counts only under a launcher, where it is over 1; else the plan says how
    many there should be. `options` are those of `arena train` that ask for this run.
    """
    recipe = prepared.recipe
    size = prepared.size or described(recipe.model)
    expected = work_of(
        recipe,
        None if size is None else size.effective_params,
        prepared.domains,
        prepared.pool,
        tiny=size is not None and size.made_here,
        vllm=machine.vllm != "off",
    )
    layout = Layout(recipe, size, machine, gpus, longest(recipe, expected.lengths))
    return Plan(
        prepared=prepared,
        layout=layout,
        work=expected,
        commands=tuple(_commands(layout, options)),
        missing=tuple(missing(layout)),
    )


def _commands(layout: Layout, options: Sequence[str]) -> Iterator[tuple[str, ...]]:
    recipe, size, machine = layout.recipe, layout.size, layout.machine
    if machine.vllm == "server":
        url = machine.vllm_url or launch.SERVER_URL
        yield tuple(launch.served(recipe.model, layout.server_gpus, url, recipe.context_tokens))
    if layout.processes == 1:
        yield ("arena", "train", *options)
    else:
        launcher = size.launcher if size else "fsdp2"
        yield tuple(launch.launched(launcher, layout.processes, layout.machines, options))
