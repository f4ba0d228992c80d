"""Processes of a tournament that are killed, or stand still."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.arena.chaos.disturbed import Record, ended, goes_on, start, wait_until_at_play
from tests.arena.processes import alive, children, committed, wait_for
from tests.arena.running import end_by_signal

pytestmark = pytest.mark.slow


def workers(pid: int) -> list[int]:
    """Return the workers of a tournament, which come after what tracks their semaphores."""
    _, *found = children(pid)
    assert len(found) == 2
    return found


def test_a_worker_that_is_killed(tmp_path: Path, undisturbed: Record) -> None:
    database = tmp_path / "arena.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    killed, other = workers(process.pid)
    os.kill(killed, signal.SIGKILL)
    said, _ = ended(process, 1)
    assert "Attention: a worker process was killed, most likely because there was too little" in said
    assert "Next: run the same command again" in said
    assert f"; {committed(database):,} of " in said
    wait_for(lambda: not alive(other))
    goes_on(tmp_path, database, undisturbed)


def test_the_whole_run_killed(tmp_path: Path, undisturbed: Record) -> None:
    """That the writer alone is killed is tested in `tests/arena/tournament/test_stopping.py`."""
    database = tmp_path / "arena.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    goes_on(tmp_path, database, undisturbed)


def test_a_worker_that_stands_still_for_a_while(tmp_path: Path, undisturbed: Record) -> None:
    database = tmp_path / "arena.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    halted = workers(process.pid)[0]
    os.kill(halted, signal.SIGSTOP)
    time.sleep(1.5)  # what the other one plays is committed meanwhile, unless it waits for the first
    assert process.poll() is None
    os.kill(halted, signal.SIGCONT)
    said, _ = ended(process, 0)
    assert re.search(r"Attention: nothing", said)
    goes_on(tmp_path, database, undisturbed)


def test_a_worker_that_stands_still_does_not_hold_up_a_stop(tmp_path: Path, undisturbed: Record) -> None:
    database = tmp_path / "arena.db"
    process = start(tmp_path, database)
    wait_until_at_play(database)
    there = workers(process.pid)
    os.kill(there[0], signal.SIGSTOP)
    end_by_signal(process)
    wait_for(lambda: not any(map(alive, there)))
    goes_on(tmp_path, database, undisturbed)
