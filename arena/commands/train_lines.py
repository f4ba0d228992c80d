"""What `arena train` says: the plan, what is missing, and how the run ended."""

import math
import re
from collections.abc import Iterator
from dataclasses import asdict
from textwrap import wrap
from typing import TYPE_CHECKING

from arena.printable import plain
from leaderboard.wording import counted, database_option
from trainers.launch import shown
from trainers.sizes import FREEZE

if TYPE_CHECKING:
    from trainers.choice import Choice
    from trainers.memory import Memory
    from trainers.plan import Plan
    from trainers.run import Finished
    from trainers.work import Work


WIDTH, HANG = 100, 4
"""Characters of a line, and before what is folded."""


def plan_lines(plan: "Plan", name: str) -> Iterator[str]:
    """Yield a plan, its sections in the order in which one asks."""
    for line in _what(plan, name):
        yield from _folded(line)
    yield "To start it:"
    for command in plan.commands:
        yield f"  {plain(shown(command))}"


def _folded(line: str) -> list[str]:
    """Return a line in pieces that a terminal shows whole; what follows stands under what is folded."""
    label = re.match(r" *(\w+: +)?", line)
    hang = " " * max(label.end() if label else 0, HANG)
    return wrap(line, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def _what(plan: "Plan", name: str) -> Iterator[str]:
    recipe = plan.prepared.recipe
    yield f"Run {plain(name)}, recipe {recipe.hash}"
    yield from _model(plan)
    if recipe.shuffled_rewards:
        yield "  A negative control: within a group, rewards are dealt to dialogues at random."
    for sentence in plan.prepared.ours:
        yield f"  {plain(sentence)}"
    yield from _machine(plan)
    yield from _work(plan.work, recipe.steps)
    for warning in plan.prepared.warnings:
        yield f"  note: {plain(warning)}"


def missing_lines(plan: "Plan") -> Iterator[str]:
    """Yield what stands in the way of starting here; nothing where nothing does."""
    if plan.missing:
        yield "Missing here:"
    for sentence in plan.missing:
        yield f"  - {plain(sentence)}"


def closing_lines(
    finished: "Finished", choice: "Choice | None", name: str, steps: int, db: str | None, judged: bool
) -> Iterator[str]:
    """Yield how a run ended, and what to do next; `judged`: its evaluation follows anyway."""
    from arena.store import RunStatus

    status = "stopped early" if finished.status is RunStatus.STOPPED else finished.status
    why = f": {plain(finished.why)}" if finished.why else ""
    yield f"{plain(name)}: {status} at step {finished.step} of {steps}{why}"
    if finished.advice:
        yield f"  {plain(finished.advice)}"
    if finished.checkpoints:
        saved = ", ".join(map(plain, finished.checkpoints))
        yield f"  checkpoints of base {plain(finished.base)}: {saved}"
    if choice is not None:
        yield f"  {_chosen(choice, finished.base)}"
    if judged:
        yield "  What each gained over the base is judged below, on scenarios of the eval split."
    if not finished.final:
        yield "  Its checkpoints are neither chosen from nor evaluated before it has gone on to its end."
    at = database_option(db)
    yield f"Its curves: arena runs show {plain(name)}{at}"
    if finished.checkpoints and finished.final and not judged:
        yield f"What it gained: arena evaluate {plain(name)} --design FILE{at}"


def _chosen(choice: "Choice", base: str) -> str:
    """Return which checkpoint is best. The best of several scores too well where it was chosen."""
    if choice.best is None:
        return "none was chosen: no match on the dev split was finished by the base and the others"
    if choice.best == base:
        return "best on the dev split: the base itself; no checkpoint scored more there"
    means = (choice.scores[name].mean for name in (choice.best, base))
    own, other = (f"{mean:.3f}" for mean in means)
    return (
        f"best on the dev split: {plain(choice.best)}, with {own} against the base's {other} "
        f"(n = {choice.compared}); chosen there, it is to be judged elsewhere"
    )


def _model(plan: "Plan") -> Iterator[str]:
    size, recipe = plan.layout.size, plan.prepared.recipe
    if size is None:
        yield f"  model:   {plain(recipe.model)}; not on this machine, so its size is not known"
        return
    where = "made here, once" if size.makes(recipe.model) else size.model_class
    yield f"  model:   {plain(recipe.model)} ({where}), {size.architecture}"
    yield (
        f"           {amount(size.trainable_params)} parameters trained of {amount(size.total_params)} "
        f"({amount(size.effective_params)} effective); frozen: {FREEZE}"
    )


def _machine(plan: "Plan") -> Iterator[str]:
    layout, machine = plan.layout, plan.layout.machine
    found = ", ".join(plain(f"{gpu.name} of {gpu.gb:.0f} GB") for gpu in layout.gpus)
    if machine.cpu:
        yield f"  machine: this CPU; GPUs found: {found or 'none'}"
    else:
        server = f" and {layout.server_gpus} for a vLLM server" if layout.server_gpus else ""
        yield (
            f"  machine: {counted(layout.needed, 'GPU')} of {layout.gb:.0f} GB needed to train{server}; "
            f"found: {found or 'none'}"
        )
    processes = counted(layout.processes, "process", "processes")
    micro = counted(machine.micro_batch, "dialogue") if machine.micro_batch else "all its dialogues"
    yield (f"           {processes}, {micro} at a time on each; vLLM {machine.vllm}")
    need = layout.memory(layout.processes)
    if need is not None:
        yield f"  memory:  {_parts(need)} for dialogues of {layout.tokens:,} tokens"


def _parts(memory: "Memory") -> str:
    unit, per_gb = ("GB", 1) if memory.total >= 1 else ("MB", 1000)
    each = ", ".join(f"{part} {gb * per_gb:.3g}" for part, gb in asdict(memory).items() if gb)
    return f"{memory.total * per_gb:.3g} {unit} a process: {each}"


def _work(work: "Work", steps: int) -> Iterator[str]:
    flops = "FLOPs not known" if math.isnan(work.flops) else f"{work.flops:.2g} training FLOPs"
    yield (
        f"  work:    {counted(work.dialogues, 'dialogue')} in {counted(steps, 'step')}, about "
        f"{work.lengths.tokens:,.0f} tokens each: {amount(work.tokens)} tokens, of them the seller's "
        f"{amount(work.seller_tokens)}; {flops}"
    )
    yield (
        "           (6 N a token learned from, 2 N a token sampled, prefilled or scored; N effective "
        "parameters; lengths are assumed)"
    )
    matches = counted(work.to_choose, "match", "matches")
    yield f"           then {matches} of the dev split, to choose among its checkpoints"
    for bill in work.bills:
        price = "at an unknown price" if bill.usd is None else f"${bill.usd:,.2f}"
        yield (
            f"  money:   {plain(bill.name)}: {bill.calls:,.0f} calls, {amount(bill.tokens_in)} tokens "
            f"in, {amount(bill.tokens_out)} out: {price}"
        )
    if not work.bills:
        yield "  money:   none: no buyer is a language model"


def amount(value: float) -> str:
    """Return a large number in three digits: 4.63B, 38.6M."""
    for limit, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"
