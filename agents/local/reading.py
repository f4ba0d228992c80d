"""What is read of a folder of weights without bringing them into memory."""

from functools import lru_cache
from typing import NamedTuple

from agents.local.tokens import ChatTokens
from agents.local.weights import Weights


class Reading(NamedTuple):
    """The tokens of conversations with a model, and how many of them it takes."""

    chat: ChatTokens
    context: int


@lru_cache(16)
def reading(weights: Weights) -> Reading:
    """Return the tokenizer and context of a model. Raises ValueError where it cannot converse."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    config = AutoConfig.from_pretrained(weights.folder)
    if (weights.folder / "generation_config.json").is_file():
        ends = GenerationConfig.from_pretrained(weights.folder).eos_token_id
    else:
        ends = GenerationConfig.from_model_config(config).eos_token_id
    stops = [ends] if isinstance(ends, int) else list(ends or ())
    tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    return Reading(ChatTokens(tokenizer, stops), config.get_text_config().max_position_embeddings)
