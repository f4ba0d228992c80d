"""What a server says that a call took: only whole numbers count, and no answer is lost over the rest."""

import asyncio
import json
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.language_model import model_spec
from agents.language_model.prices import cost_of
from agents.language_model.provider import call
from agents.language_model.request import Completion, Request
from agents.spec import Connection
from tests.agents.language_model.scripted_api import Answer, Api, chat

PRICES: dict[str, Any] = {"input_usd_per_million": 2.0, "output_usd_per_million": 10.0}
MODELS = ("hosted_vllm/m", "openai/m")  # LiteLLM reads the one itself, the other by OpenAI's client


def counts(taken: Any, given: Any, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": 1050, **more}


ODD = {
    "words": counts("many", "few"),
    "fractions": counts(1000.5, 50.5),
    "not a number": counts(1000, math.nan),
    "infinite": counts(math.inf, 50),
    "negative": counts(1000, -50),
    "negative input": counts(-1000, 50),
    "nested": counts({"a": 1}, [50]),
    "beyond all reason": counts(10**30, 50),
    "a total in words": counts(1000, 50, total_tokens="x"),
    "details in words": counts(1000, 50, completion_tokens_details={"reasoning_tokens": "x"}),
    "none of either": {},
}
"""Usages of which nothing counts."""


def ask(
    api: Api, usage: Any, text: str = "hello", model: str = MODELS[0], stream: bool = False
) -> Completion:
    """Return what becomes of one answer with such a usage."""
    answer = Answer(body=_stream(text, usage)) if stream else chat(text)
    if not stream:
        answer.body["usage"] = usage
    api.answers = [answer]
    connection = Connection(api_base=api.address, stream=stream, **PRICES)
    request = Request(model_spec(model), [{"role": "user", "content": "u"}], None)
    return asyncio.run(call(request, connection, api.address, 30.0))


def _stream(text: str, usage: Any) -> bytes:
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = {"role": "assistant", "content": text}
    chunks = [
        {**base, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {**base, "choices": [], "usage": usage},
    ]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # as the library is loaded
def test_an_answer_whose_usage_is_no_count_is_kept(
    api: Api, model: str, stream: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    for odd, usage in ODD.items():
        got = ask(api, usage, model=model, stream=stream)
        assert (odd, got.text, got.fault, *got.usage[:3]) == (odd, "hello", None, None, None, None)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_whole_numbers_count_however_they_are_written(api: Api, model: str, stream: bool) -> None:
    for usage in (counts(1000, 50), counts(1000.0, 50.0), counts("1000", "50")):
        got = ask(api, usage, model=model, stream=stream).usage
        assert got[:2] == (1000, 50)
        assert [type(count) for count in got[:2]] == [int, int]
        assert got.cost_usd == pytest.approx((1000 * 2 + 50 * 10) / 1e6)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("usage", [counts(1000, None), counts(1000, 0), {"prompt_tokens": 1000}])
def test_words_are_not_free_because_nobody_counted_them(
    api: Api, usage: dict[str, Any], stream: bool
) -> None:
    got = ask(api, usage, stream=stream)
    assert got.text == "hello"
    assert got.usage[:3] == (1000, None, None)


def test_no_words_may_count_as_none(api: Api) -> None:
    assert ask(api, counts(1000, 0), text="").usage[:2] == (1000, 0)


NUMBERS = st.integers() | st.floats() | st.none() | st.text(max_size=5) | st.integers().map(str)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taken=NUMBERS, given=NUMBERS)
def test_no_usage_costs_less_than_nothing(api: Api, taken: Any, given: Any) -> None:
    usage = ask(api, counts(taken, given)).usage
    for told, kept in ((taken, usage.input_tokens), (given, usage.output_tokens)):
        assert kept is None or (kept == float(told) and kept > 0)
    assert usage.cost_usd is None or usage.cost_usd > 0


@pytest.mark.parametrize("said", [-1.0, math.nan, math.inf, 0.0, None])
def test_a_cost_that_is_none_is_not_known(said: float | None) -> None:
    response = SimpleNamespace(_hidden_params={"response_cost": said})
    assert cost_of(response, model_spec("openai/gpt-4o-mini"), Connection(), 10, 5) is None
