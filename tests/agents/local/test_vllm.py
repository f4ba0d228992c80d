"""A vLLM server of our own: it starts, answers as transformers does, and leaves nothing behind.

The slow test needs vLLM; on a CPU also ``VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind``.
"""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("trl", reason="tiny models need pip install 'bargaining-arena[train]'")

from agents.agent import ProviderError
from agents.build import UnplayableError, build
from agents.local import agent as agent_module
from agents.local import engine
from agents.local.agent import local_spec
from agents.local.engine import Engines
from agents.local.reading import reading
from agents.local.request import Request, Sampling
from agents.local.with_transformers import Loaded
from agents.local.with_vllm import ARGUMENTS, Served
from agents.scripted import spec_of
from agents.spec import Connection
from arena.drivers import run_async
from arena.play import briefs, play
from arena.protocol import Rules
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from tests.agents.local.processes import gone
from tests.agents.local.untaught import FAMILIES, untaught

ON_A_CPU = "--enforce-eager --dtype float32 --max-model-len 2048 --gpu-memory-utilization 0.1"


def children() -> set[int]:
    """Return processes whose command line speaks of a vLLM server."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and not gone(int(entry.name)):
            words = (entry / "cmdline").read_bytes()
            if b"vllm.entrypoints" in words or b"VLLM::" in words:
                found.add(int(entry.name))
    return found


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_server_that_does_not_come_up_says_its_last_words() -> None:
    with pytest.raises(RuntimeError, match=r"the vLLM server ended: .*No module named 'vllm"):
        Served(untaught("E-series"), 2)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_matches_whose_server_does_not_come_up_are_void() -> None:
    request = Request((4, 9), Sampling(), 0)
    with pytest.raises(
        ProviderError, match="cannot be loaded: RuntimeError: the vLLM server ended"
    ) as raised:
        asyncio.run(Engines(lambda weights: Served(weights, 2)).answer(untaught("E-series"), request))
    assert raised.value.trouble.permanent


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_vllm_that_is_asked_for_and_not_installed_is_refused_before_any_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(engine.BACKEND, "vllm")
    monkeypatch.setattr(agent_module, "engines", engine.engines.__wrapped__)
    weights = untaught("E-series")
    spec = local_spec("tiny", weights.revision, prompt_version="brief1")
    with pytest.raises(UnplayableError, match=r"not installed: pip install 'bargaining-arena\[vllm\]'"):
        build(spec, Connection(weights=str(weights.folder)))


HALF_A_SERVER = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/health" or VERSION and self.path == "/version"
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(VERSION)))
        self.end_headers()
        self.wfile.write(VERSION)

    def do_POST(self):
        self.send_response(200)
        self.send_header("Content-Length", "999")
        self.end_headers()
        self.wfile.write(b'{"choices": [')

open(os.environ["PID_FILE"], "w").write(str(os.getpid()))
HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Answer).serve_forever()
"""


def in_place_of_vllm(version: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another program in vLLM's place, which is healthy and may have a version, but no answers."""
    package = tmp_path / "vllm" / "entrypoints" / "cli"
    package.mkdir(parents=True)
    (package / "main.py").write_text(f"VERSION = {version!r}\n{HALF_A_SERVER}")
    for folder in (package, *package.parents[:2]):
        (folder / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))


def test_a_server_that_does_not_tell_its_version_is_not_left_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place_of_vllm(b"", tmp_path, monkeypatch)
    with pytest.raises(OSError, match="404"):
        Served(untaught("E-series"), 2)
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_server_that_ends_in_the_middle_of_an_answer_is_no_bug_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_place_of_vllm(b'{"version": "0"}', tmp_path, monkeypatch)
    served = Served(untaught("E-series"), 2)
    with pytest.raises(ProviderError, match="server failed: IncompleteRead"):
        served.answer([Request((4, 9), Sampling(), 0)])
    served.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_server_starts_answers_and_stops(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm", reason="needs pip install 'bargaining-arena[vllm]'")
    monkeypatch.setenv(ARGUMENTS, ON_A_CPU)
    monkeypatch.setenv(engine.BACKEND, "vllm")
    engines, weights, before = Engines(engine._backend), untaught(family), children()
    monkeypatch.setattr(agent_module, "engines", lambda: engines)
    scenario, rules = draw(bundled("small")["lamps"], Split.DEV, 0), Rules(turns=2)
    spec = local_spec("tiny", weights.revision, {"max_tokens": 24, "temperature": 0}, "brief1")
    sides = {
        Role.SELLER: build(spec, Connection(weights=str(weights.folder))),
        Role.BUYER: build(spec_of("linear")),
    }
    told = briefs(bundled("small")["lamps"], scenario, rules)
    game = play(scenario, told, rules, Role.SELLER)
    outcome = asyncio.run(run_async(game, sides, {role: Random(0) for role in Role}))
    assert children() - before
    receipt = outcome.receipts[Role.SELLER]
    assert receipt["vllm"]
    assert receipt["arguments"].endswith(ON_A_CPU)

    (served,) = engines._loaded.values()
    first = reading(weights).chat.first([{"role": "user", "content": "You open."}])
    seeds = [Request(first, Sampling(temperature=1.0, max_tokens=32), seed) for seed in range(8)]
    answers = served.answer(seeds)
    assert answers == served.answer(seeds)
    assert len({tuple(ids) for ids in answers}) > 1
    greedy = [Request(first, Sampling(temperature=0, max_tokens=32), 0)]
    assert served.answer(greedy) == Loaded(weights).answer(greedy)
    served.close()
    assert children() <= before
