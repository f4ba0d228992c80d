"""Where models are reached, and how much of it at once: limits over all agents that share a place.

Requests and tokens a minute, and requests at once, are as their registrations say (the strictest of
them); a provider that says 429 halves the requests at once, which then grow again answer by answer.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

from agents.spec import AgentSpec, Connection

MOST_AT_ONCE = 1024.0
MINUTE_S = 60.0


def place_of(spec: AgentSpec, connection: Connection, address: str | None) -> str:
    """Return what the limits are counted for: an address, or a provider with the key's variable."""
    if address is not None:
        return address
    return f"{(spec.model or '').partition('/')[0]} {connection.api_key_env or ''}".strip()


class Endpoint:
    """One place. It belongs to the event loop that it is first used on."""

    def __init__(self) -> None:
        self._most = MOST_AT_ONCE
        self._allowed = MOST_AT_ONCE
        """Requests at once, now; a fraction counts towards the next whole one."""
        self._busy = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        """Who waits for a place, the first to come first; one that was cancelled is passed over."""
        self._quiet_until = 0.0
        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None

    def limit(self, connection: Connection) -> None:
        """Take on a registration's limits, where they are stricter than those known so far."""
        if connection.max_concurrent is not None:
            self._most = min(self._most, connection.max_concurrent)
            self._allowed = min(self._allowed, self._most)
        self._requests = _stricter(self._requests, connection.requests_per_minute)
        self._tokens = _stricter(self._tokens, connection.tokens_per_minute)

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncGenerator[None]:
        """Wait until a request of about so many tokens may be sent, and hold its place meanwhile."""
        await self._enter()
        try:
            if self._requests is not None:
                await self._requests.acquire()
            if self._tokens is not None:
                await self._tokens.acquire(min(tokens, self._tokens.max_rate))
            while (wait := self._quiet_until - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            yield
        finally:
            self._leave()

    async def _enter(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # it was given a place in the same moment
                self._leave()
            raise

    def _leave(self) -> None:
        """Give a place back. Nothing is awaited, so that no cancellation can come in between."""
        self._busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._busy < max(1, int(self._allowed)):
            turn = self._waiting.popleft()
            if not turn.done():
                self._busy += 1
                turn.set_result(None)

    def answered(self) -> None:
        """Let a little more through: one request more for as many answers as are allowed at once."""
        self._allowed = min(self._most, self._allowed + 1 / max(1.0, self._allowed))
        self._admit()

    def refused(self, quiet_s: float) -> None:
        """Halve what is let through at once after a 429, and send nothing for `quiet_s` seconds.

        Requests that were under way together are refused together: that halves it once.
        """
        now = time.monotonic()
        if now >= self._quiet_until:
            self._allowed = max(1.0, min(self._allowed, self._busy) / 2)
        self._quiet_until = max(self._quiet_until, now + quiet_s)


def _stricter(known: AsyncLimiter | None, a_minute: float | None) -> AsyncLimiter | None:
    if a_minute is None or (known is not None and known.max_rate <= a_minute):
        return known
    return AsyncLimiter(a_minute, MINUTE_S)
