"""An OpenAI-compatible server on loopback that fails as it is told to, and bargains well otherwise.

What goes wrong is a plan: a function of the request and of how often the same request came before, so
that it does not depend on what else is under way. `faults.FAULTS` names all that can go wrong.
"""

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from aiohttp import web

from tests.agents.language_model.bargainer import Body, answered
from tests.agents.language_model.faults import FAULTS, complete

Plan = Callable[[Body, int], str | None]
"""Which fault strikes a request that came so often before; None: it is answered."""


def never(body: Body, before: int) -> str | None:
    """Plan no fault."""
    return None


def always(fault: str) -> Plan:
    """Plan one fault for every request."""
    return lambda body, before: fault


def first(count: int, fault: str) -> Plan:
    """Plan a fault for the first `count` sendings of each request."""
    return lambda body, before: fault if before < count else None


def seeded(seed: int, rate: float, faults: Sequence[str]) -> Plan:
    """Plan one of `faults` for a share `rate` of all requests, by a hash of seed, request and count."""

    def plan(body: Body, before: int) -> str | None:
        drawn = hashlib.sha256(f"{seed} {before} {_text(body)}".encode()).digest()
        if int.from_bytes(drawn[:8], "big") >= rate * 2**64:
            return None
        return faults[int.from_bytes(drawn[8:16], "big") % len(faults)]

    return plan


def _text(body: Body) -> str:
    return json.dumps(body, sort_keys=True)


class FaultyApi:
    """The running server. `plan` may be changed at any time, by model too (`plans`)."""

    def __init__(self, plan: Plan = never, latency_s: float = 0.0) -> None:
        self.plan, self.latency_s = plan, latency_s
        self.plans: dict[str, Plan] = {}
        """Plans of single models, by the name that is asked for."""
        self.requests: list[Body] = []
        self.faults: Counter[str] = Counter()
        """How often each fault was played."""
        self.busy = self.most_busy = 0
        """Requests under way: now, and at most."""
        self.address = ""
        self._seen: Counter[bytes] = Counter()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        body: Body = await request.json()
        self.requests.append(body)
        name = hashlib.sha256(_text(body).encode()).digest()
        before = self._seen[name]
        self._seen[name] += 1
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            fault = self.plans.get(body["model"], self.plan)(body, before)
            if fault is None:
                return await complete(request, body, answered(body))
            self.faults[fault] += 1
            return await FAULTS[fault](request, body)
        finally:
            self.busy -= 1


@contextmanager
def faulty_api(plan: Plan = never, latency_s: float = 0.0) -> Iterator[FaultyApi]:
    """Run the server in a thread of its own for the length of a test."""
    api = FaultyApi(plan, latency_s)
    loop = asyncio.new_event_loop()
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", api.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        api.address = f"http://{host}:{port}/v1"

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        yield api
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
