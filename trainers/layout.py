"""Over how many GPUs a run is spread: the fewest that hold it, or as many as are here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from trainers import memory
from trainers.gpus import Gpu
from trainers.grpo import Machine
from trainers.launch import PER_MACHINE
from trainers.on_disk import described
from trainers.prepare import Prepared
from trainers.recipe import Recipe
from trainers.sizes import Size

ASSUMED_GB = 80.0
"""The memory of a GPU where none is here to be asked."""
COUNTS = tuple(2**power for power in range(8))
"""Numbers of GPUs that are tried, from one to 128."""
ON_CPU = 1e9
"""Parameters up to which a model outside the table is trained without a GPU."""


@dataclass(frozen=True)
class Layout:
    """A run on a kind of machine: over how many GPUs it is spread, and what each process needs."""

    recipe: Recipe
    size: Size | None
    """None: a model that is not here to be described, of which no memory is known."""
    machine: Machine
    gpus: Sequence[Gpu]
    """Found here."""
    tokens: int
    """Of the longest dialogue expected."""

    @property
    def gb(self) -> float:
        """Memory of each GPU: of the smallest found, or :data:`ASSUMED_GB`."""
        return min((gpu.gb for gpu in self.gpus), default=ASSUMED_GB)

    @property
    def server_gpus(self) -> int:
        """GPUs of a vLLM server of its own."""
        return self.machine.vllm_tensor_parallel if self.machine.vllm == "server" else 0

    @property
    def free(self) -> int:
        """GPUs here that can train: a server on this machine takes its own first."""
        host = urlsplit(self.machine.vllm_url or "").hostname
        local = host in ("localhost", "127.0.0.1", "0.0.0.0", "::1")
        return max(0, len(self.gpus) - (self.server_gpus if local else 0))

    @property
    def fitting(self) -> list[int]:
        """The numbers of GPUs that hold the run, its dialogues spread evenly, fewest first."""
        machine, rows = self.machine, self.recipe.rows_per_step
        even = [n for n in COUNTS if rows % (n * (machine.micro_batch or 1)) == 0]
        if machine.vllm == "colocate":
            even = [n for n in even if n % machine.vllm_tensor_parallel == 0]
        held = [(n, self.memory(n)) for n in even]
        return [n for n, need in held if need is None or need.total <= memory.USABLE * self.gb]

    @property
    def needed(self) -> int:
        """GPUs to train on; 0 on a CPU."""
        return 0 if self.machine.cpu else min(self.fitting, default=COUNTS[-1])

    @property
    def processes(self) -> int:
        """That train, one a GPU: those that a launcher started, else as many as there are GPUs for."""
        if self.machine.processes > 1 or self.machine.cpu:
            return self.machine.processes
        return max([self.needed, *(count for count in self.fitting if count <= self.free)])

    @property
    def machines(self) -> int:
        """Over which the processes are spread."""
        return math.ceil(self.processes / max(len(self.gpus), PER_MACHINE))

    def memory(self, processes: int) -> memory.Memory | None:
        """Return what each of so many processes needs."""
        if self.size is None:
            return None
        return memory.memory_of(
            self.size,
            processes,
            tokens=self.tokens,
            micro_batch=self.machine.micro_batch or max(1, self.recipe.rows_per_step // processes),
            beta=self.recipe.beta,
            colocated=memory.COLOCATED * self.gb if self.machine.vllm == "colocate" else 0.0,
        )


def on_cpu(prepared: Prepared, vllm: str, gpus: Sequence[Gpu]) -> bool:
    """Return whether a run trains without a GPU: the tiny sizes do, unless vLLM samples for them, and so
    does another small model where there is no GPU."""
    if vllm != "off":
        return False
    size = prepared.size or described(prepared.recipe.model)
    if size is None:
        return not gpus
    return size.made_here or (not gpus and size.total_params <= ON_CPU)
