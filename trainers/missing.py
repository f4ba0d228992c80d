"""What stands in the way of starting a run here; every sentence says what to do."""

from collections.abc import Iterator
from importlib.util import find_spec

from agents.local.weights import INSTALL
from trainers import memory
from trainers.grpo import uneven
from trainers.launch import SERVER_URL
from trainers.layout import COUNTS, Layout
from trainers.loading import out_of_reach
from trainers.on_disk import here, offline

LIBRARIES = ("torch", "transformers", "trl", "accelerate", "datasets")
VLLM = "pip install 'bargaining-arena[vllm]'"


def missing(layout: Layout) -> Iterator[str]:
    """Yield what is missing here: libraries, GPUs, memory, and a model that may not be fetched."""
    model, size, machine = layout.recipe.model, layout.size, layout.machine
    absent = [name for name in LIBRARIES if not installed(name)]
    if absent:
        yield f"{', '.join(absent)} not installed: {INSTALL}"
    if machine.vllm != "off" and not installed("vllm"):
        yield f"vllm not installed: {VLLM}, or --vllm off"
    if machine.vllm == "server" and machine.vllm_url is None:
        yield f"no vLLM server is named: once one runs, give its address, --vllm server {SERVER_URL}"
    if machine.report_to and not installed(machine.report_to):
        name = machine.report_to
        yield f"{name} not installed: pip install {name}, or report to another with --report-to"
    if (machine.cpu or machine.processes > 1) and (said := uneven(layout.recipe, machine)):
        yield said
    if not machine.cpu:
        yield from _short(layout)
        yield from _crowded(layout)
    if not (size and size.makes(model)) and not here(model) and offline():
        yield out_of_reach(model)


def installed(library: str) -> bool:
    """Return whether a library can be imported, without importing it."""
    return find_spec(library) is not None


def _short(layout: Layout) -> Iterator[str]:
    each = f"{layout.gb:.0f} GB"
    if not layout.fitting:
        yield (
            f"no number of GPUs up to {COUNTS[-1]} of {each} will do: the dialogues of a step must "
            "spread evenly over them, and each must hold its part (--micro-batch 1 needs the least)"
        )
    elif layout.free < layout.needed:
        beside = f" beside {layout.server_gpus} for the vLLM server" if layout.server_gpus else ""
        gpus = "GPU" if layout.needed == 1 else "GPUs"
        yield (
            f"{layout.needed} {gpus} of {each} needed to train{beside}, {layout.free or 'none'} found: "
            "start it on a machine that has them"
        )


def _crowded(layout: Layout) -> Iterator[str]:
    if layout.size is None or layout.machine.vllm != "colocate":
        return
    least = memory.served_gb(layout.size, layout.machine.vllm_tensor_parallel)
    gb, share = layout.gb, memory.COLOCATED
    if least > share * gb:
        yield (
            f"vLLM needs {least:.0f} GB of each GPU, and beside the trainer it gets {share:.0%} of "
            f"{gb:.0f}: --vllm server URL puts it on GPUs of its own"
        )
