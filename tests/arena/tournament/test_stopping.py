"""Stopped at any moment, by any means: the same command goes on where it stopped."""

import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.arena.processes import alive, children, committed, wait_for
from tests.arena.running import arena, command, end_by_signal, environment, in_a_group, outcomes, rows

TOURNAMENT = (
    *("run-tournament", "--sellers", "boulware,random,logroller,micro_quantile"),
    *("--buyers", "linear,tit_for_tat,conceder", "--domains", "coffee_import,road_freight,car_sale"),
    *("--scenarios", "64", "--db", "arena.db", "--workers", "2"),
)
PLANNED = 4 * 3 * 3 * 64


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory):
    """Return what the tournament comes to when nothing interrupts it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    done = arena(*TOURNAMENT, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["played"] == PLANNED
    return outcomes(folder / "arena.db")


def start(folder: Path, *arguments: object) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command(*arguments), cwd=folder, env=environment(), stdout=pipe, stderr=pipe, text=True
    )


def kill_somewhere(folder: Path, chance: random.Random, kills: int) -> tuple[str, list[int]]:
    """Start the tournament and kill it: while it starts, or at a random point, so chosen that there is
    something left to play for the `kills` that follow.

    Return what it said, and the processes that it had started.
    """
    database = folder / "arena.db"
    there = committed(database)
    process = start(folder, *TOURNAMENT, "--json")
    if chance.random() < 0.25:
        time.sleep(chance.uniform(0.05, 1.0))
    else:
        goal = there + chance.random() * (PLANNED - there) / (kills + 1)
        wait_for(lambda: committed(database) > goal or process.poll() is not None)
        time.sleep(chance.uniform(0, 0.3))
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    return process.communicate()[1], workers


def kill_and_resume(folder: Path, kills: int, expected, seed: int) -> None:
    """Kill the tournament again and again, then let it finish; check what each run found."""
    chance, database, midway = random.Random(seed), folder / "arena.db", 0
    for number in range(kills):
        before = rows(database)
        said, workers = kill_somewhere(folder, chance, kills - number)
        wait_for(lambda workers=workers: not any(map(alive, workers)), 10)
        after = rows(database)
        assert {key: after[key] for key in before} == before, "a committed row was touched"
        midway += len(before) < len(after) < PLANNED
        if counted := re.search(r"([\d,]+) played already", said):
            assert int(counted[1].replace(",", "")) == len(before)
    before = rows(database)
    done = arena(*TOURNAMENT, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["already"] == len(before)
    assert report["played"] == PLANNED - len(before)
    after = rows(database)
    assert {key: after[key] for key in before} == before
    assert outcomes(database) == expected
    assert len(expected) == PLANNED
    assert midway, "no kill hit a tournament at play: nothing was tested"


def test_killed_and_resumed(tmp_path: Path, uninterrupted) -> None:
    kill_and_resume(tmp_path, 3, uninterrupted, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_twenty_random_moments(tmp_path: Path, uninterrupted, seed: int) -> None:
    kill_and_resume(tmp_path, 5, uninterrupted, seed)


def test_another_hash_seed_gives_equal_matches(tmp_path: Path, uninterrupted) -> None:
    done = arena(*TOURNAMENT, cwd=tmp_path, PYTHONHASHSEED="12345")
    assert done.returncode == 0, done.stderr
    assert outcomes(tmp_path / "arena.db") == uninterrupted


SLOW = (
    *("run-tournament", "--sellers", "slow", "--buyers", "hardliner", "--turns", "6"),
    *("--domains", "car_sale", "--scenarios", "60"),
)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(tmp_path: Path, number: signal.Signals, workers: int) -> None:
    assert arena("register", "slow", "--plugin", "tests.arena.bots:Slow", cwd=tmp_path).returncode == 0
    process = start(tmp_path, *SLOW, "--workers", workers)
    wait_for(lambda: len(rows(tmp_path / "arena.db")) > 3)
    process.send_signal(number)
    said, progress = process.communicate(timeout=60)
    assert process.returncode == 1, progress
    assert "stopped before the end" in said
    assert "run the same command again" in said
    kept = len(rows(tmp_path / "arena.db"))
    assert f"{kept} of 60 scored" in said
    assert 3 < kept < 60
    again = arena(*SLOW, "--json", "--workers", workers, cwd=tmp_path)
    assert again.returncode == 0
    assert (json.loads(again.stdout)["already"], json.loads(again.stdout)["left"]) == (kept, 0)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_plug_in_that_hangs_does_not_hold_up_a_stop(tmp_path: Path, workers: int) -> None:
    done = arena("register", "hang", "--plugin", "tests.arena.bots:Hang", cwd=tmp_path)
    assert done.returncode == 0
    hanging = ("--sellers", "boulware,hang", "--buyers", "linear", "--scenarios", "2")
    process = start(tmp_path, "run-tournament", *hanging, "--workers", workers)
    # What was played beside it is committed while it hangs.
    wait_for(lambda: len(rows(tmp_path / "arena.db")) > 0)
    workers_there = children(process.pid)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "stopped before the end" in said
    wait_for(lambda: not any(map(alive, workers_there)), 10)


def test_ctrl_c_reaches_the_whole_terminal_group(tmp_path: Path) -> None:
    """A terminal sends the interrupt to the workers as well; only the parent answers it."""
    assert arena("register", "slow", "--plugin", "tests.arena.bots:Slow", cwd=tmp_path).returncode == 0
    process = in_a_group(*SLOW, "--workers", "2", cwd=tmp_path)
    wait_for(lambda: len(rows(tmp_path / "arena.db")) > 3)
    end_by_signal(process)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [0.0, 0.3])
def test_a_signal_to_the_group_while_the_workers_start(
    tmp_path: Path, number: signal.Signals, after_s: float
) -> None:
    """A worker that is still starting leaves the signal to its parent, too, and says nothing of it."""
    process = in_a_group(*TOURNAMENT[:-1], "4", cwd=tmp_path)
    wait_for(lambda: len(children(process.pid)) == 5)  # four workers, and what tracks their semaphores
    time.sleep(after_s)
    said = end_by_signal(process, number)
    assert "Attention: stopped before the end\n" in said
    assert "killed" not in said
