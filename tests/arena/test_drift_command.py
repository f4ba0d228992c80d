"""`run-tournament --drift` on the command line: what it says before play and after it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arena.cli import app
from tests.agents.language_model.scripted_api import Answer, chat, scripted_api


class Leaves:
    """Answers for ever, as a list would that never ends: the model walks away at once."""

    def pop(self, _: int) -> Answer:
        return chat(json.dumps({"action": "walk_away"}))


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)

    def run(*arguments: str, code: int = 0):
        done = CliRunner().invoke(app, [*arguments])
        assert done.exit_code == code, f"{done.output}\n{done.exception}"
        return done

    with scripted_api() as api:
        api.answers = Leaves()
        run(
            *("register", "served", "--model", "openai/test", "--api-base", api.address),
            *("--price-in", "1", "--price-out", "1"),
        )
        yield run


def asked(buyers: str, scenarios: int, *more: str) -> list[str]:
    who = ["--sellers", "linear,conceder", "--buyers", buyers, "--domains", "car_sale"]
    return ["run-tournament", *who, "--scenarios", str(scenarios), *more]


def test_it_says_what_it_replays_and_what_that_showed(arena) -> None:
    plan = arena(*asked("served", 16, "--drift", "1", "--dry-run")).stderr
    assert "cells of linear are replayed after 7 blocks of scenarios; 14 replays to play" in plan
    assert "only 2 scenarios, fewer than 5: no interval" in plan
    done = arena(*asked("served", 16, "--drift", "1", "--yes"))
    assert "32 of 32 scored" in done.stdout
    # A seller that nobody bargains with gets its walk-away value, every time.
    assert "Drift +0.000 (only 2 scenarios, fewer than 5) over 14 replays" in done.stdout
    again = arena(*asked("served", 16, "--drift", "1", "--yes"))
    assert "0 replays to play" in again.stderr
    printed = json.loads(arena("drift", "--json").stdout)
    assert (printed["value"], printed["cells"], len(printed["replays"])) == (0, 14, 14)


def test_replays_alone_cost_money_too(arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.lineup.costs_money", lambda agent: agent.spec.kind == "model")
    arena(*asked("served", 8, "--yes"))
    refused = arena(*asked("served", 8, "--drift", "1"), code=2)
    assert "--yes" in refused.stderr
    arena(*asked("served", 8))  # all is played: nothing to pay


def test_nothing_is_replayed_without_a_provider_or_a_second_block(arena) -> None:
    alone = arena(*asked("boulware", 2, "--drift", "0.5")).stderr
    assert "nothing is replayed, since no agent here is served by a provider" in alone
    single = arena(*asked("served", 1, "--drift", "0.5", "--yes"))
    assert "nothing is replayed, since one scenario a domain is one block" in single.stderr
    assert "Drift" not in single.stdout


def test_a_run_without_the_option_says_nothing_of_it(arena) -> None:
    done = arena(*asked("served", 2, "--yes"))
    assert "drift" not in done.output.lower()
    assert json.loads(arena("drift", "--json").stdout)["replays"] == []
