"""Where requests really go, as who received them knows it."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import pytest

from agents.agent import ProviderError, View
from agents.language_model import model_spec
from agents.language_model.agent import LanguageModelAgent
from agents.language_model.gateway import Gateway
from agents.language_model.library import library, spare_this_machine
from agents.language_model.route import Route, redirected, route
from agents.spec import AgentSpec, Connection
from arena.play import briefs
from arena.protocol import Rules
from scenarios.scenario import Role
from tests.agents.language_model.scripted_api import Api, chat, error
from tests.arena.protocol.flat import FLAT, SCENARIO

MESSAGES = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "GROQ", "HOSTED_VLLM", "OLLAMA")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        monkeypatch.setenv(f"{provider}_API_KEY", "a-key-of-a-test")
        monkeypatch.delenv(f"{provider}_API_BASE", raising=False)
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def ask(model: str, connection: Connection) -> None:
    with suppress(ProviderError):
        asyncio.run(Gateway().complete(model_spec(model), connection, MESSAGES))


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_BASE_URL"),
        ("openai/gpt-4o", "OPENAI_API_BASE"),
        ("anthropic/claude-haiku-4-5", "ANTHROPIC_API_BASE"),
        ("anthropic/claude-haiku-4-5", "ANTHROPIC_BASE_URL"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_BASE"),
        ("openrouter/qwen/qwen3-32b", "OPENROUTER_API_BASE"),
        ("groq/llama-3.1-8b-instant", "GROQ_API_BASE"),
        ("hosted_vllm/m", "HOSTED_VLLM_API_BASE"),
        ("ollama_chat/m", "OLLAMA_API_BASE"),
    ],
)
def test_the_host_is_the_one_that_is_asked(
    api: Api, monkeypatch: pytest.MonkeyPatch, model: str, variable: str
) -> None:
    monkeypatch.setenv(variable, api.address)
    api.answers = [error(404, "no such model") for _ in range(60)]  # Ollama is also asked what it has
    ask(model, Connection())
    assert api.requests
    found = route(model_spec(model), Connection())
    assert found == Route(urlsplit(api.address).netloc, variable)
    assert found.words == f"at {found.host}, as {variable} says"


def test_of_two_variables_with_one_address_it_is_the_providers(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.setenv(variable, api.address)
    assert route(model_spec("openai/gpt-4o"), Connection()).by == "OPENAI_BASE_URL"
    assert route(model_spec("anthropic/claude-haiku-4-5"), Connection()).by == "ANTHROPIC_API_BASE"


def test_without_variables_it_is_the_providers_own() -> None:
    spec = model_spec("anthropic/claude-haiku-4-5")
    assert route(spec, Connection()) == Route("api.anthropic.com")
    assert redirected(spec, Connection()) is None


def test_a_password_in_an_address_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_BASE", "https://me:hidden@gate.example:8443/v1?key=hidden")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hidden@proxy.example:3128")
    found = route(model_spec("anthropic/claude-haiku-4-5"), Connection())
    assert found == Route("gate.example:8443", "ANTHROPIC_API_BASE", "proxy.example:3128")


def test_a_proxy_is_told_where_one_is_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, connection = model_spec("hosted_vllm/m"), Connection(api_base="http://far.invalid:8000/v1")
    monkeypatch.setenv("HTTP_PROXY", api.address.removesuffix("/v1"))
    api.answers = [error(404, "no such model")]
    ask("hosted_vllm/m", connection)
    assert len(api.requests) == 1
    assert redirected(spec, connection) == Route("far.invalid:8000", None, urlsplit(api.address).netloc)
    monkeypatch.setenv("NO_PROXY", "far.invalid")
    assert redirected(spec, connection) is None


@pytest.mark.parametrize("model", ["hosted_vllm/m", "openai/m"])
@pytest.mark.parametrize("no_proxy", [{}, {"NO_PROXY": "far.invalid"}, {"no_proxy": "far.invalid"}])
def test_this_machine_is_asked_without_a_proxy(
    api: Api, monkeypatch: pytest.MonkeyPatch, model: str, no_proxy: dict[str, str]
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name, value in no_proxy.items():
        monkeypatch.setenv(name, value)
    library()
    spare_this_machine()  # as the library does in a process that begins with these variables
    api.answers = [chat()]
    ask(model, Connection(api_base=api.address))
    assert len(api.requests) == 1
    assert redirected(model_spec(model), Connection(api_base=api.address)) is None
    assert proxy_bypass("far.invalid") == bool(no_proxy)


def receipt(spec: AgentSpec, connection: Connection) -> Mapping[str, Any]:
    brief = briefs(FLAT, SCENARIO, Rules(turns=2))[Role.SELLER]
    mind = LanguageModelAgent(spec, connection).begin(Role.SELLER, brief, Random(0))
    reply = asyncio.run(mind.reply(View(brief, 0, (), None, None)))
    assert reply.receipt is not None
    return reply.receipt


def test_a_receipt_tells_who_was_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = model_spec("openai/gpt-4o")
    api.answers = [chat(), chat()]
    assert "asked_at" not in receipt(spec, Connection(api_base=api.address))
    monkeypatch.setenv("OPENAI_BASE_URL", api.address)
    assert receipt(spec, Connection())["asked_at"] == urlsplit(api.address).netloc


@pytest.mark.parametrize(
    ("served", "told"),
    [
        ("/home/somebody/llama/SmolLM2-135M.gguf", "SmolLM2-135M.gguf"),
        ("models/SmolLM2-135M.gguf", "SmolLM2-135M.gguf"),
        ("C:\\Users\\somebody\\q4.gguf", "q4.gguf"),
        ("/srv/checkpoints/step-200/", "step-200"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct"),
        ("accounts/fireworks/models/qwen3", "accounts/fireworks/models/qwen3"),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),
    ],
)
def test_a_receipt_holds_no_path_of_somebodys_disk(api: Api, served: str, told: str) -> None:
    answer = chat()
    answer.body["model"] = served
    api.answers = [answer]
    assert receipt(model_spec("hosted_vllm/m"), Connection(api_base=api.address))["served_model"] == told
