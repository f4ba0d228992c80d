"""A llama.cpp server for a GGUF model on this machine, with an OpenAI-compatible address.

``python -m agents.language_model.llama_cpp MODEL.gguf --port 8080`` serves until it is stopped; then
``arena register NAME --model hosted_vllm/NAME --api-base http://127.0.0.1:8080/v1`` plays it. Needs the
`local` extra (xllamacpp). It listens on the loopback interface only.
"""

import argparse
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agents.local.server import READY_S, Server

CONTEXT = 8192
"""Tokens of context a slot: the prompt of nine terms takes about 1,200, a turn 200 to 500."""


def command(model: Path) -> list[str]:
    """Return the command of a server for `model`, which takes the options of :func:`main` besides."""
    return [sys.executable, "-m", __name__, str(model)]


@contextmanager
def server(model: Path, *, context: int = CONTEXT, slots: int = 1, threads: int = 1) -> Generator[str]:
    """Serve `model` from a process of its own; yield the address to give as `api_base`.

    `slots` requests are answered at the same time, each with `context` tokens. Raises RuntimeError
    where the server does not come up, with what it said last.
    """
    options = ["--context", str(context), "--slots", str(slots), "--threads", str(threads)]
    running = Server("the llama.cpp server", [*command(model), *options])
    try:
        running.wait_until_ready(READY_S)
        yield f"{running.address}/v1"
    finally:
        running.close()


def serve(model: Path, port: int, context: int, slots: int, threads: int) -> None:
    """Serve `model` in this process until it is stopped."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.warmup = False
    params.use_jinja = True
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        # Polling threads would burn a whole core while they wait.
        cpu.poll = 0
    running = xllamacpp.Server(params)
    print(f"serving {model.name} at {running.listening_address}/v1", flush=True)
    while True:
        time.sleep(3600)


def main() -> None:
    """Serve the model named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m agents.language_model.llama_cpp")
    parser.add_argument("model", type=Path, help="a GGUF file")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--context", type=int, default=CONTEXT, help="tokens of context a slot")
    parser.add_argument("--slots", type=int, default=1, help="requests answered at the same time")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if not asked.model.is_file():
        parser.error(f"{asked.model} is not a file")
    serve(asked.model, asked.port, asked.context, asked.slots, asked.threads)


if __name__ == "__main__":
    main()
