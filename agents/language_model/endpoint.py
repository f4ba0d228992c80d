"""Where models are reached, and how much of it at once: limits over all agents that share a place.

Requests and tokens a minute, and requests at once, are as their registrations say (the strictest of
them); a provider that says 429 halves the requests at once, which then grow again answer by answer.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agents.spec import AgentSpec, Connection

MOST_AT_ONCE = 1024.0
MINUTE_S = 60.0
BURST_S = 1.0
"""A rate that was not used is saved up for so long at most, so that waking late loses nothing."""


def place_of(spec: AgentSpec, connection: Connection, address: str | None) -> str:
    """Return what the limits are counted for: an address, or a provider with the key's variable."""
    if address is not None:
        return address
    return f"{(spec.model or '').partition('/')[0]} {connection.api_key_env or ''}".strip()


class Rate:
    """So many requests or tokens a minute. In no minute more are spent than that, than BURST_S saves up,
    and than the last request takes, which is paid for afterwards, however large it is."""

    def __init__(self) -> None:
        self._each_s = 0.0
        self.free_at = -math.inf
        """When the next request may be sent, on the clock of time.monotonic."""

    def limit(self, a_minute: float | None) -> None:
        """Take on a limit, where it is stricter."""
        if a_minute is not None:
            self._each_s = max(self._each_s, MINUTE_S / a_minute)

    def spend(self, amount: float) -> None:
        """Count what is sent now."""
        self.free_at = max(self.free_at, time.monotonic() - BURST_S) + amount * self._each_s


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
        self._next = asyncio.Lock()
        """Held by the one that goes next, while it waits for the rates and after a 429."""
        self._requests, self._tokens = Rate(), Rate()

    def limit(self, connection: Connection, at_once: int | None = None) -> None:
        """Take on a registration's limits, and what a server of ours answers `at_once`, where they are
        stricter than those known so far."""
        for most in (connection.max_concurrent, at_once):
            if most is not None:
                self._most = min(self._most, most)
                self._allowed = min(self._allowed, self._most)
        self._requests.limit(connection.requests_per_minute)
        self._tokens.limit(connection.tokens_per_minute)

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncGenerator[None]:
        """Wait until a request of about so many tokens may be sent, and hold its place meanwhile."""
        await self._enter()
        try:
            async with self._next:
                while (wait := self._free_at() - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                self._requests.spend(1)
                self._tokens.spend(tokens)
            yield
        finally:
            self._leave()

    def _free_at(self) -> float:
        return max(self._quiet_until, self._requests.free_at, self._tokens.free_at)

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
