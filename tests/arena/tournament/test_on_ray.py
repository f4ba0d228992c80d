"""The executor `ray`: on clusters of several real processes, which are killed in mid-run."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from arena import on_ray
from arena.errors import UserError
from arena.lineup import Lineup, request_from, resolve
from arena.store import Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.arena.clusters import ray_cluster
from tests.arena.running import command, end_by_signal, environment, in_a_group, outcomes, rows
from tests.arena.store.server import Server
from tests.arena.tournament.test_playing import plug_in
from tests.arena.tournament.test_stopping import alive, children, wait_for

ASKED = {
    "sellers": ["boulware", "random", "micro_quantile"],
    "buyers": ["linear", "tit_for_tat"],
    "domains": ["coffee_import", "car_sale"],
    "scenarios": 12,
}
SLOW = {"sellers": ["slow"], "buyers": ["hardliner"], "domains": ["car_sale"], "scenarios": 30}
"""Takes a while, at a few milliseconds a turn."""

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patched, ray_cluster(patched, 1, 1) as made:
        yield made


def lineup(store: Store, **asked: object) -> Lineup:
    return resolve(request_from(dict(asked)), store)


def on(address: str | None, **more: Any) -> Settings:
    return Settings(on_ray=True, ray_address=address, **more)


def played_here(folder: Path, *plug_ins: str, **asked: object) -> dict[str, dict[str, Any]]:
    """Return what the same comes to without Ray."""
    with Store.open(str(folder / "here.db")) as store:
        for name in plug_ins:
            plug_in(store, name.lower(), name)
        assert Tournament(store, lineup(store, **asked), Settings(workers=1)).run().complete
    return outcomes(folder / "here.db")


def in_mid_run(database: Path, act: Callable[[int], object]) -> Callable[[Summary], None]:
    """Return a tick that acts once some matches are committed, given the process id of their worker."""
    done = list[int]()

    def tick(summary: Summary) -> None:
        if not done and (found := rows(database)):
            done.append(int(next(iter(found.values()))["worker"].rpartition(":")[2]))
            act(done[0])

    return tick


@pytest.mark.slow
def test_it_gives_the_matches_that_this_machine_gives(
    cluster: Any, store: Store, tmp_path: Path
) -> None:
    asked = ASKED | {"infeasible": 2, "opener": "both", "replicates": 2}
    asked["sellers"] = [*ASKED["sellers"], "draws"]
    plug_in(store, "draws", "Draws")
    summary = Tournament(store, lineup(store, **asked), on(cluster.address)).run()
    assert summary.complete
    assert outcomes(tmp_path / "arena.db") == played_here(tmp_path, "Draws", **asked)
    for table in ("scenarios", "measures"):
        assert rows(tmp_path / "arena.db", table) == rows(tmp_path / "here.db", table)
    workers = {row["worker"] for row in rows(tmp_path / "arena.db").values()}
    assert len(workers) > 1
    assert f"{os.uname().nodename}:{os.getpid()}" not in workers


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing(
    cluster: Any, store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither of scripted agents nor, as long as it is once, of a plug-in: it does not forfeit."""
    plug_in(store, "slow", "Slow")
    asked = SLOW | {"sellers": ["slow", "boulware"]}
    kill = in_mid_run(tmp_path / "arena.db", lambda pid: os.kill(pid, signal.SIGKILL))
    summary = Tournament(store, lineup(store, **asked), on(cluster.address, workers=2)).run(kill)
    assert summary.complete
    assert (summary.played, len(rows(tmp_path / "arena.db"))) == (60, 60)
    assert outcomes(tmp_path / "arena.db") == played_here(tmp_path, "Slow", **asked)
    assert capfd.readouterr().out == ""


@pytest.mark.slow
def test_a_plug_in_that_ends_its_process_forfeits_there_too(
    cluster: Any, store: Store, tmp_path: Path
) -> None:
    plug_in(store, "crash", "Crash")
    asked = ASKED | {"sellers": ["crash", "boulware"], "buyers": ["linear"], "scenarios": 1}
    assert Tournament(store, lineup(store, **asked), on(cluster.address)).run().complete
    assert outcomes(tmp_path / "arena.db") == played_here(tmp_path, "Crash", **asked)
    assert {row["ending"] for row in rows(tmp_path / "arena.db").values()} > {"forfeit_code"}


@pytest.mark.slow
def test_a_node_that_is_killed_costs_nothing(cluster: Any, store: Store, tmp_path: Path) -> None:
    plug_in(store, "slow", "Slow")
    third = cluster.add_node(num_cpus=2, node_ip_address="127.0.0.1")
    kill = in_mid_run(
        tmp_path / "arena.db", lambda pid: cluster.remove_node(third, allow_graceful=False)
    )
    summary = Tournament(store, lineup(store, **SLOW), on(cluster.address)).run(kill)
    assert third not in cluster.worker_nodes
    assert summary.complete
    assert (summary.played, len(rows(tmp_path / "arena.db"))) == (30, 30)
    assert outcomes(tmp_path / "arena.db") == played_here(tmp_path, "Slow", **SLOW)


@pytest.mark.slow
def test_what_is_lost_again_and_again_ends_the_run(
    cluster: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "_play", lambda *told: os._exit(1))
    monkeypatch.setattr(on_ray, "DEATHS", 2)
    asked = ASKED | {"domains": ["car_sale"], "scenarios": 1}
    summary = Tournament(store, lineup(store, **asked), on(cluster.address)).run()
    assert summary.trouble is not None
    assert "lost the same matches 2 times" in summary.trouble
    assert summary.played == 0


@pytest.mark.slow
def test_another_release_on_a_node_is_refused(
    cluster: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "release", lambda: "another")
    with pytest.raises(UserError, match=r"on node .*another bargaining-arena"):
        Tournament(store, lineup(store, **ASKED), on(cluster.address)).run()


@pytest.mark.slow
def test_stopped_by_ctrl_c_it_goes_on(store: Store, tmp_path: Path) -> None:
    """A Ray that the command started is gone then."""
    plug_in(store, "slow", "Slow")
    who = ("--sellers", "slow", "--buyers", "hardliner", "--domains", "car_sale", "--scenarios", "90")
    process = in_a_group(
        *("run-tournament", *who, "--db", "arena.db", "--executor", "ray", "--workers", "2"),
        cwd=tmp_path,
    )
    wait_for(lambda: len(rows(tmp_path / "arena.db")) > 3, 120)
    below = [pid for child in children(process.pid) for pid in (child, *children(child))]
    said = end_by_signal(process)
    kept = len(rows(tmp_path / "arena.db"))
    assert f"{kept} of 90 scored" in said
    assert 3 < kept < 90
    assert len(below) > 3
    wait_for(lambda: not any(map(alive, below)), 60)
    asked = SLOW | {"scenarios": 90}
    again = Tournament(store, lineup(store, **asked), Settings(workers=2)).run()
    assert (again.already, again.left) == (kept, 0)


@pytest.mark.slow
def test_two_at_once_on_one_database_play_every_match_once(
    cluster: Any, postgres: Server, tmp_path: Path
) -> None:
    asked = {"sellers": ["boulware", "random"], "buyers": ["linear"], "domains": ["car_sale"]}
    who = [word for name, names in asked.items() for word in (f"--{name}", ",".join(names))]
    ray = ("--executor", "ray", "--ray-address", cluster.address, "--workers", "1")
    with postgres.database() as address:
        Store.open(address).close()
        same = command("run-tournament", *who, "--scenarios", "300", "--db", address, "--json", *ray)
        how = {"cwd": tmp_path, "env": environment(), "stdout": subprocess.PIPE}
        started = [subprocess.Popen(same, **how) for _ in range(2)]
        said = [json.loads(process.communicate(timeout=200)[0]) for process in started]
        assert [one["left"] for one in said] == [0, 0]
        assert outcomes(address) == played_here(tmp_path, **asked, scenarios=300)
        assert len(outcomes(address)) == 600


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "nothing answers at 127.0.0.1:1"),
        ("ray://127.0.0.1:10001", "is no HOST:PORT"),
        ("127.0.0.1", "is no HOST:PORT"),
    ],
)
def test_an_address_without_ray(store: Store, address: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        Tournament(store, lineup(store, **ASKED), on(address)).run()
