"""Weights run by a vLLM server of our own: started on this machine, waited for, and stopped.

The server takes and returns token ids, and joins every request to those that it is answering already. It
ends with this process at the latest (:mod:`agents.local.server`). Further arguments of ``vllm serve``
come from ARENA_VLLM_ARGS.
"""

import http.client
import json
import os
import shlex
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from agents.agent import ProviderError
from agents.local.dialogue import Ids
from agents.local.reading import reading
from agents.local.request import Request
from agents.local.server import READY_S, SHARE, Server, vllm
from agents.local.weights import Weights

ARGUMENTS = "ARENA_VLLM_ARGS"
ANSWER_S = 600.0


class Served:
    """A vLLM server with one model."""

    rows, calls = 1, 256

    def __init__(self, weights: Weights, servers: int) -> None:
        """Start a server, one of at most `servers`. Raises RuntimeError with its last words where it
        does not come up, and OSError where it does not answer then. None is left running."""
        self._stops = sorted(reading(weights).chat.stops)
        more = f"--dtype bfloat16 {os.environ.get(ARGUMENTS, '')}".strip()
        command = [*vllm(weights.folder, "model", SHARE / servers), *shlex.split(more)]
        self._server = Server("the vLLM server", command)
        try:
            self._server.wait_until_ready(READY_S)
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
        self._server.close()

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
        asked = urllib.request.Request(self._server.address + path, body, kind)
        try:
            with urllib.request.urlopen(asked, timeout=ANSWER_S) as response:
                return json.load(response)
        except http.client.HTTPException as error:  # it ended in the middle of an answer
            raise OSError(f"{type(error).__name__}: {error}") from error


def _words(error: Exception) -> str:
    """Return what a server said about an error, where it said anything."""
    if isinstance(error, urllib.error.HTTPError):
        return f"{error}: {error.read(500).decode(errors='replace')}"
    return str(error)
