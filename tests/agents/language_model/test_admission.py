"""Whether a model may be registered as it is set; what is read of LiteLLM is what goes over HTTP."""

import asyncio
import json
from typing import Any

import pytest

from agents.agent import ProviderError
from agents.language_model import model_spec
from agents.language_model.admission import SAMPLES, admit, takes, takes_schema
from agents.language_model.agent import SAMPLING
from agents.language_model.gateway import Gateway
from agents.language_model.names import check_name
from agents.language_model.sent import NOWHERE, NotTakenError, Reader
from agents.spec import Connection
from tests.agents.language_model.scripted_api import Api, error

MODELS = [
    "openai/gpt-4o",
    "openai/gpt-5",
    "openai/o3",
    "openai/a-model-of-mine",
    "azure/gpt-4o",
    "anthropic/claude-haiku-4-5",
    "anthropic/claude-sonnet-5",
    "gemini/gemini-2.5-pro",
    "mistral/mistral-large-latest",
    "groq/llama-3.3-70b-versatile",
    "groq/openai/gpt-oss-120b",
    "deepseek/deepseek-chat",
    "xai/grok-4",
    "openrouter/openai/gpt-4o",
    "together_ai/meta-llama/Llama-3-70b-chat-hf",
    "bedrock/amazon.nova-pro-v1:0",
    "ollama_chat/gemma3",
    "hosted_vllm/m",
    "lm_studio/m",
    "llamafile/m",
]
NO_REPETITION_PENALTY = {"ollama_chat", "lm_studio", "llamafile"}
"""They pass over it, as their documentation has another name for it."""
ROOM = {"max_tokens": 4096}
KEY = "KEY_OF_NOBODY"
MESSAGES = [{"role": "system", "content": "A"}, {"role": "user", "content": "B"}]


def posted(api: Api, model: str, sampling: dict[str, Any], may_drop: tuple[str, ...] = ()) -> Any:
    """Return the body that a request has when it is really sent; None where LiteLLM sends none."""
    api.answers, api.requests = [error(400, "no")], []
    spec = model_spec(model, sampling, may_drop=may_drop)
    reached = Connection(api_base=api.address, api_key_env=KEY)
    with pytest.raises(ProviderError):
        asyncio.run(Gateway().complete(spec, reached, MESSAGES))
    return api.requests[0] if api.requests else None


@pytest.mark.parametrize("model", MODELS)
def test_what_is_taken_is_what_changes_the_body_over_http(
    api: Api, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv(KEY, "no-key")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    reader, plain = Reader(model_spec(model)), posted(api, model, ROOM)
    assert reader.blind is None
    changing = set()
    for name, value in SAMPLES.items():
        body = posted(api, model, {**ROOM, name: value} if name != "max_tokens" else {name: 77})
        if body is not None and body != plain:
            changing.add(name)
    provider = model.split("/")[0]
    ignored = {"repetition_penalty"} if provider in NO_REPETITION_PENALTY else set()
    ignored |= {"num_ctx"} if provider != "ollama_chat" else set()
    assert set(takes(reader, model_spec(model))) == changing - ignored


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-pro"]
)
def test_the_body_is_read_as_it_is_sent(api: Api, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setenv(KEY, "no-key")
    sampling = {"temperature": 0, "top_p": 0.5, "max_tokens": 77, "top_k": 3}
    read = Reader(model_spec(model)).body(sampling)
    flat = {**read, **read.pop("extra_body", {})}
    sent = posted(api, model, sampling)
    known = {name: flat[name] for name in sent if name in flat}
    assert {name: sent[name] for name in known} == known
    assert len(known) >= 3


def test_what_may_be_dropped_is_not_sent_and_leaves_no_trace(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "no-key")
    for model, name in {
        "openai/gpt-5": "temperature",
        "anthropic/claude-haiku-4-5": "seed",
        "gemini/gemini-2.5-pro": "min_p",
        "ollama_chat/m": "repetition_penalty",
        "hosted_vllm/m": "verbosity",
    }.items():
        sampling = {**ROOM, name: SAMPLES[name]}
        spec = model_spec(model, sampling, may_drop=(name,))
        admit(spec, Connection(api_base=NOWHERE))
        assert posted(api, model, sampling, (name,)) == posted(api, model, ROOM), model


def refused(
    model: str, may_drop: tuple[str, ...] = (), structured: bool = False, **sampling: Any
) -> str:
    with pytest.raises(ValueError, match=model.split("/")[-1]) as raised:
        admit(model_spec(model, sampling, structured, may_drop=may_drop), Connection())
    return str(raised.value)


def test_a_sample_of_every_setting() -> None:
    assert SAMPLES.keys() == SAMPLING


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("nonsense", "no provider. A model is written PROVIDER/MODEL"),
        ("nonsense/model", "LiteLLM knows no provider 'nonsense'"),
        ("anthropc/claude-sonnet-5", "did you mean anthropic/claude-sonnet-5"),
        ("gpt-4o", "write it openai/gpt-4o"),
        ("claude-sonnet-5", "write it anthropic/claude-sonnet-5"),
        ("openai/", "write it openai/MODEL"),
        ("openai", "write it openai/MODEL"),
        ("google/gemma-3-27b-it", "hosted_vllm/google/gemma-3-27b-it with the server's address"),
    ],
)
def test_a_name_without_a_known_provider(model: str, says: str) -> None:
    with pytest.raises(ValueError, match=model.split("/")[0]) as raised:
        check_name(model)
    assert says in str(raised.value)


def test_a_setting_that_is_refused_or_dropped_is_named_with_those_that_are_sent() -> None:
    said = refused("openai/gpt-5", temperature=0, seed=1)
    assert "does not take temperature 0 (gpt-5 doesn't support temperature=0" in said
    assert "--allow-dropped temperature" in said
    assert "LiteLLM sends max_tokens, reasoning_effort, seed, verbosity" in said
    assert "drop_params" not in said
    said = refused("gemini/gemini-2.5-pro", min_p=0.1)
    assert "would never see min_p: it is dropped in silence" in said
    assert "temperature" in said
    assert "does not take seed 5" in refused("anthropic/claude-haiku-4-5", seed=5)
    assert "Must be one of" in refused("anthropic/claude-haiku-4-5", reasoning_effort="a lot")
    assert "would never see top_p" in refused("deepseek/deepseek-reasoner", top_p=0.5)
    assert "would never see min_p" in refused("vertex_ai/gemini-2.5-pro", min_p=0.1)


@pytest.mark.parametrize(
    ("model", "sampling"),
    [
        ("openai/gpt-5", {"temperature": 1}),  # the only one that it takes
        ("anthropic/claude-haiku-4-5", {"max_tokens": 64000}),  # what is sent where none is set
        ("gemini/gemini-2.5-pro", {"temperature": 1, "seed": 0, "top_p": 1}),
        ("hosted_vllm/m", {"temperature": 0, "seed": 0, "stop": ["x"], "reasoning_effort": "low"}),
        ("openai/gpt-5.1", {"temperature": 0.5, "reasoning_effort": "none"}),
    ],
)
def test_what_reaches_the_model_is_admitted(model: str, sampling: dict[str, Any]) -> None:
    assert admit(model_spec(model, sampling), Connection()) == []


def test_a_setting_that_is_taken_or_not_set_cannot_be_allowed_to_be_dropped() -> None:
    assert "takes seed: leave it out" in refused("openai/gpt-4o", ("seed",), seed=0)
    with pytest.raises(ValueError, match="seed may be dropped, but is not set"):
        model_spec("openai/gpt-4o", {"temperature": 1}, may_drop=("seed",))


def test_ollama_alone_is_asked_for_a_context_and_whoever_does_not_ask_is_told(api: Api) -> None:
    """Parameters of a Modelfile stand in `options` (github.com/ollama/ollama/blob/main/docs/api.md)."""
    asks = model_spec("ollama_chat/gemma3:12b", {"num_ctx": 16384})
    assert admit(asks, Connection(api_base=NOWHERE)) == []
    api.answers, api.requests = [error(400, "no")], []
    with pytest.raises(ProviderError):
        asyncio.run(Gateway().complete(asks, Connection(api_base=api.address), MESSAGES))
    assert api.requests[0]["options"] == {"num_predict": 4096, "num_ctx": 16384}
    (note,) = admit(model_spec("ollama_chat/gemma3:12b"), Connection(api_base=NOWHERE))
    assert "--sampling num_ctx=16384" in note
    for model in ("openai/gpt-4o", "hosted_vllm/m", "gemini/gemini-2.5-pro"):
        assert f"{model} would never see num_ctx" in refused(model, num_ctx=16384)


def test_a_schema_that_is_not_sent_as_one() -> None:
    assert "leave out --structured" in refused("cohere/command-r-plus", structured=True)
    # LiteLLM would write it into the prompt.
    assert "leave out --structured" in refused("zai/glm-4.6", structured=True)
    for model in ("openai/gpt-5", "anthropic/claude-haiku-4-5", "hosted_vllm/m", "ollama_chat/m"):
        assert takes_schema(Reader(model_spec(model)), ROOM)


def test_where_requests_cannot_be_read_settings_are_still_checked() -> None:
    """Vertex needs Google's library for more than its mapping; with it, there is nothing to note."""
    spec = model_spec("vertex_ai/gemini-2.5-pro", {"temperature": 0})
    blind = Reader(spec).blind
    assert bool(admit(spec, Connection())) == (blind is not None)
    with pytest.raises(NotTakenError, match="verbosity"):
        Reader(spec).body({"verbosity": "low"})


def test_a_misspelt_model_is_pointed_out_and_one_of_an_own_server_is_not() -> None:
    (note,) = admit(model_spec("anthropic/claude-sonet-5"), Connection())
    assert "did you mean anthropic/claude-sonnet-5?" in note
    assert admit(model_spec("openai/gpt-4oo"), Connection(api_base=NOWHERE)) == []
    assert admit(model_spec("mistral/mistral-large-latest"), Connection()) == []


def test_nothing_is_sent_to_read_a_request(api: Api) -> None:
    reader = Reader(model_spec("hosted_vllm/m"))
    assert json.dumps(reader.settings({"temperature": 0, "top_k": 2})) == (
        '{"temperature": 0, "top_k": 2}'
    )
    assert api.requests == []
