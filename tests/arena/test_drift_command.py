"""`run-tournament --drift` on the command line: what it says before play and after it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from arena.cli import app
from tests.agents.language_model.scripted_api import Answer, chat, scripted_api

FIVE = "apartment_lease,car_sale,coffee_import,festival_booking,office_fit_out"


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
        run.api = api
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


class Changes:
    """Walks away from an offer when it sees it first, and accepts it when it comes again."""

    def __init__(self, requests: list[dict[str, Any]]) -> None:
        self._requests, self._seen = requests, set[str]()

    def pop(self, _: int) -> Answer:
        offer = json.dumps(self._requests[-1]["messages"])
        action = "accept" if offer in self._seen else "walk_away"
        self._seen.add(offer)
        return chat(json.dumps({"action": action}))


def test_drift_needs_attention_where_its_interval_leaves_0_out(arena) -> None:
    """The one seller opens: what a replay's buyer is shown is what the first one was."""
    arena.api.answers = Changes(arena.api.requests)
    who = ["--sellers", "linear", "--buyers", "served", "--domains", FIVE, "--opener", "seller"]
    how = ["--scenarios", "2", "--drift", "1", "--yes", "--concurrency", "1", "--log-file", "log.jsonl"]
    done = arena("run-tournament", *who, *how)
    assert "10 of 10 scored" in done.stdout
    (said,) = [line for line in done.stdout.splitlines() if "drift" in line.lower()]
    shown = r"Attention: drift \+0\.\d+ \[\+.* over 5 replays on 5 scenarios: what was served changed"
    assert re.match(shown, said)
    told = json.loads(arena("run-tournament", *who, *how, "--json").stdout)
    (notice,) = told["attention"]
    assert (notice["kind"], notice["agent"]) == ("drift", None)
    assert said == f"Attention: {notice['text']}."
    ended = json.loads(Path("log.jsonl").read_text().splitlines()[-1])
    assert [one["kind"] for one in ended["attention"]] == ["drift"]


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
