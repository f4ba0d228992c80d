"""Weights run by a vLLM server of our own: started on this machine, waited for, and stopped.

The server listens on the loopback interface only, takes and returns token ids, and joins every request
to those that it is answering already. It ends when this process closes it or ends itself, even if it is
killed (:mod:`agents.local.leash`). Further arguments of ``vllm serve`` come from ARENA_VLLM_ARGS.
"""

import atexit
import http.client
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from agents.agent import ProviderError
from agents.local.dialogue import Ids
from agents.local.reading import reading
from agents.local.request import Request
from agents.local.weights import Weights

ARGUMENTS = "ARENA_VLLM_ARGS"
READY_S = 1800.0
"""How long a server may take to come up: large weights are read from a disk, and graphs are captured."""
ANSWER_S = 600.0
SHARE = 0.9
"""Of the GPU's memory, for all servers together."""


class Served:
    """A vLLM server with one model."""

    rows, calls = 1, 256

    def __init__(self, weights: Weights, servers: int) -> None:
        """Start a server, one of at most `servers`. Raises RuntimeError with its last words where it
        does not come up, and OSError where it does not answer then. None is left running."""
        self._stops = sorted(reading(weights).chat.stops)
        port = _free_port()
        self._address = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "agents.local.leash"]
        command += [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(weights.folder)]
        command += ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", "model"]
        command += ["--generation-config", "vllm"]  # no sampling settings from the folder
        command += ["--gpu-memory-utilization", f"{SHARE / servers:.3f}"]
        more = f"--dtype bfloat16 {os.environ.get(ARGUMENTS, '')}".strip()
        command += shlex.split(more)
        # A file, not a pipe: nobody reads while the server runs, and a full pipe would stop it.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, start_new_session=True
        )
        atexit.register(self.close)
        try:
            self._wait_until_ready()
            self.receipt: Mapping[str, Any] = {
                "vllm": self._ask("/version")["version"],
                "arguments": more,
            }
        except BaseException:
            self.close()
            raise

    def answer(self, requests: Sequence[Request]) -> list[Ids]:
        """Return what was sampled for each request. Raises ProviderError where the server fails."""
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Stop the server."""
        atexit.unregister(self.close)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()  # the leash: it ends the server, and then itself
        self._process.wait()
        self._log.close()

    def _answer(self, request: Request) -> Ids:
        sampling = request.sampling
        wanted = {
            "model": "model",
            "prompt": list(request.ids),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or -1,
            "max_tokens": sampling.max_tokens,
            "seed": request.seed,
            "stop_token_ids": self._stops,
            "return_token_ids": True,
            "add_special_tokens": False,
        }
        try:
            answer = self._ask("/v1/completions", wanted)
        except (OSError, ValueError) as error:
            raise ProviderError(f"the vLLM server failed: {_words(error)}") from error
        return [int(token) for token in answer["choices"][0]["token_ids"]]

    def _ask(self, path: str, content: Mapping[str, Any] | None = None) -> Any:
        """Return what the server answers. Raises OSError where it does not, ValueError where it is no
        JSON."""
        body = None if content is None else json.dumps(content).encode()
        kind = {"Content-Type": "application/json"}
        asked = urllib.request.Request(self._address + path, body, kind)
        try:
            with urllib.request.urlopen(asked, timeout=ANSWER_S) as response:
                return json.load(response)
        except http.client.HTTPException as error:  # it ended in the middle of an answer
            raise OSError(f"{type(error).__name__}: {error}") from error

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            if self._process.poll() is not None:
                self._log.seek(0)
                said = self._log.read().decode(errors="replace").strip()
                raise RuntimeError(f"the vLLM server ended: {said[-1000:]}")
            try:
                with urllib.request.urlopen(f"{self._address}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(f"the vLLM server was not ready after {READY_S:g} s")


def _words(error: Exception) -> str:
    """Return what a server said about an error, where it said anything."""
    if isinstance(error, urllib.error.HTTPError):
        return f"{error}: {error.read(500).decode(errors='replace')}"
    return str(error)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
