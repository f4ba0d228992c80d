"""What calls to a model cost, in US dollars, where that is known."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from agents.language_model.library import library
from agents.spec import AgentSpec, Connection

TOKENS_A_MESSAGE = 16
"""More than any chat template spends on the frame of a message."""
TOKENS_A_SCHEMA = 1024
"""More than providers add to a schema in words of their own."""
ROUNDED = 256
"""Tokens. What calls of about the same length may cost is looked up once for all of them."""


def price_of(spec: AgentSpec, connection: Connection, taken: int, given: int) -> float | None:
    """Return the price of so many tokens in and out in US dollars; None: unknown.

    The connection's own prices, else LiteLLM's map, which knows nothing of an address of the user's own;
    discounts for cached prompts are not counted.
    """
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    if connection.api_base:
        return None
    return _mapped(spec.model or "", prompt_tokens=taken, completion_tokens=given)


def cost_of(
    response: Any, spec: AgentSpec, connection: Connection, taken: int | None, given: int | None
) -> float | None:
    """Return what a call cost; None where its tokens or their price are not known."""
    if taken is None or given is None:
        return None
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    if connection.api_base:
        return None
    known = getattr(response, "_hidden_params", None) or {}
    if "response_cost" in known:  # LiteLLM has worked it out already
        return _amount(known["response_cost"])
    try:
        cost = library().completion_cost(completion_response=response, model=spec.model)
    except Exception:  # the map has no price, and says so with several kinds of exception
        return None
    return _amount(cost)


def most_tokens(messages: Sequence[Mapping[str, str]], format: Mapping[str, Any] | None = None) -> int:
    """Return more tokens than `messages` can be, and a schema, which providers may show the model: a
    token stands for at least one byte of UTF-8."""
    schema = 0 if format is None else len(json.dumps(format)) + TOKENS_A_SCHEMA
    return schema + sum(
        len(m["content"].encode("utf-8", "replace")) + TOKENS_A_MESSAGE for m in messages
    )


def most_usd(spec: AgentSpec, connection: Connection, taken: int, given: int) -> float | None:
    """Return the most that one call of at most so many tokens in and out can cost; None where the price
    is not known. Tokens in are rounded up to a multiple of ROUNDED."""
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    rounded = -(-taken // ROUNDED) * ROUNDED
    return None if connection.api_base else _most_mapped(spec.model or "", rounded, given)


@lru_cache(4096)
def _most_mapped(model: str, taken: int, given: int) -> float | None:
    """Return the most that LiteLLM's map has as the price; it takes a millisecond to look it up."""
    plain = _mapped(model, prompt_tokens=taken, completion_tokens=given)
    if plain is None:
        return None
    # Some charge more for thinking, or for what they then keep in their own caches.
    usage = library().Usage(
        prompt_tokens=taken,
        completion_tokens=given,
        total_tokens=taken + given,
        completion_tokens_details={"reasoning_tokens": given},
        cache_creation_input_tokens=taken,
    )
    return max(plain, _mapped(model, usage_object=usage) or 0.0)


def _mapped(model: str, **tokens: Any) -> float | None:
    """Return what LiteLLM's map has as the price of tokens."""
    try:
        cost = library().cost_per_token(model=model, **tokens)
    except Exception:  # as above
        return None
    return _amount(sum(cost))


def _amount(usd: float | None) -> float | None:
    """Return what LiteLLM says that something costs; None where that is no amount. Its map also holds
    zeros where nobody filled in a price: that is not known to be free."""
    return float(usd) if usd is not None and 0 < usd < math.inf else None


def _own_price(connection: Connection, taken: int, given: int) -> float | None:
    """Return the price as registered; None where it is not."""
    if connection.input_usd_per_million is None or connection.output_usd_per_million is None:
        return None
    return (taken * connection.input_usd_per_million + given * connection.output_usd_per_million) / 1e6
