"""No server outlives the arena: a leashed command ends with whoever holds the other end of the pipe, and
with its leash."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.local.server import Server
from tests.agents.local.processes import gone

ROOT = Path(__file__).parents[3]
SERVER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1] + ".tmp", "w").write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
time.sleep(600)
"""
HOLDER = """
import subprocess, sys, time
leash = [sys.executable, "-m", "agents.local.leash", sys.executable, "-c", sys.argv[1], sys.argv[2]]
held = subprocess.Popen(leash, stdin=subprocess.PIPE, start_new_session=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_and_its_children_end_with_their_holder(tmp_path: Path, how: signal.Signals) -> None:
    note = tmp_path / "pids"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, SERVER, str(note)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    pids = noted(note)
    assert not any(gone(pid) for pid in pids)
    holder.send_signal(how)
    holder.wait()
    until_gone(pids)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Server, list[int]]]:
    """A server with a child, and the process ids of both."""
    note = tmp_path / "pids"
    server = Server("a server", [sys.executable, "-c", SERVER, str(note)])
    yield server, noted(note)
    server.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
def test_a_server_ends_with_its_leash(served: tuple[Server, list[int]]) -> None:
    server, (pid, _) = served
    os.kill(server._process.pid, signal.SIGKILL)
    until_gone([pid])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_what_a_killed_leash_left_is_ended_where_the_server_is_closed(
    served: tuple[Server, list[int]],
) -> None:
    server, pids = served
    os.kill(server._process.pid, signal.SIGKILL)
    while server.runs:
        time.sleep(0.01)
    server.close()
    until_gone(pids)


def noted(note: Path) -> list[int]:
    """Return the process ids of a server and its child, once it has noted them."""
    until = time.monotonic() + 60
    while not note.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return [int(pid) for pid in note.read_text().split()]


def until_gone(pids: list[int]) -> None:
    until = time.monotonic() + 30
    while not all(gone(pid) for pid in pids):
        assert time.monotonic() < until, "it runs on"
        time.sleep(0.05)


def test_a_command_that_ends_by_itself_ends_the_leash() -> None:
    command = [sys.executable, "-m", "agents.local.leash", sys.executable, "-c", "raise SystemExit(3)"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as held:
        assert held.wait(60) == -signal.SIGKILL  # with all that is in its group
