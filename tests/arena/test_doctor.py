"""`arena doctor`, on machines that lack this or that."""

import json
import os
import shutil
import socket
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena import health
from arena.health import LEAST_GB, State
from tests.arena.running import invoke

pytestmark = pytest.mark.usefixtures("own_folder")
SECRET = "sk-never-to-be-seen"


@pytest.fixture
def listening() -> Iterator[int]:
    """A port on loopback at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def examined(code: int) -> dict[str, Any]:
    printed = invoke("doctor", "--json", code=code)
    assert SECRET not in printed
    return {one["what"]: one for one in json.loads(printed)}


def register(name: str, port: int, *more: object) -> None:
    address = f"http://127.0.0.1:{port}/v1"
    invoke("register", name, "--model", "hosted_vllm/m", "--api-base", address, *more)


def test_a_new_machine_is_in_order_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extras = {"postgres": ("psycopg", "stores"), "moon": ("a_module_that_nobody_has", "shines")}
    monkeypatch.setattr(health, "EXTRAS", extras)
    found = examined(code=0)
    assert found["database"]["state"] == State.ABSENT
    assert found["python"]["state"] == found["disk"]["state"] == found["clock"]["state"] == State.OK
    assert found["extra postgres"]["state"] == State.OK
    assert found["extra moon"]["state"] == State.ABSENT
    assert "bargaining-arena[moon]" in found["extra moon"]["remedy"]
    assert [*tmp_path.iterdir()] == []
    assert "what to do" in invoke("doctor")


def test_keys_are_told_by_presence_only(monkeypatch: pytest.MonkeyPatch, listening: int) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    monkeypatch.delenv("THEIR_KEY", raising=False)
    register("mine", listening, "--api-key-env", "MY_KEY")
    found = examined(code=0)
    assert found["key MY_KEY"]["found"] == "set; for mine"
    assert found["database"]["state"] == State.OK
    register("theirs", listening, "--api-key-env", "THEIR_KEY")
    found = examined(code=1)
    assert found["key THEIR_KEY"]["state"] == State.BAD
    assert "theirs cannot be played" in found["key THEIR_KEY"]["found"]
    invoke("withdraw", "theirs", "--reason", "no key")
    examined(code=0)


def test_a_key_that_nobody_named_goes_by_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    invoke("register", "sonnet", "--model", "anthropic/claude-sonnet-4-5")
    assert examined(code=0)["key ANTHROPIC_API_KEY"]["found"] == "set; for sonnet"
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert examined(code=0)["key ANTHROPIC_API_KEY"]["state"] == State.ABSENT


def test_servers_of_registered_agents_are_asked_for_a_connection(listening: int) -> None:
    silent = free_port()
    register("here", listening)
    register("gone", silent)
    found = examined(code=1)
    assert found[f"server 127.0.0.1:{listening}"]["state"] == State.OK
    assert found[f"server 127.0.0.1:{silent}"]["state"] == State.BAD
    assert "for gone" in found[f"server 127.0.0.1:{silent}"]["found"]


def test_what_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "arena.db").write_text("no database at all, but long enough to be taken for one" * 9)
    before = (tmp_path / "arena.db").read_bytes()
    found = examined(code=1)
    assert found["database"]["state"] == State.BAD
    assert (tmp_path / "arena.db").read_bytes() == before


def test_a_clock_that_was_set_back_is_noticed(tmp_path: Path, listening: int) -> None:
    register("here", listening)
    ahead = time.time() + 3600
    os.utime(tmp_path / "arena.db", (ahead, ahead))
    found = examined(code=1)
    assert found["clock"]["state"] == State.BAD


def test_a_full_disk_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "free")
    for free_gb, state in ((LEAST_GB / 2, State.BAD), (2 * LEAST_GB, State.OK)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, gb=free_gb: usage(gb * 1e9))
        assert health.disk(tmp_path).state is state
