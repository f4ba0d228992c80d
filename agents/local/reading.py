"""What is read of a folder of weights without bringing them into memory."""

from functools import lru_cache
from typing import NamedTuple

from agents.local.tokens import ChatTokens, stops_of
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
        generation = GenerationConfig.from_pretrained(weights.folder)
    else:
        generation = GenerationConfig.from_model_config(config)
    tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    chat = ChatTokens(tokenizer, stops_of(generation))
    return Reading(chat, config.get_text_config().max_position_embeddings)
