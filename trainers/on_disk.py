"""What a model's files on this machine tell of it: read without torch, transformers or a network."""

import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.local.weights import WeightsError, found_weights
from trainers.sizes import Size

ENCODERS = ("vision_tower", "audio_tower", "embed_vision", "embed_audio", "multi_modal_projector")
"""Parts of a weight's name that place it outside the language model."""


def offline() -> bool:
    """Return whether Hugging Face's libraries are told to stay off the network."""
    try:
        from huggingface_hub.constants import HF_HUB_OFFLINE
    except ImportError:
        return False
    return bool(HF_HUB_OFFLINE)


def here(model: str) -> bool:
    """Return whether a model's weights lie on this machine: in its folder, or downloaded before."""
    try:
        found_weights(model)
    except WeightsError:
        return False
    return True


def described(model: str) -> Size | None:
    """Return a model outside the table of sizes as its files here describe it; None without them."""
    try:
        folder = found_weights(model)
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        counts = dict(_counts(folder))
    except (OSError, ValueError, KeyError, struct.error):  # WeightsError is a ValueError
        return None
    text = config.get("text_config") or config
    if not counts or not {"num_hidden_layers", "hidden_size", "vocab_size"} <= text.keys():
        return None
    total = float(sum(counts.values()))
    frozen = sum(n for name, n in counts.items() if any(part in name for part in ENCODERS))
    per_layer = text.get("hidden_size_per_layer_input") or 0
    tables = sum(n for name, n in counts.items() if "embed_tokens_per_layer" in name)
    return Size(
        name=model,
        model=model,
        model_class=(config.get("architectures") or ["unknown"])[0],
        architecture="E-series" if per_layer else "conventional",
        effective_params=total - tables,
        total_params=total,
        trainable_params=total - frozen,
        layers=text["num_hidden_layers"],
        hidden=text["hidden_size"],
        vocabulary=text["vocab_size"],
        per_layer_input=per_layer,
    )


def context_of(model: str) -> int | None:
    """Return how many tokens a model takes by its configuration here; None where that does not say."""
    try:
        config = json.loads((found_weights(model) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    context = (config.get("text_config") or config).get("max_position_embeddings")
    return context if isinstance(context, int) else None


def _counts(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield each weight's name and number of values, from the headers of the safetensors files."""
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header: dict[str, Any] = json.loads(file.read(length))
        for name, weight in header.items():
            if name != "__metadata__":
                yield name, math.prod(weight["shape"])
