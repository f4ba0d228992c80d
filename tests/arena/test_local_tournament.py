"""The main job with weights on this machine: from register to board, show, exports, and a killed run."""

import csv
import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("trl", reason="tiny models need pip install 'bargaining-arena[train]'")

from agents.local.engine import Engines
from agents.local.weights import Weights
from arena import order
from arena.entry import RegistryError, entry_from
from arena.lineup import Request, resolve
from arena.registry import Registry
from arena.store import Filter, Store
from arena.tournament import Settings, Tournament
from scenarios.scenario import Role
from tests.agents.local.untaught import untaught
from tests.arena.running import arena, command, environment, rows
from tests.trainers.small_run import tiny_base

__all__ = ["tiny_base"]


class Three(NamedTuple):
    """A store with three local sellers, their folders, and which of these were loaded, in order."""

    store: Store
    folders: list[Path]
    loads: list[Path]


ONE_THREAD = {"OMP_NUM_THREADS": "1", "ARENA_LOCAL_BACKEND": "transformers"}
SELL = ("--prompt", "brief1", "--max-tokens", "48", "--role", "seller")
PLAYED = ("--domains", "lamps", "--turns", "2", "--db", "a.db")


def said(database: Path) -> dict[str, Any]:
    """Return by key how a match ended, and every answer word by word; times are left out."""
    with Store.open(str(database)) as store:
        return {
            match.key: (
                (match.ending, match.seller_utility, match.buyer_utility, match.seller_tokens_out),
                [
                    (turn.role, turn.offer, [a.text for a in turn.attempts])
                    for turn in store.turns(match)
                ],
            )
            for match in store.matches(Filter(), limit=1000)
        }


def run(folder: Path, *arguments: object) -> str:
    done = arena(*arguments, cwd=folder, **ONE_THREAD)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def played(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database, in which a taught and an untaught seller played scripted buyers."""
    folder = tmp_path_factory.mktemp("local")
    shutil.copytree(tiny_base, folder / "base", ignore=shutil.ignore_patterns("sft"))
    run(folder, "register", "tiny", "--weights", "base", *SELL, "--params", "3e5", "--db", "a.db")
    other = ("register", "rubbish", "--weights", untaught("conventional").folder)
    run(folder, *other, *SELL, "--model", "tiny-conventional", "--base", "tiny", "--db", "a.db")
    tournament = ("run-tournament", "--sellers", "tiny,rubbish", "--buyers", "linear,boulware")
    out = run(folder, *tournament, "--scenarios", "6", *PLAYED, "--json")
    figures = json.loads(out)
    assert figures["played"] == figures["planned"] == 24
    assert figures["void"] == figures["left"] == 0
    return folder


def test_the_agents_are_listed(played: Path) -> None:
    agents = {a["name"]: a for a in json.loads(run(played, "agents", "--json", "--db", "a.db"))}
    tiny = agents["tiny"]
    assert tiny["kind"] == "local"
    assert tiny["spec"]["prompt_version"] == "brief1"
    assert tiny["spec"]["model"] == "gemma4_text"
    assert tiny["connection"] == {"weights": str((played / "base").resolve())}
    assert "weights" not in json.dumps(tiny["spec"])
    assert agents["rubbish"]["spec"]["model"] == "tiny-conventional"
    assert agents["rubbish"]["spec"]["revision"] == untaught("conventional").revision


def test_matches_are_on_record_and_shown(played: Path) -> None:
    lines = run(played, "matches", "--json", "--db", "a.db").splitlines()
    matches = [json.loads(line) for line in lines]
    taught = [match for match in matches if match["seller"] == "tiny"]
    assert len(matches) == 2 * len(taught) == 24
    assert any(match["ending"] in ("agreement", "deadline", "walk_away") for match in taught)
    for match in matches:
        assert match["tokens"] > 0
        assert match["cost_usd"] is None
    shown = json.loads(run(played, "show", taught[0]["key"], "--json", "--db", "a.db"))
    receipt = shown["receipts"]["seller"]
    assert receipt["dtype"] == "float32"
    assert receipt["sampling"]["max_tokens"] == 48
    text = run(played, "show", taught[0]["key"], "--db", "a.db")
    assert "tiny" in text


def test_board_and_exports_know_them(played: Path) -> None:
    board = json.loads(run(played, "standings", "--json", "--db", "a.db"))
    assert {row["agent"]: row["matches"] for row in board} == {"tiny": 12, "rubbish": 12}
    assert "rubbish" in run(played, "standings", "--db", "a.db")
    run(played, "export", "--format", "csv", "--out", "m.csv", "--db", "a.db")
    with (played / "m.csv").open() as file:
        exported = list(csv.DictReader(file))
    assert {row["seller"] for row in exported} == {"tiny", "rubbish"}
    assert len(exported) == 24
    run(played, "export", "--format", "html", "--out", "b.html", "--db", "a.db")
    assert "rubbish" in (played / "b.html").read_text()


def test_the_prompt_of_an_agent(played: Path) -> None:
    scenario = ("--scenario", "lamps/dev/0", "--db", "a.db")
    shown = json.loads(run(played, "prompt", "show", "tiny", *scenario, "--json"))
    assert shown["response_format"] is None
    assert "You are the seller" in shown["messages"][0]["content"]


@pytest.mark.slow
def test_the_check_of_an_agent(played: Path) -> None:
    # It knows small domains only, and is checked on a large one: what counts is that it is asked.
    done = arena("check", "tiny", "--json", "--db", "a.db", cwd=played, **ONE_THREAD)
    report = json.loads(done.stdout)
    assert report["kind"] == "local"
    assert report["key"] is None
    assert report["live_turn"]["attempts"]


@pytest.fixture
def gone(played: Path, tmp_path: Path) -> Path:
    """A folder whose database knows two sellers, of whom one has lost its weights."""
    shutil.copytree(played / "base", tmp_path / "base")
    shutil.copytree(played / "base", tmp_path / "lost")
    (tmp_path / "lost" / "chat_template.jinja").write_text("{# #}")
    for name in ("base", "lost"):
        run(tmp_path, "register", name, "--weights", name, *SELL, "--db", "a.db")
    shutil.rmtree(tmp_path / "lost")
    return tmp_path


def test_lost_weights_stop_only_who_is_named(gone: Path) -> None:
    named = ("run-tournament", "--sellers", "lost,linear", "--buyers", "linear", *PLAYED, "--dry-run")
    done = arena(*named, cwd=gone, **ONE_THREAD)
    assert done.returncode != 0
    assert "lost cannot play: there is no folder" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    by_default = ("run-tournament", "--buyers", "linear", *PLAYED, "--dry-run")
    done = arena(*by_default, cwd=gone, **ONE_THREAD)
    assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "lost is left out: there is no folder" in said
    assert "base, boulware" in said or "base" in said.split("sellers:")[1].split("buyers:")[0]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"weights": "nowhere"}, "no folder nowhere"),
        ({"weights": "no/thing"}, "hf download no/thing"),
        ({"structured": True}, "structured does not go with weights"),
        ({"seed": 1}, "seed does not go with weights"),
        ({"api_base": "http://a/v1"}, "api_base does not go with weights"),
        ({"sampling": {"min_p": 0.1}}, "no setting 'min_p'"),
        ({"set": {"a": 1}}, "sampling settings"),
        ({"prompt": "v99"}, "v99"),
        ({"scripted": "linear"}, "exactly one of"),
        ({"weights": None, "model": "a/b", "prompt": "v99"}, "v99"),
        ({"weights": None, "scripted": "linear", "prompt": "v1"}, "prompt is for models only"),
    ],
)
def test_mistakes_at_registration(fields: dict[str, Any], says: str) -> None:
    folder = str(untaught("E-series").folder)
    with pytest.raises(RegistryError, match=re.escape(says)):
        entry_from({"name": "new", "weights": folder, **fields}).registration()


def test_a_model_elsewhere_may_have_another_prompt() -> None:
    spec = entry_from({"name": "new", "model": "a/b", "prompt": "brief1"}).registration().spec
    assert spec.prompt_version == "brief1"
    assert spec.version != entry_from({"name": "new", "model": "a/b"}).registration().spec.version


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Three]:
    """A store of three sellers with weights of their own, and room for those of one at a time."""
    from agents.local import agent
    from agents.local.with_transformers import Loaded

    loads: list[Path] = []

    def load(weights: Weights) -> Loaded:
        loads.append(weights.folder)
        return Loaded(weights)

    engines = Engines(load, most=1)
    monkeypatch.setattr(agent, "engines", lambda: engines)
    folders = [untaught("E-series", seed).folder for seed in range(3)]
    with Store.open(str(tmp_path / "a.db")) as store:
        for name, folder in zip("abc", folders, strict=True):
            fields = {"name": name, "weights": str(folder), "prompt": "brief1", "max_tokens": 8}
            Registry(store).register([entry_from(fields)])
        yield Three(store, folders, loads)


def play(store: Store, buyer: str, at_once: int, sellers: str = "abc", scenarios: int = 4) -> list[str]:
    """Return the sellers of all matches so far, in the order in which they began."""
    request = Request(
        sellers=[*sellers], buyers=[buyer], domains=["lamps"], scenarios=scenarios, turns=2
    )
    tournament = Tournament(store, resolve(request, store), Settings(concurrency=at_once))
    assert tournament.run().complete
    names = store.design().design.names(Role.SELLER)
    begun = sorted(store.matches(Filter()), key=lambda match: match.started_at)
    return [names[match.seller_version] for match in begun]


def test_each_model_is_brought_into_memory_once_a_block(three: Three) -> None:
    """Many checkpoints in one tournament, and room for one of them at a time."""
    play(three.store, "linear", at_once=2)
    assert three.loads == three.folders


def test_models_take_turns_by_blocks(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a tournament that is stopped has compared them on the same cells."""
    monkeypatch.setattr(order, "MATCHES_A_LOAD", 2)
    assert play(three.store, "linear", at_once=1) == [*"aabbcc", *"aabbcc"]
    assert three.loads == [*three.folders, *three.folders]


def test_blocks_are_counted_with_what_is_played_already(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a seller that is ahead waits for the others."""
    monkeypatch.setattr(order, "MATCHES_A_LOAD", 2)
    play(three.store, "linear", at_once=1, sellers="a", scenarios=2)
    assert play(three.store, "linear", at_once=1) == [*"aa", *"bbcc", *"aabbcc"]


def test_against_a_buyer_that_may_change_over_time_blocks_are_small(
    three: Three, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that rivals meet it at nearly the same time."""
    monkeypatch.setattr(order, "MATCHES_A_LOAD_IN_TIME", 1)
    plugin = {"name": "bot", "plugin": "tests.arena.bots:Slow"}
    Registry(three.store).register([entry_from(plugin)])
    assert play(three.store, "bot", at_once=1) == [*"abc"] * 4


@pytest.mark.slow
def test_a_killed_tournament_goes_on_and_comes_to_the_same(played: Path, tmp_path: Path) -> None:
    """Every answer is drawn from its match's own stream, so that the same matches come out."""
    tournament = ("run-tournament", "--sellers", "base", "--buyers", "linear,boulware")
    tournament += ("--scenarios", "40", *PLAYED, "--json")
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        shutil.copytree(played / "base", tmp_path / name / "base")
        run(tmp_path / name, "register", "base", "--weights", "base", *SELL, "--db", "a.db")
    assert json.loads(run(tmp_path / "whole", *tournament))["played"] == 80
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        command(*tournament, "--concurrency", "8"),
        cwd=folder,
        env=environment(**ONE_THREAD),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None and len(rows(folder / "a.db")) < 8:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    before = len(rows(folder / "a.db"))
    assert 8 <= before < 80
    figures = json.loads(run(folder, *tournament))
    assert figures["already"] == before
    assert figures["played"] == 80 - before
    assert said(folder / "a.db") == said(tmp_path / "whole" / "a.db")
