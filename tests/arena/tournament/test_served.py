"""Tournaments whose agents the arena serves itself: by a stand-in for llama.cpp, in its own process."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.language_model import gateway, llama_cpp
from arena.cli import app
from arena.entry import entry_from
from arena.lineup import Lineup, request_from, resolve
from arena.registry import Registry
from arena.serving import servings
from arena.store import Filter, Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.agents.language_model.test_serving import STAND_IN, lives
from tests.agents.local.processes import gone
from tests.gguf_files import gguf

ASKED = {"buyers": ["linear"], "domains": ["lamps"], "scenarios": 6}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(llama_cpp, "command", lambda model: [sys.executable, STAND_IN, str(model)])
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # of logs that are kept
    monkeypatch.chdir(tmp_path)
    with Store.open(str(tmp_path / "arena.db")) as opened:
        yield opened


@pytest.fixture
def seller(store: Store, tmp_path: Path) -> Callable[..., Path]:
    """Register an agent whose weights are to be served; return where these lie."""

    def register(name: str, *arguments: str, **fields: object) -> Path:
        weights = tmp_path / f"{name}.gguf"
        weights.write_bytes(gguf(name.encode()))
        note = f"--note {weights.with_suffix('.note')}"
        entry = {"name": name, "weights": str(weights), "server_args": [note, *arguments]}
        Registry(store).register([entry_from(entry | fields)])
        return weights

    return register


def run(
    store: Store, settings: Settings | None = None, **asked: object
) -> tuple[Lineup, Summary, list[str]]:
    """Play with servers; return what came of it, and the lines that were told of them."""
    lineup = resolve(request_from(ASKED | asked), store)
    told: list[str] = []
    chosen = settings or Settings(workers=1, concurrency=4, servers=1)
    tournament = Tournament(store, lineup, chosen, lambda _, news: told.append(news.line))
    return lineup, tournament.run(), told


def scores(store: Store) -> dict[str, float | None]:
    """What the seller got, by match."""
    return {match.key: match.seller_utility for match in store.matches(Filter())}


def test_served_sellers_take_turns_and_leave_no_process(
    store: Store, seller: Callable[..., Path]
) -> None:
    files = [seller("a"), seller("b")]
    lineup, summary, told = run(store, sellers=["a", "b"])
    assert summary.complete
    assert summary.played == 12
    assert len([line for line in told if "starting" in line]) == 2
    assert [len(lives(file)) for file in files] == [1, 1]
    assert all(gone(pid) for file in files for pid in lives(file))
    assert len(servings(lineup.agents)) == 2
    (version,) = [v for v, agent in lineup.agents.items() if agent.name == "a"]
    match = next(m for m in store.matches(Filter()) if m.seller_version == version)
    receipt = store.receipts(match)["seller"]
    assert receipt["server"] == "llama.cpp"
    assert receipt["arguments"] == ["--note", str(files[0].with_suffix(".note"))]
    assert receipt["served_model"] == "a"


def test_agents_that_differ_in_sampling_alone_share_a_server(
    store: Store, seller: Callable[..., Path], tmp_path: Path
) -> None:
    file = seller("a", model="hosted_vllm/one")
    entry = {
        "name": "cool",
        "model": "hosted_vllm/one",
        "weights": str(file),
        "server_args": [f"--note {file.with_suffix('.note')}"],
        "temperature": 0,
    }
    Registry(store).register([entry_from(entry)])
    _, summary, _ = run(store, sellers=["a", "cool"], buyers=["linear", "a"])
    assert summary.complete
    assert summary.played == 24
    assert len(lives(file)) == 1


def test_what_a_server_that_dies_costs_is_time_alone(
    store: Store, seller: Callable[..., Path], tmp_path: Path
) -> None:
    """The same scores as where nothing fails, no match void, none counted twice."""
    file = seller("a", "--deaths 2", "--after 5")
    _, summary, told = run(store, sellers=["a"])
    assert summary.complete
    assert (summary.played, summary.void) == (6, 0)
    assert len(lives(file)) == 3
    assert len([line for line in told if "starting it again" in line]) == 2
    assert not store.matches(Filter(), voids=True)
    assert all(gone(pid) for pid in lives(file))

    with Store.open(str(tmp_path / "calm.db")) as calm:
        entry = {"name": "a", "weights": str(file)}
        Registry(calm).register([entry_from(entry)])
        run(calm, sellers=["a"])
        assert len(set(scores(calm).values())) > 1
        assert scores(calm) == scores(store)


def test_a_server_that_does_not_come_up_stops_its_agent_alone(
    store: Store, seller: Callable[..., Path]
) -> None:
    seller("broken", "--refuses"), seller("whole")
    lineup, summary, _ = run(store, sellers=["broken", "whole"])
    assert summary.played == 6
    assert not summary.complete
    voids = store.matches(Filter(), voids=True)
    names = {version: agent.name for version, agent in lineup.agents.items()}
    assert {(names[v.seller_version], v.ending, v.trouble) for v in voids} == {
        ("broken", "provider_error", "weights")
    }
    assert all("these weights are no weights" in v.detail for v in voids)
    assert len(voids) <= 4
    assert [names[v] for v, tally in summary.tallies.items() if tally.set_aside] == ["broken"]


def test_a_match_of_two_servers_has_both(store: Store, seller: Callable[..., Path]) -> None:
    files = {name: seller(name) for name in ("a", "b", "c")}
    settings = Settings(workers=1, concurrency=4, servers=2)
    _, summary, told = run(store, settings, sellers=["a", "b"], buyers=["c", "b"], scenarios=2)
    assert summary.complete
    assert summary.played == 8
    # Three pairs of three servers, two at a time: at least one of them has to make room and come back,
    # and which matches end first decides whether another has to.
    starts = [len(lives(file)) for file in files.values()]
    assert set(starts) <= {1, 2}
    assert sum(starts) >= 4
    assert len(told) == 3 * sum(starts)  # starting, ready, stopped


def test_a_user_is_told_what_is_missing_before_anything_is_frozen(
    store: Store, seller: Callable[..., Path], tmp_path: Path
) -> None:
    seller("a"), seller("b")
    (tmp_path / "cut.gguf").write_bytes(gguf()[:-1])
    pair = ("run-tournament", "--sellers", "a", "--buyers", "b", "--domains", "lamps")
    mistakes = {
        pair: "nothing serves their weights. Add --serve",
        (*pair, "--serve"): "a against b needs two servers at once: --servers 2",
        (*pair, "--servers", "2"): "--servers goes with --serve",
        ("register", "c", "--model", "openai/c", "--server", "vllm"): "server goes with weights",
        ("register", "c", "--model", "openai/c", "--weights", "a.gguf"): "is named hosted_vllm/NAME",
        ("register", "c", "--weights", "none.gguf"): "there is no file",
        ("register", "c", "--weights", "cut.gguf"): "cut.gguf is damaged, or cut off",
        ("register", "c", "--weights", "a.gguf", "--revision", "x"): "is computed from the weights",
        ("register", "c", "--weights", str(tmp_path), "--server", "llama.cpp"): "serves a GGUF file",
        ("register", "c", "--weights", "a.gguf", "--server-arg", "--x 'y"): "No closing quotation",
    }
    for command, words in mistakes.items():
        done = CliRunner().invoke(app, [*command, "--db", str(tmp_path / "arena.db")])
        assert (done.exit_code, words in done.output) == (2, True), done.output
    assert not store.designs()


def test_the_plan_says_who_is_served_by_what(
    store: Store, seller: Callable[..., Path], tmp_path: Path
) -> None:
    file = seller("a")
    cool = {"name": "cool", "weights": str(file), "server_args": [f"--note {file.with_suffix('.note')}"]}
    Registry(store).register([entry_from(cool | {"temperature": 0})])
    seller("b")
    plan = (
        *(
            "run-tournament",
            "--sellers",
            "a,cool,b,boulware",
            "--buyers",
            "linear",
            "--domains",
            "lamps",
        ),
        *("--scenarios", "2", "--db", str(tmp_path / "arena.db"), "--json", "--dry-run"),
    )
    for more, at_once, words in (
        ((), None, "by nobody without --serve"),
        (("--serve",), 1, "one at a time (--servers)"),
        (("--serve", "--servers", "2"), 2, "2 at once (--servers)"),
    ):
        done = CliRunner().invoke(app, [*plan, *more])
        assert f"  served:  a, cool by llama.cpp; b by llama.cpp; {words}\n" in done.stderr
        found = json.loads(done.stdout)["serving"]
        assert found["at_once"] == at_once
        assert [(one["server"], one["agents"]) for one in found["servers"]] == [
            *(("llama.cpp", ["a", "cool"]), ("llama.cpp", ["b"]))
        ]
        assert found["servers"][0] | {"agents": []} == {
            **{"server": "llama.cpp", "model": "a", "weights": str(file), "agents": []}
        }
    played = CliRunner().invoke(app, [*plan[:-1], "--serve"])
    assert (played.exit_code, len(lives(file))) == (0, 1)
    again = CliRunner().invoke(app, [*plan, "--serve"])
    assert "served:" not in again.stderr
    assert json.loads(again.stdout)["serving"]["servers"] == []


def test_the_log_says_what_became_of_the_servers(
    store: Store, seller: Callable[..., Path], tmp_path: Path
) -> None:
    seller("a", "--deaths 1", "--after 2"), seller("broken", "--refuses")
    CliRunner().invoke(
        app,
        [
            *("run-tournament", "--sellers", "a,broken", "--buyers", "linear", "--domains", "lamps"),
            *("--scenarios", "2", "--serve", "--log-file", "log.jsonl"),
            *("--db", str(tmp_path / "arena.db")),
        ],
    )
    log = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    found = {name: [e for e in log if e.get("agents") == [name]] for name in ("a", "broken")}
    assert [event["event"].removeprefix("server_") for event in found["a"]] == [
        *("starting", "ready", "ended", "starting", "ready", "stopped")
    ]
    assert {(e["server"], e["model"], e["run"]) for e in found["a"]} == {
        ("llama.cpp", "a", log[0]["run"])
    }
    assert all((e["seconds"] or 0) > 0 for e in found["a"] if e["event"] == "server_ready")
    assert found["a"][2]["detail"] == f"reading {tmp_path / 'a.gguf'}"
    lines = [(event["event"], event["detail"]) for event in found["broken"]]
    assert lines[-1] == ("server_given_up", "these weights are no weights")
    assert [event for event, _ in lines].count("server_starting") == 4


def test_a_check_serves_what_it_checks(
    store: Store, seller: Callable[..., Path], tmp_path: Path
) -> None:
    file = seller("a")
    done = CliRunner().invoke(app, ["check", "a", "--db", str(tmp_path / "arena.db")])
    assert done.exit_code == 0, done.output
    assert "action: propose" in done.output
    assert [gone(pid) for pid in lives(file)] == [True]
