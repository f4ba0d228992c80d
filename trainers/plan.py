"""The plan of a run: what it needs, what it takes, how it is started, and what is missing here for that.

Needs neither torch nor a network.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trainers import launch, work
from trainers.gpus import Gpu
from trainers.grpo import Machine
from trainers.layout import Layout
from trainers.memory import Memory
from trainers.missing import missing
from trainers.on_disk import described
from trainers.prepare import Prepared
from trainers.sizes import FREEZE, Size


@dataclass(frozen=True)
class Plan:
    """A run on a kind of machine."""

    prepared: Prepared
    machine: Machine
    size: Size | None
    """None: a model that is not here to be described."""
    gpus: Sequence[Gpu]
    """Found here."""
    layout: Layout
    """Over how many GPUs it is spread."""
    memory: Memory | None
    """Of each process that trains; None for a model that is not here to be described."""
    work: work.Work
    commands: tuple[tuple[str, ...], ...]
    """To be run, in this order: the server's, where there is one, and the trainer's."""
    missing: tuple[str, ...]
    """What stands in the way of starting here; each says what to do."""

    @property
    def on_cpu(self) -> bool:
        """Whether it is trained without a GPU."""
        return self.machine.cpu

    @property
    def tokens(self) -> int:
        """Of the longest dialogue expected; `memory` is for those."""
        return work.longest(self.prepared.recipe, self.work.talk)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON-ready data; null is what is not known."""
        size, recipe, flops = self.size, self.prepared.recipe, self.work.flops
        return {
            "model": recipe.model,
            "revision": recipe.revision,
            "size": recipe.size,
            "model_class": size and size.model_class,
            "architecture": size and size.architecture,
            "effective_parameters": size and size.effective_params,
            "parameters": size and size.total_params,
            "trainable_parameters": size and size.trainable_params,
            "frozen": FREEZE,
            "recipe": {"hash": recipe.hash} | recipe.content(),
            "vllm": {
                "mode": self.machine.vllm,
                "url": self.machine.vllm_url,
                "tensor_parallel": self.machine.vllm_tensor_parallel,
            },
            "micro_batch": self.machine.micro_batch,
            "device": "cpu" if self.on_cpu else "gpu",
            "gpus": {
                "needed": self.layout.needed,
                "of_gb": None if self.on_cpu else round(self.layout.gb, 1),
                "for_vllm_server": self.layout.servers,
                "processes": self.layout.processes,
                "found": [{"name": gpu.name, "gb": round(gpu.gb, 1)} for gpu in self.gpus],
            },
            "memory_gb_per_process": self.memory and self.memory.to_json(),
            "commands": [launch.shown(command) for command in self.commands],
            "dialogues": self.work.dialogues,
            "matches_to_choose": self.work.to_choose,
            "tokens_per_dialogue": round(self.work.talk.tokens),
            "longest_dialogue_tokens": self.tokens,
            "tokens": round(self.work.tokens),
            "seller_tokens": round(self.work.seller_tokens),
            "training_flops": None if math.isnan(flops) else flops,
            "buyers": [
                {
                    "name": bill.name,
                    "calls": round(bill.calls),
                    "tokens_in": round(bill.tokens_in),
                    "tokens_out": round(bill.tokens_out),
                    "usd": bill.usd,
                }
                for bill in self.work.bills
            ],
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
    expected = work.work_of(
        recipe,
        None if size is None else size.effective_params,
        prepared.domains,
        prepared.pool,
        tiny=size is not None and size.made_here,
        vllm=machine.vllm != "off",
    )
    layout = Layout(recipe, size, machine, gpus, work.longest(recipe, expected.talk))
    return Plan(
        prepared=prepared,
        machine=machine,
        size=size,
        gpus=gpus,
        layout=layout,
        memory=layout.memory(layout.processes),
        work=expected,
        commands=tuple(_commands(prepared, size, machine, layout, options)),
        missing=tuple(missing(recipe.model, size, machine, layout)),
    )


def _commands(
    prepared: Prepared, size: Size | None, machine: Machine, layout: Layout, options: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    if machine.vllm == "server":
        recipe, url = prepared.recipe, machine.vllm_url or launch.SERVER_URL
        yield tuple(launch.served(recipe.model, layout.servers, url, recipe.context_tokens))
    if layout.processes == 1:
        yield ("arena", "train", *options)
    else:
        launcher = size.launcher if size else "fsdp2"
        yield tuple(launch.launched(launcher, layout.processes, layout.machines, options))
