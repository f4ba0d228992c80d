"""What `arena register` asks LiteLLM before it gives a model a name."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from arena.cli import app

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
        (["--model", "cohere/command-r-plus", "--structured"], "leave out --structured"),
        ([*GEMINI, "--allow-dropped", "seed"], "would never see min_p"),
        ([*GEMINI, "--allow-dropped", "min_p", "--allow-dropped", "seed"], "takes seed: leave it out"),
        ([*GEMINI, "--allow-dropped", "top_k"], "top_k may be dropped, but is not set"),
    ],
)
def test_what_cannot_reach_the_model_is_not_registered(words: list[str], says: str) -> None:
    done = register(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: m: ")
    assert says in done.stderr
    assert "Traceback" not in done.output
    assert listed() == []


def test_a_setting_that_may_be_dropped_is_part_of_the_version() -> None:
    assert register(*GEMINI, "--allow-dropped", "min_p").exit_code == 0
    (agent,) = listed()
    assert agent["spec"]["may_drop"] == ["min_p"]
    assert register("--model", "gemini/gemini-2.5-pro", "--seed", "0").exit_code == 0
    assert listed()[0]["version"] != agent["version"]


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
        "server_args": [],
        "stream": True,
        "tokens_per_minute": 90000,
    }


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
