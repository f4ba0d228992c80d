"""A provider for benchmarks: an OpenAI-compatible server on loopback that bargains, in its own process.

    python -m tests.benchmarks.bargaining_server LATENCY_S

prints its address and serves until its standard input ends.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from aiohttp import web

from tests.agents.language_model import bargainer


@contextmanager
def bargaining_server(latency_s: float) -> Generator[str]:
    """Serve from a process of its own; yield the address to give as `api_base`."""
    command = [sys.executable, "-m", __name__, str(latency_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield running.stdout.readline().strip()
        running.stdin.close()


async def _serve(latency_s: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        said = body["messages"]
        text = bargainer.answer(said) if len(said) > 1 else "Good morning."
        await asyncio.sleep(latency_s)
        return web.json_response(bargainer.completion(body, text))

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # those who ask have the first
    asyncio.run(_serve(float(sys.argv[1])))
