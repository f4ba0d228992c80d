"""Plug-ins against what is awaited: in processes of their own, so that what they do is their own."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import copy
from typing import Any

import pytest

from agents.agent import Reply
from agents.build import build
from agents.plugin import plugin_spec
from agents.scripted import spec_of
from agents.spec import AgentSpec
from arena import apart, wire, workers
from arena.apart import Children
from arena.drivers import run, run_async
from arena.entry import entry_from
from arena.lineup import Lineup, request_from, resolve
from arena.play import Game, Outcome, briefs, play
from arena.protocol import Ending, Rules
from arena.record import Played
from arena.registry import Registry
from arena.schedule import Place, plan
from arena.store import Filter, Listed, Store
from arena.tournament import Settings, Tournament
from arena.workers import Setup, Table
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from tests.agents.language_model.conftest import _warm
from tests.agents.language_model.faulty_api import FaultyApi, faulty_api
from tests.arena.running import NOT_COMPARED, end_by_signal, environment, in_a_group, rows

__all__ = ["_warm"]
PARENT = """
import asyncio, time
from agents.plugin import plugin_spec
from arena.apart import Children

async def scene():
    async with Children().lent(plugin_spec("busy_bots:Bot")):
        await asyncio.sleep(60)

if __name__ == "__main__":
    open("busy_bots.py", "w").write('''
import multiprocessing, os, threading
def at_it():
    while True: pass
class Bot:
    def __init__(self):
        if multiprocessing.parent_process():
            threading.Thread(target=at_it).start()
            print(os.getpid(), flush=True)
    def begin(self, role, brief, rng):
        pass
''')
    asyncio.run(scene())
"""


@pytest.fixture(autouse=True)
def _bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plug-ins in a module of their own, whose source nothing else is part of."""
    copy(Path(__file__).parent / "bots.py", tmp_path / "apart_bots.py")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("apart_bots", None)


@pytest.fixture
def api() -> Iterator[FaultyApi]:
    with faulty_api() as running:
        yield running


def register(store: Store, name: str, bot: str, **parameters: Any) -> None:
    entry = {"name": name, "plugin": f"apart_bots:{bot}", "set": parameters}
    Registry(store).register([entry_from(entry)])


def register_model(store: Store, api: FaultyApi) -> None:
    entry = {"name": "m", "model": "hosted_vllm/bargainer", "api_base": api.address}
    Registry(store).register([entry_from(entry)])


def lineup(store: Store, sellers: list[str], buyers: list[str], scenarios: int) -> Lineup:
    asked = {"domains": ["car_sale"], "scenarios": scenarios, "opener": "seller"}
    return resolve(request_from({"sellers": sellers, "buyers": buyers} | asked), store)


def at_table(played: Lineup) -> tuple[list[Place], Table]:
    agents = {version: (agent.spec, agent.connection) for version, agent in played.agents.items()}
    return [*plan(played.design)], Table(Setup(played.design, played.domains, agents))


def together(table: Table, places: list[Place], at_once: int) -> list[dict[str, Any]]:
    """Play matches on an event loop; return what is compared of them, in order."""

    async def one(place: Place) -> dict[str, Any]:
        async with few:
            share = await table.play_async(place)
        return compared(share.rows[0][1])

    async def all_of_them() -> list[dict[str, Any]]:
        return await asyncio.gather(*map(one, places))

    few = asyncio.Semaphore(at_once)
    return asyncio.run(all_of_them())


def compared(row: Played) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name not in NOT_COMPARED}


def match() -> Game:
    domain = bundled()["car_sale"]
    scenario = draw(domain, Split.DEV, 0)
    return play(scenario, briefs(domain, scenario, Rules()), Rules(), Role.SELLER)


async def one_match(spec: AgentSpec, limit: float = 60.0) -> Outcome:
    """Play a plug-in that sells, apart, against a scripted buyer."""
    pool = Children()
    try:
        async with pool.lent(spec) as child:
            sides: dict[Role, Any] = {Role.SELLER: child, Role.BUYER: build(spec_of("hardliner"))}
            return await run_async(match(), sides, {role: Random(5) for role in Role}, limit)
    finally:
        pool.close()


def children(of: int | None = None) -> list[int]:
    """Return the processes that this one, or another, started to play, by their command line."""
    found = []
    for task in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((task / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == (of or os.getpid()) and b"spawn_main" in (task / "cmdline").read_bytes():
                found.append(int(task.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_what_a_plug_in_does_is_its_own_forfeit_against_a_model(store: Store, api: FaultyApi) -> None:
    """However it tries to end the run, or to fill the memory."""
    does = {
        "exits": ("Crash", {}, "the plug-in's code ended its process"),
        "interrupts": ("Crash", {"politely": True}, "KeyboardInterrupt (apart_bots.py"),
        "gives_up": ("GivesUp", {}, "agents.agent.GivenUpError: no more of this (ap"),
        "huge": ("Huge", {}, "what came is no reply: larger than 16777216 bytes"),
    }
    for name, (bot, parameters, _) in does.items():
        register(store, name, bot, **parameters)
    for name, row in against_a_model(store, api, *does).items():
        assert (row.ending, row.at_fault, row.seller_utility) == ("forfeit_code", "seller", 0.0)
        assert row.detail.startswith(does[name][2])


def test_a_plug_in_that_spins_forfeits_against_a_model(
    store: Store, api: FaultyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PLUGIN_TIMEOUT_S", 1.0)
    register(store, "spins", "Spin")
    row = against_a_model(store, api, "spins")["spins"]
    assert (row.ending, row.at_fault, row.seller_utility) == ("forfeit_timeout", "seller", 0.0)
    assert row.detail == "no answer within 1 s, the limit of a turn"


def against_a_model(store: Store, api: FaultyApi, *plugins: str) -> dict[str, Listed]:
    """Return one match of each plug-in, in a tournament that nothing else disturbs."""
    register_model(store, api)
    played = lineup(store, ["m", *plugins], ["m"], 1)
    summary = Tournament(store, played, Settings(concurrency=2)).run()
    assert summary.complete
    assert (summary.played, summary.void, summary.set_aside) == (1 + len(plugins), 0, {})
    assert sum(summary.void_attempts.values()) == 0
    names = {player.version: player.name for player in played.design.sellers}
    found = {names[m.seller_version]: m for m in store.matches(Filter())}
    assert found.pop("m").at_fault is None
    until = time.monotonic() + 30
    while children():
        assert time.monotonic() < until, "a killed one runs on"
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    "bot", ["Draws", "Odd", pytest.param("Locked", marks=pytest.mark.slow), "Breaks"]
)
def test_a_match_apart_is_the_match_of_a_worker(store: Store, bot: str) -> None:
    """The same turns, faults, usage, receipts and words, from the same random numbers."""
    register(store, "bot", bot)
    places, table = at_table(lineup(store, ["bot"], ["random", "boulware"], 4))
    alone = [compared(table.play(place)) for place in places]
    try:
        assert together(table, places, at_once=1) == alone
    finally:
        table.close()
    assert len({row["transcript"] for row in alone}) > 4 or bot not in ("Draws", "Odd")


def test_a_coroutine_apart_replies_as_a_function_does() -> None:
    outcome = asyncio.run(one_match(plugin_spec("apart_bots:Draws", {"awaited": True})))
    function = build(plugin_spec("apart_bots:Draws"))
    sides = {Role.SELLER: function, Role.BUYER: build(spec_of("hardliner"))}
    assert outcome == run(match(), sides, {role: Random(5) for role in Role})
    assert len(outcome.turns) > 4


def test_children_are_kept_for_the_next_match_and_end_with_the_run(store: Store) -> None:
    register(store, "slow", "Slow")
    places, table = at_table(lineup(store, ["slow"], ["linear"], 9))
    together(table, places[:2], at_once=2)
    kept = children()
    together(table, places[2:], at_once=2)
    assert len(kept) == 2
    assert children() == kept
    table.close()
    assert children() == []


@pytest.mark.slow
def test_a_child_that_was_killed_is_not_lent_again() -> None:
    async def scene() -> None:
        slow = plugin_spec("apart_bots:Slow")
        async with pool.lent(slow) as first:
            pass
        (killed,) = children()
        os.kill(killed, signal.SIGKILL)
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
        async with pool.lent(slow) as second:
            assert second is not first
        async with pool.lent(slow) as third:
            assert third is second

    pool = Children()
    asyncio.run(scene())
    pool.close()
    assert children() == []


@pytest.mark.slow
def test_importing_does_not_count_towards_the_first_turn(tmp_path: Path) -> None:
    (tmp_path / "late_bots.py").write_text(
        "import multiprocessing, time\n"
        "from apart_bots import Draws\n"
        "if multiprocessing.parent_process(): time.sleep(1.5)\n"
    )
    outcome = asyncio.run(one_match(plugin_spec("late_bots:Draws"), limit=1.0))
    assert not outcome.ending.forfeit


@pytest.mark.parametrize(
    ("line", "start_s", "ending"),
    [
        ("time.sleep(60)", 0.5, Ending.FORFEIT_TIMEOUT),
        pytest.param("os._exit(1)", 60, Ending.FORFEIT_CODE, marks=pytest.mark.slow),
    ],
)
def test_an_import_that_hangs_or_ends_the_child_is_a_forfeit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, start_s: float, ending: Ending
) -> None:
    monkeypatch.setattr(apart, "START_S", start_s)
    (tmp_path / "late_bots.py").write_text(
        "import multiprocessing, os, time\n"
        "from apart_bots import Draws\n"
        f"if multiprocessing.parent_process(): {line}\n"
    )
    sys.modules.pop("late_bots", None)
    outcome = asyncio.run(one_match(plugin_spec("late_bots:Draws")))
    assert (outcome.ending, outcome.at_fault) == (ending, Role.SELLER)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"no pickle",
        pickle.dumps(("ready",)),
        pickle.dumps(("failed", "harness_error", "yours", None)),
        pickle.dumps(("failed", "forfeit_code", 5, None)),
        pickle.dumps(("replied", None, None, {"message": 5})),
        pickle.dumps(("replied", None, None, {"message": "", "more": ""})),
        pickle.dumps(("replied", ("bid", None), None, {})),
        pickle.dumps(("replied", None, (1, 2, float("inf"), None), {})),
        pickle.dumps(Reply()),
        pickle.dumps(os.getpid),
    ],
)
def test_what_is_neither_a_reply_nor_a_failure_of_its_own_is_not_read(said: bytes) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011
        wire.read(said)


@pytest.mark.slow
def test_ctrl_c_ends_a_run_whose_plug_in_hangs_and_its_child(
    store: Store, tmp_path: Path, api: FaultyApi
) -> None:
    """Sent to the whole group, as a terminal does; what was scored by then is kept."""
    register_model(store, api)
    register(store, "hang", "Hang")
    one = ("--buyers", "m", "--domains", "car_sale", "--scenarios", "1")
    process = in_a_group("run-tournament", "--sellers", "m,hang", *one, cwd=tmp_path)
    while process.poll() is None and (len(children(process.pid)) < 1 or not rows(tmp_path / "arena.db")):
        time.sleep(0.05)
    hanging = children(process.pid)
    end_by_signal(process)
    assert hanging
    assert not any(Path(f"/proc/{child}").exists() for child in hanging)


@pytest.mark.slow
def test_children_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """Whatever they are at: this one is killed without a word to them."""
    (tmp_path / "parent.py").write_text(PARENT)
    with subprocess.Popen(
        [sys.executable, "parent.py"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()
