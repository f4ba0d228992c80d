"""SmolLM2 through llama.cpp servers that the arena starts, by the command line: killed, and with it.

Both tests play real matches on a real model; on two cores they take a minute or two.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.agents.local.processes import gone
from tests.arena.running import arena, command, environment, rows
from tests.served import weights

pytestmark = [
    pytest.mark.slow,
    pytest.mark.llm,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the extra `local`"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc"),
]
PLAY = ("run-tournament", "--buyers", "conceder", "--domains", "lamps", "--turns", "2", "--serve")


def register(folder: Path, *names: str) -> None:
    for name in names:
        done = arena(
            *("register", name, "--model", f"hosted_vllm/{name}", "--weights", weights()),
            *("--structured", "--max-tokens", "160", "--prompt", "brief1", "--server-arg"),
            *("--threads 1 --slots 2 --context 2048", "--db", "arena.db"),
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr


def servers(folder: Path) -> list[int]:
    """The process ids of the llama.cpp servers that this test's arena has started, oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and not gone(int(entry.name)):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            ours = words[1:3] == [b"-m", b"agents.language_model.llama_cpp"]
            if ours and (entry / "cwd").resolve() == folder.resolve():
                found.append(int(entry.name))
    return sorted(found)


def until(what: str, happens: Iterator[bool]) -> None:
    end = time.monotonic() + 150
    while not next(happens):
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextmanager
def started(folder: Path, scenarios: int, sellers: str) -> Iterator["subprocess.Popen[str]"]:
    """A tournament that is running; it is ended if the test has not seen it to its end."""
    with subprocess.Popen(
        command(*PLAY, "--sellers", sellers, "--scenarios", scenarios, "--db", "arena.db", "--json"),
        cwd=folder,
        env=environment(OMP_NUM_THREADS="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def test_sellers_take_turns_and_a_killed_server_is_made_good(tmp_path: Path) -> None:
    """Two servers of one GGUF, one at a time; the first is killed in mid-tournament."""
    register(tmp_path, "one", "two")
    with started(tmp_path, 3, "one,two") as running:
        until("no match is finished", (bool(rows(tmp_path / "arena.db")) for _ in iter(int, 1)))
        (first,) = servers(tmp_path)
        os.kill(first, signal.SIGKILL)
        out, said = running.communicate(timeout=400)
    print(said)
    assert running.returncode == 0, said
    figures = json.loads(out)
    assert (figures["planned"], figures["played"], figures["void"]) == (6, 6, 0)
    assert not rows(tmp_path / "arena.db", "voids")
    lines = [line for line in said.splitlines() if line.startswith("the llama.cpp server of")]
    assert len([line for line in lines if line.endswith("starting it again")]) == 1
    begun = [line.split(":")[0].split()[-1] for line in lines if line.endswith(": starting")]
    assert begun == ["one", "one", "two"]
    assert servers(tmp_path) == []


def test_no_server_outlives_an_arena_that_is_killed(tmp_path: Path) -> None:
    register(tmp_path, "one")
    with started(tmp_path, 64, "one") as running:
        until("no server runs", (bool(servers(tmp_path)) for _ in iter(int, 1)))
        running.kill()
        running.communicate()
        until("a server runs on", (not servers(tmp_path) for _ in iter(int, 1)))
