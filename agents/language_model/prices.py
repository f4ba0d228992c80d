"""What calls to a model cost, in US dollars, where that is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.language_model.library import library
from agents.spec import AgentSpec, Connection

TOKENS_A_MESSAGE = 16
"""More than any chat template spends on the frame of a message."""


def price_of(spec: AgentSpec, connection: Connection, taken: int, given: int) -> float | None:
    """Return the price of so many tokens in and out in US dollars; None: unknown.

    The connection's own prices, else LiteLLM's map; discounts for cached prompts are not counted.
    """
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    try:
        cost = library().cost_per_token(model=spec.model, prompt_tokens=taken, completion_tokens=given)
    except Exception:  # the map has no price, and says so with several kinds of exception
        return None
    # The map also holds zeros where nobody filled in a price: that is not known to be free.
    return float(sum(cost)) or None


def cost_of(
    response: Any, spec: AgentSpec, connection: Connection, taken: int | None, given: int | None
) -> float | None:
    """Return what a call cost; None where its tokens or their price are not known."""
    if taken is None or given is None:
        return None
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    try:
        cost = library().completion_cost(completion_response=response, model=spec.model)
    except Exception:  # as above
        return None
    return float(cost) or None


def most_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """Return more tokens than `messages` can be: a token stands for at least one byte of UTF-8."""
    return sum(len(m["content"].encode("utf-8", "replace")) + TOKENS_A_MESSAGE for m in messages)


def most_usd(
    spec: AgentSpec, connection: Connection, messages: Sequence[Mapping[str, str]], given: int
) -> float | None:
    """Return the most that one call with `messages` and an answer of `given` tokens can cost; None where
    the price is not known."""
    return price_of(spec, connection, most_tokens(messages), given)


def _own_price(connection: Connection, taken: int, given: int) -> float | None:
    if connection.input_usd_per_million is None or connection.output_usd_per_million is None:
        return None
    return (taken * connection.input_usd_per_million + given * connection.output_usd_per_million) / 1e6
