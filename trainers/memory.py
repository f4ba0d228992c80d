"""How much memory a GPU needs for full-parameter GRPO: arithmetic, not measurement.

Bytes a parameter: master weights 4, gradients 4, AdamW's two moments 8, all fp32 and spread evenly over
the training GPUs (FSDP2 or ZeRO-3), and 2 for a reference in bf16: 18 where all is trained. Frozen
parameters have neither gradients nor moments. GB are 10^9 bytes.
"""

from dataclasses import asdict, dataclass

from trainers.sizes import Size

WEIGHTS, GRADIENTS, OPTIMISER, REFERENCE, SERVED = 4, 4, 8, 2, 2
"""Bytes a parameter; vLLM serves bf16."""
WORKING = 2
"""Bytes of a bf16 copy of a weight that is being computed with, and of its gradient."""
LOGIT = 16
"""Bytes for each logit of a backward pass: bf16 and fp32 values, their soft-capped copy, gradients. An
estimate of this project's, and with a vocabulary of 262,144 the largest part of a small model's."""
COLOCATED = 0.3
"""Share of each GPU that a colocated vLLM takes, as TRL would have it too."""
CACHE_GB = 4.0
"""The least that vLLM is left for keys and values beside its weights; an estimate of this project's."""
USABLE = 0.95
"""Share of a GPU's memory that is counted on; the rest is CUDA's and fragmentation."""


@dataclass(frozen=True)
class Memory:
    """GB on each training GPU."""

    weights: float
    gradients: float
    optimiser: float
    reference: float
    working: float
    """bf16 copies and gradients of what is not sharded while it is computed: on one GPU every weight,
    on several the embedding tables, which no layer holds."""
    activations: float
    """Of the longest dialogue expected, layers recomputed; mostly logits."""
    vllm: float
    """Colocated; a server of its own stands on GPUs of its own."""

    @property
    def total(self) -> float:
        """All of it."""
        return float(sum(asdict(self).values()))

    def to_json(self) -> dict[str, float]:
        """Return the parts and their total, rounded to 10 MB, or less where that would show nothing."""
        parts = asdict(self) | {"total": self.total}
        return {name: float(f"{gb:.2f}") or float(f"{gb:.2g}") for name, gb in parts.items()}


def memory_of(
    size: Size, gpus: int, *, tokens: int, micro_batch: int, beta: float, colocated: float = 0.0
) -> Memory:
    """Return what each of `gpus` needs while `micro_batch` dialogues of `tokens` are learned from.

    `colocated` is what a colocated vLLM takes of the GPU, in GB.
    """
    total, trained = size.total_params, size.trainable_params
    whole = total if gpus == 1 else 2 * size.embedding_params
    stored = size.layers * size.hidden * WORKING + size.vocabulary * LOGIT
    return Memory(
        weights=WEIGHTS * total / gpus / 1e9,
        gradients=GRADIENTS * trained / gpus / 1e9,
        optimiser=OPTIMISER * trained / gpus / 1e9,
        reference=REFERENCE * total / gpus / 1e9 if beta else 0.0,
        working=WORKING * whole / 1e9,
        activations=micro_batch * tokens * stored / 1e9,
        vllm=colocated,
    )


def served_gb(size: Size, tensor_parallel: int) -> float:
    """Return the least that vLLM needs on each of its GPUs: its share of the weights, and a cache."""
    return SERVED * size.total_params / tensor_parallel / 1e9 + CACHE_GB
