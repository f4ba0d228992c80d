"""The sizes that `arena train --size` knows: the study's four models, and two that are made here.

Parameter counts are those of the model cards: effective ones without embedding tables for the E-series.
What is trained is the language model; the encoders of images and sound are frozen. How many parameters
that leaves was counted by building each language model from its published shape with transformers,
without weights; a test does it again. Tensor parallelism and launchers are this project's choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from trainers.tiny import CONTEXT, VOCABULARY

Launcher = Literal["none", "fsdp2", "zero3"]
"""`none`: nothing is spread, every process holds all; else a configuration that TRL ships."""
FREEZE = "all outside the language model"
GEMMA_VOCABULARY = 262_144


@dataclass(frozen=True)
class Size:
    """One model to train, and how it is laid out over machines."""

    name: str
    model: str
    """A Hugging Face id; a size that is made here has its own name."""
    model_class: str
    """In transformers."""
    architecture: Literal["E-series", "conventional"]
    """Per-layer embeddings and shared keys and values, or neither."""
    effective_params: float
    """Parameters that a token is multiplied with; what FLOPs are counted by."""
    total_params: float
    """All that is held in memory."""
    trainable_params: float
    layers: int
    hidden: int
    vocabulary: int = GEMMA_VOCABULARY
    per_layer_input: int = 0
    """Width of the per-layer embeddings; 0 without."""
    vllm: Literal["off", "colocate", "server"] = "off"
    """Where answers are sampled by default."""
    vllm_tensor_parallel: int = 1
    launcher: Launcher = "fsdp2"
    defaults: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Fields of a recipe whose defaults differ."""

    @property
    def made_here(self) -> bool:
        """Whether it is random weights and a warm start, for machines without a GPU."""
        return self.name.startswith("tiny")

    def makes(self, model: str) -> bool:
        """Return whether `model` is what is made here, not another one that is trained as this size."""
        return self.made_here and model == self.model

    @property
    def embedding_params(self) -> float:
        """Parameters of the embedding tables, which no layer holds."""
        return self.vocabulary * (self.hidden + self.layers * self.per_layer_input)


_TINY = MappingProxyType(
    {
        "learning_rate": 6e-4,
        "steps": 60,
        "groups_per_step": 6,
        "answer_tokens": 64,
        "context_tokens": CONTEXT,
        "save_steps": 30,
    }
)
"""A few hundred thousand parameters learn at a rate at which billions would collapse."""

SIZES: dict[str, Size] = {
    size.name: size
    for size in (
        Size(
            name="tiny",
            model="tiny",
            model_class="Gemma4ForCausalLM",
            architecture="E-series",
            effective_params=141_488,
            total_params=141_488 + (64 + 3 * 16) * VOCABULARY,
            trainable_params=141_488 + (64 + 3 * 16) * VOCABULARY,
            layers=3,
            hidden=64,
            vocabulary=VOCABULARY,
            per_layer_input=16,
            launcher="none",
            defaults=_TINY,
        ),
        Size(
            name="tiny-conventional",
            model="tiny-conventional",
            model_class="Gemma4ForCausalLM",
            architecture="conventional",
            effective_params=107_520 + 64 * VOCABULARY,
            total_params=107_520 + 64 * VOCABULARY,
            trainable_params=107_520 + 64 * VOCABULARY,
            layers=3,
            hidden=64,
            vocabulary=VOCABULARY,
            launcher="none",
            defaults=_TINY,
        ),
        Size(
            name="2.3b",
            model="google/gemma-4-E2B-it",
            model_class="Gemma4ForConditionalGeneration",
            architecture="E-series",
            effective_params=2.3e9,
            total_params=5.1e9,
            trainable_params=4.63e9,
            layers=35,
            hidden=1536,
            per_layer_input=256,
            vllm="colocate",
        ),
        Size(
            name="4.5b",
            model="google/gemma-4-E4B-it",
            model_class="Gemma4ForConditionalGeneration",
            architecture="E-series",
            effective_params=4.5e9,
            total_params=8.0e9,
            trainable_params=7.46e9,
            layers=42,
            hidden=2560,
            per_layer_input=256,
            vllm="colocate",
        ),
        Size(
            name="12b",
            model="google/gemma-4-12B-it",
            model_class="Gemma4UnifiedForConditionalGeneration",
            architecture="conventional",
            effective_params=11.95e9,
            total_params=11.95e9,
            trainable_params=11.91e9,
            layers=48,
            hidden=3840,
            vllm="colocate",
            vllm_tensor_parallel=2,
        ),
        Size(
            name="31b",
            model="google/gemma-4-31B-it",
            model_class="Gemma4ForConditionalGeneration",
            architecture="conventional",
            effective_params=30.7e9,
            total_params=31.25e9,
            trainable_params=30.7e9,
            layers=60,
            hidden=5376,
            vllm="server",
            vllm_tensor_parallel=4,
        ),
    )
}
