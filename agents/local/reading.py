"""What is read of a folder of weights without bringing them into memory."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from agents.local.tokens import ChatTokens, stops_of
from agents.local.weights import Weights, WeightsError


class Reading(NamedTuple):
    """The tokens of conversations with a model, and how many of them it takes."""

    chat: ChatTokens
    context: int


@lru_cache(16)
def reading(weights: Weights) -> Reading:
    """Return the tokenizer and context of a model. Raises WeightsError where its files cannot be read,
    and another ValueError where it cannot converse."""
    try:
        generation, tokenizer, context = _read(weights.folder)
    except Exception as error:  # the libraries check little of a file: a damaged one raises anything
        raise WeightsError(f"its files cannot be read: {type(error).__name__}: {error}") from error
    return Reading(ChatTokens(tokenizer, stops_of(generation)), context)


def _read(folder: Path) -> tuple[Any, Any, int]:
    """Return the generation config and the tokenizer in `folder`, and the context."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    config = AutoConfig.from_pretrained(folder)
    if (folder / "generation_config.json").is_file():
        generation = GenerationConfig.from_pretrained(folder)
    else:
        generation = GenerationConfig.from_model_config(config)
    context = config.get_text_config().max_position_embeddings
    return generation, AutoTokenizer.from_pretrained(folder), context
