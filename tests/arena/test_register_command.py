"""What `arena register` asks LiteLLM before it gives a model a name."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from agents.language_model.admission import SAMPLES
from agents.language_model.endpoint import BURST_S
from agents.spec import Connection
from arena.cli import app
from tests.agents.language_model.test_endpoint import sent

GEMINI = ("--model", "gemini/gemini-2.5-pro", "--sampling", "min_p=0.1", "--seed", "0")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_DB", str(tmp_path / "arena.db"))


def register(*words: str) -> Result:
    return CliRunner().invoke(app, ["register", "m", *words])


def listed() -> list[dict[str, object]]:
    done = CliRunner().invoke(app, ["agents", "--json"])
    return [agent for agent in json.loads(done.stdout) if agent["registered_at"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "nonsense"], "nonsense has no provider"),
        (["--model", "anthropc/claude-sonnet-5"], "did you mean anthropic/claude-sonnet-5"),
        (GEMINI, "would never see min_p"),
        (["--model", "openai/gpt-5", "--temperature", "0"], "does not take temperature 0"),
        (["--model", "anthropic/claude-haiku-4-5", "--sampling", "min_p=0.1"], "own API refuses it"),
        (["--model", "openai/gpt-4o", "--top-k", "5"], "does not take top_k: its provider's own API"),
        (["--model", "cohere/command-r-plus", "--structured"], "leave out --structured"),
        ([*GEMINI, "--allow-dropped", "seed"], "would never see min_p"),
        ([*GEMINI, "--allow-dropped", "min_p", "--allow-dropped", "seed"], "takes seed: leave it out"),
        ([*GEMINI, "--allow-dropped", "min_p,seed"], "takes seed: leave it out"),
        ([*GEMINI, "--allow-dropped", "top_k"], "top_k may be dropped, but is not set"),
        (
            [*GEMINI, "--allow-dropped", "minp"],
            "minp is no sampling setting: leave it out of --allow-dr",
        ),
        ([*GEMINI, "--allow-dropped", "minp"], "Of what is set, min_p would be dropped"),
        ([*GEMINI[:2], "--allow-dropped", "minp"], "All that is set reaches gemini/gemini-2.5-pro"),
    ],
)
def test_what_cannot_reach_the_model_is_not_registered(words: list[str], says: str) -> None:
    done = register(*words)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("Error: m: ")
    assert says in done.stderr
    assert "Traceback" not in done.output
    assert listed() == []


def test_a_setting_that_may_be_dropped_is_part_of_the_version() -> None:
    assert register(*GEMINI, "--allow-dropped", "min_p").exit_code == 0
    (agent,) = listed()
    assert agent["spec"]["may_drop"] == ["min_p"]
    assert agent["what"] == "gemini/gemini-2.5-pro (max_tokens 4096, min_p 0.1 (not sent), seed 0)"
    assert register("--model", "gemini/gemini-2.5-pro", "--seed", "0").exit_code == 0
    assert listed()[0]["version"] != agent["version"]


def test_only_settings_are_proposed_that_would_be_registered() -> None:
    model = ("--model", "anthropic/claude-haiku-4-5")
    samples = {name: json.dumps(value) for name, value in SAMPLES.items()}
    said = register(*model, "--seed", "0").stderr.partition("LiteLLM sends ")[2].strip(". \n")
    assert "temperature" in said
    for name in said.split(", "):
        fields = {"temperature", "top_p", "top_k", "seed", "max_tokens", "reasoning_effort"}
        value = samples[name].strip('"')
        given = (
            (f"--{name.replace('_', '-')}", value)
            if name in fields
            else ("--sampling", f"{name}={value}")
        )
        done = register(*model, *given)
        assert done.exit_code == 0, (name, done.output)


def test_what_only_the_providers_own_api_refuses_may_be_sent_elsewhere_or_dropped() -> None:
    words = ("--model", "openai/gpt-4o", "--top-k", "5")
    assert register(*words, "--api-base", "http://127.0.0.1:9/v1").exit_code == 0
    assert register(*words, "--allow-dropped", "top_k").exit_code == 0


def test_the_usual_variable_of_a_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--model", "anthropic/claude-haiku-4-5", "--api-key-env")
    note = (
        "ANTHROPIC_KEY is not set here; the usual variable with a key for anthropic is ANTHROPIC_API_KEY"
    )
    monkeypatch.delenv("ANTHROPIC_KEY", raising=False)
    for own in (None, "a-key-of-a-test"):
        if own is None:
            monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        else:
            monkeypatch.setenv("ANTHROPIC_API_KEY", own)
        done = register(*words, "ANTHROPIC_KEY")
        assert done.exit_code == 0
        assert note in done.stderr
        assert "usual" not in register(*words, "ANTHROPIC_API_KEY").stderr
    monkeypatch.setenv("ANTHROPIC_KEY", "a-key-of-a-test")
    assert "usual" not in register(*words, "ANTHROPIC_KEY").stderr


def test_settings_that_may_be_dropped_are_named_by_commas_or_one_by_one() -> None:
    deepseek = ("--model", "deepseek/deepseek-reasoner", "--temperature", "0", "--top-p", "0.5")
    versions = set()
    for words in (["temperature,top_p"], ["top_p", "--allow-dropped", " temperature,"]):
        assert register(*deepseek, "--allow-dropped", *words).exit_code == 0
        (agent,) = listed()
        assert agent["spec"]["may_drop"] == ["temperature", "top_p"]
        versions.add(agent["version"])
    assert len(versions) == 1


def test_how_it_is_reached_is_kept_and_updates_the_same_agent() -> None:
    model = ("--model", "hosted_vllm/m", "--api-base", "http://127.0.0.1:1/v1")
    assert "registered" in register(*model).stdout
    limits = ("--max-concurrent", "4", "--requests-per-minute", "60", "--tokens-per-minute", "90000")
    done = register(*model, "--api-base", "http://127.0.0.1:2/v1", *limits, "--stream")
    assert "updated" in done.stdout
    (agent,) = listed()
    assert agent["connection"] == {
        "api_base": "http://127.0.0.1:1/v1",
        "api_bases": ["http://127.0.0.1:2/v1"],
        "max_concurrent": 4,
        "requests_per_minute": 60,
        "stream": True,
        "tokens_per_minute": 90000,
    }
    shown = CliRunner().invoke(app, ["agents", "m"]).stdout
    assert "reached at http://127.0.0.1:1/v1, http://127.0.0.1:2/v1" in shown
    assert "4 requests at once, 60 requests a minute, 90,000 tokens a minute" in shown
    assert "its answers are streamed" in shown


def test_one_agent_is_shown_with_all_that_is_known_of_it() -> None:
    register("--model", "hosted_vllm/m", "--family", "gemma", "--api-key-env", "MY_KEY")
    register("--model", "hosted_vllm/m", "--temperature", "0", "--price-in", "1", "--price-out", "2")
    run = CliRunner().invoke
    shown = run(app, ["agents", "m"]).stdout
    assert shown.startswith("m@")
    assert "temperature" in shown
    assert "input_usd_per_million 1.0, output_usd_per_million 2.0" in shown
    assert "MY_KEY" not in shown
    both = run(app, ["agents", "m", "--all"]).stdout
    assert both.count("m@") == 2
    assert "api_key_env MY_KEY, family gemma" in both
    assert len(json.loads(run(app, ["agents", "m", "--all", "--json"]).stdout)) == 2
    assert "strategy linear" in run(app, ["agents", "linear"]).stdout
    assert "no agent is called nobody" in run(app, ["agents", "nobody"]).stderr


def test_a_file_of_agents_is_checked_whole(tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text(
        "agents:\n"
        "  - {name: good, model: hosted_vllm/m, api_base: [http://h/v1, http://g/v1], stream: true}\n"
        "  - {name: bad, model: anthropic/claude-haiku-4-5, seed: 1}\n"
    )
    done = CliRunner().invoke(app, ["register", "--file", str(file)])
    assert done.exit_code == 2
    assert "bad: anthropic/claude-haiku-4-5 does not take seed 1" in done.stderr
    assert listed() == []
    file.write_text(file.read_text().replace("seed: 1", "seed: 1, allow_dropped: [seed]"))
    assert CliRunner().invoke(app, ["register", "--file", str(file)]).exit_code == 0
    assert [agent["name"] for agent in listed()] == ["good", "bad"]


SLOWLY = ("--model", "hosted_vllm/m", "--api-base", "http://127.0.0.1:9/v1")


def test_rates_below_one_are_kept_and_hold() -> None:
    done = register(*SLOWLY, "--requests-per-minute", "0.5", "--tokens-per-minute", "512")
    assert done.exit_code == 0
    assert "An answer may have 4,096 tokens, and all of them count, but only 512 a minute" in done.stderr
    assert "8 minutes or more pass after each request. --max-tokens sets how many" in done.stderr
    (agent,) = listed()
    limits = Connection.model_validate(agent["connection"])
    assert (limits.requests_per_minute, limits.tokens_per_minute) == (0.5, 512)
    (first, _), (second, _), (third, _) = sent([(0.0, 1), (0.0, 4096), (0.0, 1)], limits)
    assert (second - first, third - second) == pytest.approx((120, 480), abs=BURST_S)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("requests", rate) for rate in ("0", "0.01", "1e-300", "nan")),
        ("tokens", "0"),
        ("tokens", "inf"),
    ],
)
def test_a_rate_at_which_nothing_would_ever_be_sent_is_a_mistake(option: str, value: str) -> None:
    done = register(*SLOWLY, f"--{option}-per-minute", value)
    assert done.exit_code == 2
    assert f"{option}_per_minute: Input should be " in done.stderr
    assert not listed()


def test_an_answer_that_fits_a_minute_is_nothing_to_note() -> None:
    done = register(*SLOWLY, "--tokens-per-minute", "4096")
    assert (done.exit_code, done.stderr) == (0, "")
