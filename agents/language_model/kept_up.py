"""A server of our own that is started when it is needed, and again where it ended by itself."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from agents.agent import ProviderError, Trouble
from agents.language_model.redaction import clean
from agents.local.server import READY_S, Server

STARTS = 4
"""A server is started so often in a row: once, and three times more where it ended by itself."""
STEADY_S = 600.0
"""One that was up for so long before it ended is started as often as if it were new."""
PROGRESS_S = 15.0
"""While a server comes up, a line says so this often."""
HEALTH_S = 10.0
"""A server that has been silent, and does not say within so long that it is well, hangs."""
State = Literal["starting", "waiting", "ready", "ended", "given_up", "stopped"]
"""One that has ended by itself is started again, until it is given up."""


class News(NamedTuple):
    """What became of a server of ours."""

    called: str
    """What messages call it."""
    state: State
    seconds: float | None = None
    """Since it was started, while it is waited for and once it is ready."""
    detail: str = ""
    """The last line of what it said, or of what was wrong, without secrets; empty where all is well."""

    @property
    def line(self) -> str:
        """The same for people."""
        after = f"{self.seconds or 0.0:.1f} s"
        words = {
            "waiting": f"{after}, not ready yet: {self.detail}",
            "ready": f"ready after {after}",
            "ended": f"ended ({self.detail}); starting it again",
            "given_up": f"given up ({self.detail})",
        }
        return f"{self.called}: {words.get(self.state, self.state)}"


class KeptUp:
    """One server. Calls that fail because it ended find it up again when they are tried again."""

    def __init__(
        self, called: str, command: Callable[[], list[str]], tell: Callable[[News], None]
    ) -> None:
        """`called` is what messages call it. `command`, asked in a thread before each start, returns
        what to run, and raises ValueError where nothing can be; `tell` is given what becomes of it."""
        self._called, self._command, self._tell = called, command, tell
        self._server: Server | None = None
        self._up_since: float | None = None
        self._starts_left = STARTS
        self._words = ""
        """What was wrong last, without secrets."""
        self._hung: Server | None = None
        """The last one that ran but answered no more."""
        self._coming: asyncio.Task[None] | None = None

    async def address(self) -> str:
        """Return its address, once it is up. Raises ProviderError where it does not come up, or ended
        by itself too often."""
        while self._server is None or self._up_since is None or not self._server.runs:
            if self._coming is None or self._coming.done():
                self._coming = asyncio.create_task(self._come_up())
            # A match that gives up waiting does not end what others wait for.
            await asyncio.shield(self._coming)
        return f"{self._server.address}/v1"

    async def hung(self, address: str) -> bool:
        """Return whether the server that was reached there is gone, or runs but answers no more; it is
        ended then, as if it had ended by itself."""
        server = self._server
        if server is None or f"{server.address}/v1" != address:
            return True
        if await asyncio.to_thread(server.answers, HEALTH_S):
            return False
        self._hung = server
        await asyncio.to_thread(server.kill)
        return True

    async def stop(self) -> None:
        """Stop it. It is started again when its address is asked for, as if it were new."""
        if self._coming is not None:
            self._coming.cancel()
            await asyncio.wait({self._coming})
        if self._up_since is not None:
            self._starts_left = STARTS
        runs = self._server is not None
        await asyncio.to_thread(self._drop)
        if runs:
            self._news("stopped")

    def close(self) -> None:
        """Stop it, where no event loop runs any more."""
        if self._server is not None:
            self._drop()
            self._news("stopped")

    def _drop(self) -> None:
        if self._server is not None:
            self._server.close()
        self._server = self._up_since = None

    def _news(self, state: State, seconds: float | None = None, words: str = "") -> None:
        last = words.rpartition("\n")[2].removeprefix(f"{self._called} ended: ")
        self._tell(News(self._called, state, seconds, clean(last)))

    async def _come_up(self) -> None:
        if self._server is not None and self._up_since is not None:
            if time.monotonic() - self._up_since > STEADY_S:
                self._starts_left = STARTS
            said = "it answered no more" if self._hung is self._server else self._server.last_words()
            self._ended(f"{self._called} ended: {said}")
        while self._starts_left:
            self._starts_left -= 1
            try:
                await self._start()
                return
            except ValueError as error:
                self._starts_left = 0
                self._words = clean(str(error))
                self._news("given_up", words=self._words)
            except (RuntimeError, OSError) as error:
                if self._server is not None and self._server.runs:
                    self._starts_left = 0  # it is too slow: so it would be again
                self._ended(str(error))
        raise ProviderError(self._words, Trouble.WEIGHTS)

    def _ended(self, words: str) -> None:
        """Take note of a server that ended by itself, or is to end, and what it said."""
        self._words = clean(words)
        self._news("ended" if self._starts_left else "given_up", words=words)
        if not self._starts_left and self._server is not None:
            self._words = f"{self._words} (all it said: {self._server.kept_log()})"
        self._drop()

    async def _start(self) -> None:
        """Start it, and wait until it is ready. Raises what the command, or the waiting, raises."""
        begun = time.monotonic()
        self._news("starting")
        command = await asyncio.to_thread(self._command)
        self._server = server = Server(self._called, command)
        ready = asyncio.ensure_future(asyncio.to_thread(server.wait_until_ready, READY_S))
        try:
            while not (await asyncio.wait({ready}, timeout=PROGRESS_S))[0]:
                self._news("waiting", time.monotonic() - begun, server.last_words())
            await ready
        except asyncio.CancelledError:  # the run is over; the thread that waits ends with the server
            self.close()
            raise
        self._up_since = time.monotonic()
        self._news("ready", self._up_since - begun)
