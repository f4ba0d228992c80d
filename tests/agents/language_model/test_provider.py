"""Whose doing it is when a call goes wrong, what is sent, and what is kept, over real HTTP."""

import asyncio
import contextlib
import logging
import socket
import time
from typing import Any

import pytest

from agents.agent import ProviderError, Trouble
from agents.language_model import gateway, model_spec
from agents.language_model.faults import _words
from agents.language_model.gateway import MOST_TRIES, Gateway
from agents.language_model.library import library
from agents.language_model.request import Completion
from agents.spec import Connection
from tests.agents.language_model.scripted_api import Answer, Api, chat, error

MODEL = "hosted_vllm/some-model"
KEY = "sk-Very_Secret-0123456789"


def ask(api: Api, *, model: str = MODEL, given: Any = None, **connection: Any) -> Completion:
    reached = Connection(**({"api_base": api.address} | connection))
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    return asyncio.run(
        Gateway().complete(model_spec(model, **(given or {})), reached, messages)
    ).completion


def test_a_plain_answer_with_usage(api: Api) -> None:
    api.answers = [chat("hello")]
    answer = ask(api)
    assert (answer.text, answer.fault, answer.reasoning) == ("hello", None, "")
    assert answer.model == "served-model"
    assert answer.usage.input_tokens == 1000
    assert answer.usage.output_tokens == 50
    assert answer.usage.latency_s is not None
    assert 0 < answer.usage.latency_s < 30
    assert api.requests[0]["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]


@pytest.mark.parametrize("model", ["hosted_vllm/m", "openai/m"])
def test_only_what_is_set_is_sent_and_zero_is_set(api: Api, model: str) -> None:
    api.answers = [chat(), chat()]
    ask(api, model=model, given={"sampling": {"temperature": 0, "seed": 0, "top_k": 5, "top_p": None}})
    ask(api, model=model, given={"sampling": {"max_tokens": 7}})
    first, second = api.requests
    assert (first["temperature"], first["seed"], first["top_k"]) == (0, 0, 5)
    assert first["max_tokens"] == 4096
    assert "top_p" not in first
    assert second.keys() == {"model", "messages", "max_tokens"}
    assert second["max_tokens"] == 7


@pytest.mark.parametrize(
    ("answer", "fault", "text"),
    [
        (chat('{"reas', "length"), "cut_off", '{"reas'),
        (chat(None, "length"), "cut_off", ""),
        (chat("", "content_filter"), "refusal", ""),
        (chat(None, refusal="I will not haggle."), "refusal", "I will not haggle."),
    ],
)
def test_what_the_model_did_is_its_own_fault(api: Api, answer: Answer, fault: str, text: str) -> None:
    api.answers = [answer]
    got = ask(api)
    assert (got.fault, got.text) == (fault, text)
    assert len(api.requests) == 1


def test_a_providers_reasoning_stays_private(api: Api) -> None:
    api.answers = [chat("{}", reasoning_content="They look keen.")]
    assert ask(api).reasoning == "They look keen."


@pytest.mark.parametrize(
    ("answer", "tries", "permanent", "says"),
    [
        (error(500, "boom"), MOST_TRIES, False, "failed (500)"),
        (error(503, "overloaded"), MOST_TRIES, False, "overloaded"),
        (error(429, "slow down"), MOST_TRIES, False, "limiting the rate"),
        (error(408, "too slow"), MOST_TRIES, False, "did not answer"),
        (error(401, "bad key"), 1, True, "--api-key-env"),
        (error(403, "not for you"), 1, True, "--api-key-env"),
        (error(404, "no such model"), 1, True, "check its name"),
        (error(402, "pay first"), 1, True, "no money left"),
        (error(400, "unknown field"), 1, False, "rejected the request"),
        (error(413, "too large"), 1, False, "rejected the request"),
        (Answer(body=b"<html>gateway</html>"), MOST_TRIES, False, "sent no completion"),
        (Answer(body={}), MOST_TRIES, False, "sent no completion"),
        (Answer(body={"choices": []}), MOST_TRIES, False, "sent no completion"),
        (Answer(body=[1]), MOST_TRIES, False, "sent no completion"),
    ],
)
def test_what_the_provider_did_is_not_scored(
    api: Api, answer: Answer, tries: int, permanent: bool, says: str
) -> None:
    api.answers = [answer] * MOST_TRIES
    with pytest.raises(ProviderError, match=r"^hosted_vllm/some-model: ") as raised:
        ask(api)
    assert says in str(raised.value)
    assert raised.value.trouble.permanent is permanent
    assert len(api.requests) == tries


def test_a_passing_failure_is_tried_again(api: Api) -> None:
    api.answers = [error(500, "boom"), error(429, "wait"), chat("at last")]
    assert ask(api).text == "at last"


def test_retry_after_is_honoured(api: Api) -> None:
    api.answers = [error(429, "wait", Retry_After="1"), chat("at last")]
    begun = time.monotonic()
    assert ask(api).text == "at last"
    assert time.monotonic() - begun >= 1.0


def test_a_long_retry_after_fails_at_once_and_is_named(api: Api) -> None:
    api.answers = [error(429, "wait", Retry_After="3600")]
    with pytest.raises(ProviderError, match=r"limiting the rate \(429, with a Retry-After of 3,600 s\)"):
        ask(api)
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "asked",
    [
        *("inf", "nan", "1e99", "-5", "86401", "soon", "5, 5", "Fri, 32 Foo 99999 00:00:00"),
        *("Fri, 01 Feb 2115 00:00:00 GMT", "Mon, 01 Jan 1990 00:00:00 GMT"),
    ],
)
def test_a_retry_after_that_cannot_be_meant_is_passed_over(api: Api, asked: str) -> None:
    refusals = [error(status, "wait", Retry_After=asked) for status in (429, 503)]
    api.answers = [*refusals, chat("at last")]
    assert ask(api).text == "at last"
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("asked", "quiet_s"),
    [(None, 1), ("0", 1), ("0.25", 0.25), ("inf", 1), ("45", 45), ("179", 60), ("181", 1), ("86400", 1)],
)
def test_others_wait_no_longer_than_a_minute_and_not_for_what_nobody_waits_for(
    api: Api, monkeypatch: pytest.MonkeyPatch, asked: str | None, quiet_s: float
) -> None:
    quiet = []
    monkeypatch.setattr(gateway, "MOST_TRIES", 1)
    monkeypatch.setattr(gateway.Endpoint, "refused", lambda self, seconds: quiet.append(seconds))
    api.answers = [error(429, "wait", **({} if asked is None else {"Retry_After": asked}))]
    with pytest.raises(ProviderError):
        ask(api)
    assert quiet == [quiet_s]


@pytest.mark.parametrize(
    ("model", "status", "says"),
    [
        ("openai/m", 500, "failed (500): InternalServerError: boom"),
        ("openai/m", 503, "failed (503): ServiceUnavailableError: boom"),
        ("openai/m", 401, "): AuthenticationError: MyError: boom"),
        ("hosted_vllm/m", 408, "(at most 300 s): Timeout: {"),
        ("hosted_vllm/m", 529, "failed (529): APIError: {"),
        ("openrouter/m", 403, "APIError: {"),
    ],
)
def test_a_class_is_named_once_before_the_providers_own_words(
    api: Api, model: str, status: int, says: str
) -> None:
    api.answers = [error(status, "MyError: boom" if status == 401 else "boom")] * MOST_TRIES
    with pytest.raises(ProviderError) as raised:
        ask(api, model=model)
    assert says in str(raised.value)
    assert "Exception" not in str(raised.value)


def test_an_error_without_words_is_its_class() -> None:
    """As it is of a context that is overrun, of which LiteLLM names two classes."""
    exceptions = library().exceptions
    two = exceptions.ContextWindowExceededError(
        "BadRequestError: OpenAIException - too long", "m", "openai"
    )
    assert _words(two) == "ContextWindowExceededError: too long"
    assert _words(ImportError()) == "ImportError"
    assert _words(ValueError("KeyError: a")) == "ValueError: KeyError: a"


def test_silence_is_the_providers_and_not_tried_again(api: Api) -> None:
    ask_first = chat("warm")
    api.answers = [ask_first, Answer(delay_s=3)]
    ask(api)
    begun = time.monotonic()
    with pytest.raises(ProviderError, match=r"did not answer in time \(at most 0\.5 s\)"):
        ask(api, timeout_s=0.5)
    assert time.monotonic() - begun < 2.5
    assert len(api.requests) == 2


def test_nobody_listening(api: Api) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ProviderError, match=f"cannot reach {address}; check that it is up: ") as raised:
        ask(api, api_base=address)
    assert not raised.value.trouble.permanent


def test_who_was_asked_is_named_where_a_variable_chose_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://{host}/v1")
    words = rf"cannot reach the provider \({host} was asked\); check that it is up: "
    with pytest.raises(ProviderError, match=words):
        ask(api, model="openai/gpt-4o", api_base=None)


def test_a_name_that_leads_nowhere_may_be_this_sides_network(api: Api) -> None:
    words = (
        "cannot reach http://no-host.invalid:8/v1, whose name leads nowhere; .*name server on this side"
    )
    with pytest.raises(ProviderError, match=words) as raised:
        ask(api, api_base="http://no-host.invalid:8/v1")
    assert raised.value.trouble is Trouble.CONNECTION


def test_an_unknown_provider_prefix_is_a_permanent_error() -> None:
    spec = model_spec("nosuchprovider/model")
    with pytest.raises(ProviderError, match="no provider by this name; check --model") as raised:
        asyncio.run(Gateway().complete(spec, Connection(), [{"role": "user", "content": "u"}]))
    assert raised.value.trouble.permanent


def test_a_setting_that_a_provider_lacks_is_said_not_dropped(api: Api) -> None:
    with pytest.raises(ProviderError, match="reasoning_effort") as raised:
        ask(api, model="llamafile/m", given={"sampling": {"reasoning_effort": "low"}})
    assert raised.value.trouble is Trouble.REJECTED
    assert not api.requests


def test_missing_usage_is_unknown_not_zero(api: Api) -> None:
    api.answers = [chat("hi", usage=False)]
    usage = ask(api, input_usd_per_million=1.0, output_usd_per_million=2.0).usage
    assert usage.input_tokens is None
    assert usage.output_tokens is None
    assert usage.cost_usd is None


def test_prices(api: Api) -> None:
    api.answers = [chat("hi")] * 4
    assert ask(api).usage.cost_usd is None
    priced = ask(api, input_usd_per_million=2.0, output_usd_per_million=10.0)
    assert priced.usage.cost_usd == pytest.approx(1000 * 2e-6 + 50 * 10e-6)
    free = ask(api, input_usd_per_million=0.0, output_usd_per_million=0.0)
    assert free.usage.cost_usd == 0.0
    assert ask(api, model="openai/gpt-4o-mini").usage.cost_usd is None  # at an address of one's own


def test_a_price_of_the_map(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", api.address)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    api.answers = [chat("hi")]
    spec, messages = model_spec("openai/gpt-4o-mini"), [{"role": "user", "content": "u"}]
    answered = asyncio.run(Gateway().complete(spec, Connection(), messages))
    prices = library().model_cost["gpt-4o-mini"]
    taken, given = prices["input_cost_per_token"], prices["output_cost_per_token"]
    assert answered.completion.usage.cost_usd == pytest.approx(1000 * taken + 50 * given)


def test_the_key_is_read_when_called_and_sent(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.answers = [chat(), chat()]
    monkeypatch.setenv("MY_PROVIDER", KEY)
    ask(api, api_key_env="MY_PROVIDER")
    monkeypatch.setenv("MY_PROVIDER", "another-secret")
    ask(api, api_key_env="MY_PROVIDER")
    sent = [headers["authorization"] for headers in api.headers]
    assert sent == [f"Bearer {KEY}", "Bearer another-secret"]


def test_a_key_for_one_provider_never_goes_to_another_address(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    api.answers = [chat()]
    ask(api, model="openai/m")
    assert KEY not in str(api.headers)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_no_key_in_errors(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    monkeypatch.setenv("MY_PROVIDER", KEY)
    api.answers = [error(status, f"Bearer {KEY} in key={KEY} is wrong")] * MOST_TRIES
    with caplog.at_level(logging.DEBUG), pytest.raises(ProviderError) as raised:
        ask(api, api_key_env="MY_PROVIDER")
    assert KEY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert KEY not in caplog.text


def test_litellm_is_quiet(api: Api, capfd: pytest.CaptureFixture[str]) -> None:
    api.answers = [error(500, "boom")] * MOST_TRIES + [chat()]
    with pytest.raises(ProviderError):
        ask(api)
    ask(api)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("answer", [chat("hello"), error(401, "no")])
def test_litellm_does_not_log_our_calls(
    api: Api, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    """It logs its users' calls after they returned, to whoever listens; and ours to nobody."""
    from litellm.integrations.custom_logger import CustomLogger

    class Listener(CustomLogger):  # type: ignore[misc]
        def __init__(self) -> None:
            self.heard: list[str] = []

        async def async_log_success_event(self, **details: Any) -> None:
            self.heard.append("success")

        async def async_log_failure_event(self, **details: Any) -> None:
            self.heard.append("failure")

    async def asked(plainly: bool) -> list[str]:
        listener = Listener()
        for callbacks in ("_async_success_callback", "_async_failure_callback"):
            monkeypatch.setattr(library(), callbacks, [listener])
        messages = [{"role": "user", "content": "u"}]
        with contextlib.suppress(Exception):
            if plainly:
                await library().acompletion(MODEL, messages, api_base=api.address, api_key="k")
            else:
                await Gateway().complete(model_spec(MODEL), Connection(api_base=api.address), messages)
        await asyncio.sleep(0.3)
        return listener.heard

    api.answers = [answer, answer]
    assert asyncio.run(asked(plainly=True))
    assert asyncio.run(asked(plainly=False)) == []
