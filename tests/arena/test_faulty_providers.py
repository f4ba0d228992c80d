"""Tournaments of language models whose providers fail: what is played is what would have been played
without, and the rest is named."""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agents.language_model import gateway
from agents.language_model import prompt as prompts
from arena.cli import app
from tests.agents.language_model.faulty_api import FaultyApi, always, faulty_api, never, seeded
from tests.arena.running import in_a_group, rows

COMPARED = {
    *("ending", "at_fault", "deal", "seller_utility", "buyer_utility", "turns", "receipts"),
    *("seller_tokens_in", "seller_tokens_out", "seller_faults", "buyer_faults"),
}
PASSING = (
    *("rate_limit", "error_500", "error_502", "error_503", "error_504", "error_529", "error_408"),
    *("reset_before_headers", "reset_in_body", "truncated_json", "malformed_json", "text_body"),
    *("html_body", "empty_body", "no_choices", "empty_choices", "other_json", "error_in_200"),
)
UNLIMITED = tuple(fault for fault in PASSING if fault != "rate_limit")
SMALL = ("--domains", "coffee_import,car_sale", "--scenarios", "4")
ALL_DOMAINS = ("--scenarios", "64")
BUYERS = ("--buyers", "boulware,conceder")
RATE = 0.2


class Runs:
    """The command line in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "arena.db"

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--db", str(self.database)])

    def register(self, name: str, address: str, model: str = "bargainer", *more: str) -> None:
        done = self("register", name, "--model", f"hosted_vllm/{model}", "--api-base", address, *more)
        assert done.exit_code == 0, done.output

    def play(self, sellers: str, *more: str, code: int = 0) -> dict[str, Any]:
        done = self("run-tournament", "--sellers", sellers, *BUYERS, *more, "--json")
        assert done.exit_code == code, (done.output[-3000:], done.exception)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def scored(self) -> dict[str, dict[str, Any]]:
        """Return the matches by key: what must not depend on what went wrong on the way."""
        kept = rows(self.database)
        return {key: {n: v for n, v in row.items() if n in COMPARED} for key, row in kept.items()}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyApi]:
    """A provider, and pauses too short to notice."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    monkeypatch.setattr(gateway, "FIRST_PAUSE_S", 0.01)
    with faulty_api() as running:
        yield running


def answered(row: dict[str, Any]) -> int:
    """Return how many turns the seller answered in a match, or in a void attempt at one."""
    turns: int = row["turns"] + (row["opener"] == "seller")
    return turns // 2 - (row["ending"] == "provider_error")


@pytest.mark.parametrize(
    ("cells", "planned"),
    [
        pytest.param(SMALL, 16, id="small"),
        pytest.param(ALL_DOMAINS, 1152, id="all", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_a_tournament_in_which_every_fifth_request_fails(
    tmp_path: Path, api: FaultyApi, cells: tuple[str, ...], planned: int
) -> None:
    """It plays exactly what it plays without a fault, or names what is void."""
    found, sent, answers = {}, {}, {}
    for name, plan in (("never", never), ("often", seeded(1, RATE, PASSING))):
        api.plan = plan
        api.requests.clear()
        runs = Runs(tmp_path / name)
        runs.folder.mkdir()
        runs.register("model", api.address)
        figures = runs.play("model", *cells, "--concurrency", "32")
        assert (figures["planned"], figures["played"]) == (planned, planned)
        assert figures["void"] == figures["left"] == 0
        found[name], sent[name] = runs.scored(), len(api.requests)
        played = [*rows(runs.database).values(), *rows(runs.database, "voids").values()]
        answers[name] = sum(answered(row) for row in played)
    assert len(found["never"]) == planned
    assert found["often"] == found["never"]
    assert sent["never"] == answers["never"]
    assert sent["often"] - api.faults.total() == answers["often"]
    assert api.faults.total() / sent["often"] == pytest.approx(RATE, abs=0.6 * RATE / planned**0.25)
    endings = Counter(row["ending"] for row in found["never"].values())
    assert endings["agreement"] > planned / 4
    assert planned < 100 or api.faults.keys() == set(PASSING)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_in_the_middle_changes_nothing(tmp_path: Path, api: FaultyApi) -> None:
    cells = ("--domains", "coffee_import,car_sale,road_freight", "--scenarios", "16")
    whole = Runs(tmp_path / "whole")
    whole.folder.mkdir()
    whole.register("model", api.address)
    planned = whole.play("model", *cells)["played"]
    api.plan, api.latency_s = seeded(2, RATE, UNLIMITED), 0.02
    runs = Runs(tmp_path)
    runs.register("model", api.address)
    tournament = ("run-tournament", "--sellers", "model", *BUYERS, *cells, "--db", str(runs.database))
    kills = 0
    for share in (0.2, 0.5, 0.8, 1.0):
        process = in_a_group(*tournament, cwd=tmp_path)
        while process.poll() is None and len(rows(runs.database)) < share * planned:
            time.sleep(0.02)
        if share < 1 and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert kills == 3
    assert runs.scored() == whole.scored()


def test_a_dead_endpoint_beside_a_healthy_one(runs: Runs, api: FaultyApi) -> None:
    runs.register("alive", api.address)
    runs.register("dead", "http://127.0.0.1:9/v1", "other")
    figures = runs.play("alive,dead", *SMALL, "--concurrency", "4", code=1)
    assert (figures["planned"], figures["played"]) == (32, 16)
    assert figures["void"] + figures["left"] == 16
    assert {row["trouble"] for row in rows(runs.database, "voids").values()} == {"connection"}
    assert 5 <= len(rows(runs.database, "voids")) < 5 + 4
    (told,) = [need for need in figures["attention"] if need["kind"] == "set_aside"]
    assert told["agent"] == "dead"
    assert "cannot reach http://127.0.0.1:9/v1; check that it is up" in told["text"]


@pytest.mark.parametrize(
    ("fault", "trouble", "advice"),
    [
        ("wrong_key", "authentication", "check the key in BARGAINER_KEY"),
        ("unknown_model", "unknown_model", "does not know the model; check its name and --api-base"),
        ("no_money", "quota", "the account has no money left; top it up"),
    ],
)
def test_what_does_not_pass_stops_that_agent_at_once(
    runs: Runs,
    api: FaultyApi,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    trouble: str,
    advice: str,
) -> None:
    monkeypatch.setenv("BARGAINER_KEY", "sk-not-a-real-one")
    api.plans["refused"] = always(fault)
    runs.register("alive", api.address)
    runs.register("stopped", api.address, "refused", "--api-key-env", "BARGAINER_KEY")
    figures = runs.play("alive,stopped", *SMALL, "--concurrency", "4", code=1)
    assert figures["played"] == 16
    assert 1 <= sum(request["model"] == "refused" for request in api.requests) <= 4
    assert {row["trouble"] for row in rows(runs.database, "voids").values()} == {trouble}
    (told,) = [need for need in figures["attention"] if need["kind"] == "stopped"]
    assert told["agent"] == "stopped"
    assert advice in told["text"]
    assert "sk-not-a-real-one" not in runs.database.read_bytes().decode("latin-1") + json.dumps(figures)
    api.plans.clear()  # it is mended, and the same command plays the rest
    assert runs.play("alive,stopped", *SMALL)["played"] == 16


def test_a_bug_of_ours_stops_the_run_and_keeps_what_was_played(
    runs: Runs, api: FaultyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, append = Counter[str](), prompts.Conversation.answered

    def broken(self: prompts.Conversation, text: str) -> None:
        calls["answered"] += 1
        if calls["answered"] > 20:
            raise KeyError("a bug")
        append(self, text)

    runs.register("model", api.address)
    with monkeypatch.context() as patched:
        patched.setattr(prompts.Conversation, "answered", broken)
        stopped = runs.play("model", *SMALL, "--concurrency", "2", code=1)
    assert 0 < stopped["played"] < 16
    assert stopped["void"] == 0
    assert stopped["attention"][0]["kind"] == "bug"
    assert "KeyError" in stopped["attention"][0]["text"]
    assert len(rows(runs.database)) == stopped["played"]
    assert runs.play("model", *SMALL)["played"] == 16 - stopped["played"]
