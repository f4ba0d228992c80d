"""`arena check` of a language model: what it is sent, its price and limits, and what went wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.language_model import gateway, model_spec
from agents.spec import Connection, Profile
from arena.cli import app
from arena.commands import printing
from arena.store import Registration, Store
from tests.agents.language_model.scripted_api import Api, chat, error, scripted_api

ANSWER = '{"reasoning": "Wait.", "message": "Good day.", "action": "talk"}'


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    with scripted_api() as running:
        yield running


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_DB", str(tmp_path / "arena.db"))


def arena(*words: str) -> Result:
    return CliRunner().invoke(app, [*words])


def register(api: Api, *words: str) -> None:
    done = arena("register", "m", "--model", "hosted_vllm/m", "--api-base", api.address, *words)
    assert done.exit_code == 0, done.output


def test_what_it_is_sent_and_how_it_is_reached(api: Api) -> None:
    register(
        *(api, "--temperature", "0", "--top-k", "4", "--structured", "--max-concurrent", "3"),
        *("--price-in", "2", "--price-out", "0.5", "--timeout", "30"),
    )
    api.answers = [chat(ANSWER)]
    done = arena("check", "m")
    assert done.exit_code == 0, done.output
    assert "sent: temperature 0.0, max_tokens 4096, top_k 4; a JSON schema; prompt v1" in done.stdout
    assert "price: $2.00 a million tokens in, $0.50 out" in done.stdout
    assert f"reached at {api.address}" in done.stdout
    assert "limits: 30 s a call, 3 requests at once" in done.stdout
    body = api.requests[0]
    assert (body["temperature"], body["top_k"], body["max_tokens"]) == (0, 4, 4096)
    assert body["response_format"]["type"] == "json_schema"


def test_json_has_the_same(api: Api) -> None:
    register(api)
    api.answers = [chat(ANSWER)]
    report = json.loads(arena("check", "m", "--json").stdout)
    assert report["model"] == {
        "sent": {"max_tokens": 4096},
        "schema": False,
        "prompt": "v1",
        "route": {"host": urlsplit(api.address).netloc, "by": None, "proxy": None},
        "price": None,
        "notes": [],
        "problem": None,
    }
    assert report["live_turn"]["receipt"]["served_model"] == "served-model"
    assert report["live_turn"]["trouble"] is None


def test_a_variable_that_sends_it_elsewhere_is_told(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", api.address)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-a-test")
    assert arena("register", "m", "--model", "openai/gpt-4o").exit_code == 0
    api.answers = [chat(ANSWER)]
    done = arena("check", "m")
    assert done.exit_code == 0, done.output
    said = f"reached at {urlsplit(api.address).netloc}, as OPENAI_BASE_URL says"
    assert said in done.stdout
    assert "its provider" not in done.stdout
    plan = ("run-tournament", "--sellers", "m", "--buyers", "linear", "--domains", "bread")
    done = arena(*plan, "--scenarios", "2", "--dry-run", "--json")
    assert f"note: m is {said}" in done.stderr
    assert json.loads(done.stdout)["rerouted"]["m"]["by"] == "OPENAI_BASE_URL"


def test_a_slow_model_is_seen_to_be_awaited_and_silence_says_what_to_do(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "TOLD_S", 0.05)
    register(api)
    slow = chat(ANSWER)
    slow.delay_s = 0.6
    api.answers = [slow]
    done = arena("check", "m")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("waiting for its answer, 0 s\n") > 1
    assert "waiting" not in done.stdout
    register(api, "--timeout", "0.2")
    api.answers = [slow]
    done = arena("check", "m")
    assert done.exit_code == 1
    assert "did not answer in time (at most 0.2 s): nothing came. If it is only slow, " in done.stdout
    assert "--timeout" in done.stdout
    assert "--prompt brief1" in done.stdout


def test_its_own_timeout_holds_for_a_model_too(api: Api) -> None:
    register(api)
    slow = chat(ANSWER)
    slow.delay_s = 0.6
    api.answers = [slow]
    done = arena("check", "m", "--timeout", "0.2")
    assert done.exit_code == 1
    assert "did not answer in time (at most 0.2 s)" in done.stdout


def test_a_schema_that_the_server_refuses_is_told(api: Api) -> None:
    register(api, "--structured")
    api.answers = [error(400, "response_format is not supported"), chat(ANSWER)]
    done = arena("check", "m")
    assert done.exit_code == 0, done.output
    assert "the JSON schema was refused, plain JSON sent instead" in done.stdout


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "provider_error (authentication): "),
        (404, "provider_error (unknown model): "),
        (402, "provider_error (quota): "),
        (422, "provider_error (rejected): "),
    ],
)
def test_what_went_wrong_has_its_kind(api: Api, status: int, words: str) -> None:
    register(api)
    api.answers = [error(status, "no")]
    done = arena("check", "m")
    assert done.exit_code == 1
    assert f"problem (live turn): {words}" in done.stdout


def test_an_agent_whose_settings_would_be_dropped_is_found(tmp_path: Path) -> None:
    """One that another release registered, say, before LiteLLM dropped the setting."""
    spec = model_spec("gemini/gemini-2.5-pro", {"min_p": 0.1})
    agent = Registration("old", spec, "both", Profile(), Connection(), "2026-01-01T00:00:00+00:00")
    with Store.open(str(tmp_path / "arena.db"), create=True) as store:
        store.add_registrations([agent])
    done = arena("check", "old")
    assert done.exit_code == 1
    assert "problem (settings): gemini/gemini-2.5-pro would never see min_p" in done.stdout
    assert "price: $1.25 a million tokens in, $10.00 out" in done.stdout
