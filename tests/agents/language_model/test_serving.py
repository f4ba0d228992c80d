"""Servers of our own: they come up, are started again where they end, and leave nothing behind."""

import asyncio
import hashlib
import os
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest

from agents.agent import ProviderError, Trouble
from agents.build import UnplayableError, build
from agents.language_model import gateway, kept_up, llama_cpp, serving
from agents.language_model.agent import model_spec
from agents.language_model.gateway import Gateway
from agents.language_model.serving import Servers, Serving, identity, serving_of
from agents.local.weights import file_hash
from agents.spec import Connection
from tests.agents.language_model.test_gateway import MESSAGES
from tests.agents.local.processes import gone
from tests.gguf_files import gguf

STAND_IN = str(Path(__file__).with_name("stand_in.py"))
Result = TypeVar("Result")


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GGUF file, which a stand-in serves."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # of logs that are kept
    monkeypatch.setattr(llama_cpp, "command", lambda model: [sys.executable, STAND_IN, str(model)])
    file = tmp_path / "model.gguf"
    file.write_bytes(gguf(b"abc"))
    return file


def wanted(weights: Path, *arguments: str) -> Serving:
    """What serves the weights; its process ids are noted beside them."""
    note = ("--note", str(weights.with_suffix(".note")))
    _, revision = identity("llama.cpp", str(weights), None)
    return Serving("llama.cpp", str(weights), revision, weights.stem, (*note, *arguments))


def lives(weights: Path) -> list[int]:
    """The process ids that have served the weights, first to last."""
    return [int(line) for line in weights.with_suffix(".note").read_text().split()]


def healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(address.removesuffix("/v1") + "/health", timeout=5):
            return True
    except OSError:
        return False


def with_servers(
    work: Callable[[Servers], Awaitable[Result]], most: int = 1
) -> tuple[Result, list[str]]:
    """Return what `work` does, and the lines that were told; nothing runs on afterwards."""
    told: list[str] = []

    async def run() -> Result:
        return await work(servers)

    servers = Servers(most, lambda _, news: told.append(news.line))
    try:
        return asyncio.run(run()), told
    finally:
        servers.close()


async def killed(servers: Servers, wanted: Serving, pid: int) -> str:
    """Kill a server; return its next address, once its end is noticed."""
    before = await servers.address(wanted)
    os.kill(pid, signal.SIGKILL)
    while (found := await servers.address(wanted)) == before:
        await asyncio.sleep(0.01)
    return found


def test_the_revision_of_a_file_is_its_sha256(tmp_path: Path) -> None:
    file = tmp_path / "abc.gguf"
    file.write_bytes(b"abc")  # the example of FIPS 180-4
    assert file_hash(file) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    content = gguf(Random(0).randbytes(3_000_000))
    file.write_bytes(content)
    revision = hashlib.sha256(content).hexdigest()
    assert identity("llama.cpp", str(file), None) == ("hosted_vllm/abc", revision)
    assert identity("llama.cpp", str(file), "hosted_vllm/x") == ("hosted_vllm/x", revision)


def test_overwritten_weights_are_not_played(weights: Path) -> None:
    name, revision = identity("llama.cpp", str(weights), None)
    to = Connection(weights=str(weights), server="llama.cpp")
    spec = model_spec(name, revision=revision)
    build(spec, to)
    weights.write_bytes(gguf(b"abd"))
    with pytest.raises(UnplayableError, match="now holds other weights"):
        build(spec, to)
    build(spec, to.model_copy(update={"api_base": "http://10.0.0.9/v1"}))
    weights.unlink()
    with pytest.raises(UnplayableError, match="there is no file"):
        build(spec, to)


def test_an_address_of_its_own_needs_no_server() -> None:
    spec = model_spec("hosted_vllm/x")
    to = Connection(weights="x.gguf", server="llama.cpp", server_args=("--slots 2 --threads '3'",))
    found = serving_of(spec, to)
    assert found is not None
    assert (found.name, found.arguments) == ("x", ("--slots", "2", "--threads", "3"))
    assert serving_of(spec, to.model_copy(update={"api_base": "http://10.0.0.9/v1"})) is None
    assert serving_of(spec, Connection()) is None


def test_a_server_that_is_killed_is_started_again(weights: Path) -> None:
    async def work(servers: Servers) -> tuple[str, str]:
        first = await servers.address(wanted(weights))
        assert await servers.address(wanted(weights)) == first
        second = await killed(servers, wanted(weights), lives(weights)[0])
        assert healthy(second)
        return first, second

    (first, second), told = with_servers(work)
    assert not healthy(first)
    assert not healthy(second)
    assert len(lives(weights)) == 2
    assert all(gone(pid) for pid in lives(weights))
    assert [line.split(": ")[1].partition(" after")[0] for line in told] == [
        *("starting", "ready", f"ended (reading {weights}); starting it again", "starting", "ready"),
        "stopped",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
def test_one_whose_leash_is_killed_ends_with_it_and_is_started_again(weights: Path) -> None:
    async def work(servers: Servers) -> None:
        await servers.address(wanted(weights))
        server = servers._known[wanted(weights)]._server
        assert server is not None
        assert healthy(await killed(servers, wanted(weights), server._process.pid))
        async with asyncio.timeout(30):
            while not gone(lives(weights)[0]):
                await asyncio.sleep(0.01)
        assert not gone(lives(weights)[1])

    with_servers(work)
    assert len(lives(weights)) == 2


def test_one_that_ends_again_and_again_is_given_up(weights: Path) -> None:
    async def work(servers: Servers) -> ProviderError:
        await servers.address(wanted(weights))
        for _ in range(kept_up.STARTS - 1):
            await killed(servers, wanted(weights), lives(weights)[-1])
        with pytest.raises(ProviderError):
            await killed(servers, wanted(weights), lives(weights)[-1])
        with pytest.raises(ProviderError) as raised:
            await servers.address(wanted(weights))
        return raised.value

    error, told = with_servers(work)
    assert error.trouble is Trouble.WEIGHTS
    assert [line for line in told if "given up" in line] == told[-1:]
    assert len(lives(weights)) == kept_up.STARTS


def test_one_that_was_up_for_long_starts_with_all_its_tries(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_up, "STEADY_S", 0.0)

    async def work(servers: Servers) -> None:
        await servers.address(wanted(weights))
        for _ in range(kept_up.STARTS + 1):
            await killed(servers, wanted(weights), lives(weights)[-1])

    with_servers(work)
    assert len(lives(weights)) == kept_up.STARTS + 2


def test_one_that_does_not_come_up_says_its_last_words_and_keeps_its_log(weights: Path) -> None:
    async def work(servers: Servers) -> str:
        with pytest.raises(ProviderError, match="these weights are no weights") as raised:
            await servers.address(wanted(weights, "--refuses"))
        return str(raised.value)

    words, _ = with_servers(work)
    log = Path(words.rpartition("all it said: ")[2].rstrip(")"))
    assert log.read_text().split("\n") == [f"reading {weights}", "these weights are no weights"]
    assert len(lives(weights)) == kept_up.STARTS


def test_what_a_server_says_last_holds_no_secret(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", weights.parent.name)  # it says where it reads its weights

    async def work(servers: Servers) -> str:
        with pytest.raises(ProviderError, match="these weights are no weights") as raised:
            await servers.address(wanted(weights, "--refuses"))
        return str(raised.value).partition("(all it said")[0]

    words, told = with_servers(work)
    assert "reading" in words
    assert weights.parent.name not in words + "".join(told)


@pytest.mark.parametrize(
    ("server", "arguments", "at_once"),
    [
        ("llama.cpp", "", serving.SLOTS),
        ("llama.cpp", "--threads 2 --slots 8", 8),
        ("llama.cpp", "--slots=2 --slots=1", 1),
        ("vllm", "--max-model-len 16384", None),
        ("vllm", "--max_num_seqs=16", 16),
    ],
)
def test_no_call_waits_inside_a_server_of_ours(server: str, arguments: str, at_once: int | None) -> None:
    to = Connection.model_validate({"weights": "x", "server": server, "server_args": [arguments]})
    found = serving_of(model_spec("hosted_vllm/x"), to)
    assert found is not None
    assert found.at_once == at_once
    asks = Gateway(servers=Servers())

    async def most(busy: int) -> int:
        endpoint = asks._endpoint(model_spec("hosted_vllm/x"), to, "http://127.0.0.1:9/v1")
        entered = 0

        async def call() -> None:
            nonlocal entered
            async with endpoint.slot(1):
                entered += 1
                await asyncio.Event().wait()

        calls = [asyncio.create_task(call()) for _ in range(busy)]
        for _ in range(20):
            await asyncio.sleep(0)
        for task in calls:
            task.cancel()
        return entered

    assert asyncio.run(most(40)) == (at_once or 40)


def test_one_that_hangs_is_ended_and_started_again(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call that shows it is tried again; a server that is only slow is left alone."""
    monkeypatch.setattr(kept_up, "HEALTH_S", 0.5)
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    spec = model_spec(f"hosted_vllm/{weights.stem}", revision=wanted(weights).revision)
    note = f"--note {weights.with_suffix('.note')}"
    to = Connection(weights=str(weights), server="llama.cpp", server_args=(note,), timeout_s=2.0)

    async def work(servers: Servers) -> list[str]:
        asks = Gateway(servers=servers)
        texts = [(await asks.complete(spec, to, MESSAGES)).completion.text]
        assert not await servers.hung(wanted(weights), await servers.address(wanted(weights)))
        os.kill(lives(weights)[0], signal.SIGSTOP)
        texts.append((await asks.complete(spec, to, MESSAGES)).completion.text)
        return texts

    (before, after), told = with_servers(work)
    assert before == after
    assert len(lives(weights)) == 2
    assert all(gone(pid) for pid in lives(weights))
    assert any("ended (it answered no more); starting it again" in line for line in told)


def test_weights_that_are_overwritten_later_are_not_served(weights: Path) -> None:
    async def work(servers: Servers) -> None:
        await servers.address(serving_now)
        weights.write_bytes(b"other")
        with pytest.raises(ProviderError, match="now holds other weights") as raised:
            await killed(servers, serving_now, lives(weights)[0])
        assert raised.value.trouble is Trouble.WEIGHTS

    serving_now = wanted(weights)
    _, told = with_servers(work)
    assert "given up" in told[-1]
    assert "now holds other weights" in told[-1]
    assert len(lives(weights)) == 1


def test_who_gives_up_waiting_ends_no_start_that_others_wait_for(weights: Path) -> None:
    async def work(servers: Servers) -> bool:
        slow = wanted(weights, "--starts-in", "1")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(servers.address(slow), 0.3)
        return healthy(await servers.address(slow))

    up, _ = with_servers(work)
    assert up
    assert len(lives(weights)) == 1


def test_a_run_that_ends_while_a_server_starts_leaves_none(weights: Path) -> None:
    async def work(servers: Servers) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(servers.address(wanted(weights, "--starts-in", "60")), 2)

    begun = time.monotonic()
    with_servers(work)
    assert time.monotonic() - begun < 30
    assert all(gone(pid) for pid in lives(weights))
