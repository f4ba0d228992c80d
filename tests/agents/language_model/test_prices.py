"""What calls cost: as LiteLLM has it, and never more than what was reserved for them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.language_model import model_spec
from agents.language_model.library import library
from agents.language_model.prices import ROUNDED, cost_of, most_usd, price_of
from agents.spec import Connection
from arena.entry import entry_from
from tests.gguf_files import gguf

MAPPED = ("openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro")
COUNTS = st.integers(min_value=1, max_value=400_000)


@settings(deadline=None)  # LiteLLM takes seconds to load
@given(model=st.sampled_from(MAPPED), taken=COUNTS, given=COUNTS)
def test_the_most_covers_the_price_and_no_more_than_a_few_tokens_beyond(
    model: str, taken: int, given: int
) -> None:
    spec, connection = model_spec(model), Connection()
    most, price = most_usd(spec, connection, taken, given), price_of(spec, connection, taken, given)
    assert most is not None
    assert price is not None
    assert most >= price
    assert most == most_usd(spec, connection, -(-taken // ROUNDED) * ROUNDED, given)


@settings(deadline=None)
@given(taken=COUNTS, given=COUNTS)
def test_the_most_at_registered_prices_is_exact(taken: int, given: int) -> None:
    connection = Connection(input_usd_per_million=2.0, output_usd_per_million=8.0)
    most = most_usd(model_spec("openai/unheard-of"), connection, taken, given)
    assert most == pytest.approx((2 * taken + 8 * given) / 1e6)


@pytest.mark.parametrize(
    ("prices", "costs"),
    [({}, 0.0), ({"price_in": 2.0, "price_out": 8.0}, 0.01), ({"price_out": 8.0}, 0.008)],
)
def test_what_the_arena_serves_costs_what_it_is_registered_at(
    tmp_path: Path, prices: dict[str, float], costs: float
) -> None:
    """Nothing, where nothing is said."""
    (tmp_path / "ours.gguf").write_bytes(gguf())
    fields = {"name": "ours", "weights": str(tmp_path / "ours.gguf"), "max_tokens": 500, **prices}
    ours = entry_from(fields).registration()
    assert ours.connection.server == "llama.cpp"
    assert price_of(ours.spec, ours.connection, 1000, 1000) == pytest.approx(costs)
    assert cost_of(None, ours.spec, ours.connection, 1000, 1000) == pytest.approx(costs)
    assert most_usd(ours.spec, ours.connection, 1000, 1000) == pytest.approx(costs)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [*MAPPED, "openai/unheard-of"])
def test_the_cost_of_an_answer_is_what_litellm_says_of_it(model: str, stream: bool) -> None:
    response = asyncio.run(_answer(model, stream))
    counts = response.usage.prompt_tokens, response.usage.completion_tokens
    try:
        expected = library().completion_cost(completion_response=response, model=model)
    except Exception:
        expected = None
    assert (expected is None) == (model == "openai/unheard-of")
    assert cost_of(response, model_spec(model), Connection(), *counts) == expected


async def _answer(model: str, stream: bool) -> Any:
    messages = [{"role": "user", "content": "Good morning. " * 40}]
    response = await library().acompletion(
        model=model, messages=messages, mock_response="And to you. " * 30, stream=stream, api_key="k"
    )
    if not stream:
        return response
    return library().stream_chunk_builder([chunk async for chunk in response], messages=messages)
