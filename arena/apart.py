"""Plug-ins apart: each plays in a child process of its own, and is asked over a socket, turn by turn.

For matches that are awaited: what a plug-in does to its process then holds up nobody else's match. A
child plays one match at a time, and is kept for the next one of the same plug-in. What it sends is data
of the plug-in's, so it is read as plain values and checked again.
"""

import asyncio
import inspect
import os
import pickle
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import BufferedRWPair
from multiprocessing import get_context
from random import Random
from typing import Any, TypeVar

from msgspec.structs import replace

from agents.agent import Negotiator, Reply, View
from agents.build import UnplayableError, build
from agents.spec import AgentSpec
from arena import wire
from arena.children import obey_parent, signals_held_back
from arena.play import Failure
from arena.protocol import Ending
from arena.replies import DETAIL_LIMIT, checked, failure

START_S = 600.0
"""A plug-in that takes longer to be imported and made has hung. No part of its first turn. This
project's choice, with room for weights to be loaded."""
MOST_BYTES = 2**24
"""A larger reply is a forfeit, rather than memory of the arena's. This project's choice."""
NICE = 10
"""So much lower is a child's priority, so that plug-ins that compute keep neither the arena nor a model
on this machine from answering in time. This project's choice."""
ENDED = Failure(Ending.FORFEIT_CODE, "the plug-in's code ended its process")
_SIZE = struct.Struct("!I")
_Said = TypeVar("_Said")


class Apart:
    """A plug-in in a child process, which plays one match after the other."""

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self._begun = False
        self._failed: Failure | None = None
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._process = get_context("spawn").Process(target=_serve, args=(spec, theirs))
        with theirs, signals_held_back():
            self._process.start()

    async def start(self) -> None:
        """Wait until the plug-in is imported; where it hangs or ends its process, that is its reply.
        Raises agents.build.UnplayableError where it cannot be loaded."""
        try:
            async with asyncio.timeout(START_S):
                await self._exchange(None, wire.loaded)
        except TimeoutError:
            self._failed = Failure(Ending.FORFEIT_TIMEOUT, f"not imported within {START_S:g} s")

    def fresh(self) -> None:
        """Make the next reply the first one of a match."""
        self._begun = False

    async def reply(self, view: View, rng: Random) -> Reply | Failure:
        """Return the plug-in's reply, or what became of it. `rng` is sent on the first turn, with which
        the match begins there. Whoever cancels this ends the child."""
        if self._failed is not None:
            return self._failed
        sent = pickle.dumps((view, None if self._begun else rng))
        self._begun = True
        return await self._exchange(sent, wire.read)

    def fit(self) -> bool:
        """Return whether it can play a further match, and end it where it cannot."""
        if self._failed is not None or not self._process.is_alive():
            self.end()
        return self._failed is None

    def end(self, why: Failure = ENDED, wait_s: float = 0.0) -> Failure:
        """Kill the child, wait for its end up to so many seconds, and return why it plays no more."""
        self._failed = self._failed or why
        self._socket.close()
        self._process.kill()
        self._process.join(wait_s)
        return self._failed

    async def _exchange(self, message: bytes | None, read: Callable[[bytes], _Said]) -> _Said | Failure:
        """Send the child a message, unless it is to speak first, and return what is read from what it
        says. One that ends, or talks nonsense, has failed, and is ended."""
        loop = asyncio.get_running_loop()
        try:
            if message is not None:
                await loop.sock_sendall(self._socket, _SIZE.pack(len(message)) + message)
            (size,) = _SIZE.unpack(await self._received(_SIZE.size))
            if size > MOST_BYTES:
                raise ValueError(f"larger than {MOST_BYTES} bytes")
            return read(await self._received(size))
        except (EOFError, ConnectionError):
            return self.end()
        except BaseException as error:
            # Cancelled, it has no turn for what it would still say; and anything may come out of it.
            words = f"what came is no reply: {error}"[:DETAIL_LIMIT]
            failed = self.end(Failure(Ending.FORFEIT_CODE, words))
            if isinstance(error, UnplayableError) or not isinstance(error, Exception):
                raise
            return failed

    async def _received(self, size: int) -> bytes:
        loop, found = asyncio.get_running_loop(), bytearray()
        while len(found) < size:
            part = await loop.sock_recv(self._socket, min(size - len(found), 2**16))
            if not part:
                raise EOFError
            found += part
        return bytes(found)


class Children:
    """The children of one run's plug-ins."""

    def __init__(self) -> None:
        self._idle: list[Apart] = []
        self._starting = asyncio.Lock()
        self._lent = self._most = 0

    @asynccontextmanager
    async def lent(self, spec: AgentSpec) -> AsyncIterator[Apart]:
        """Lend a child that plays this plug-in, for one match. At most as many are kept idle as have
        been lent at once. Raises agents.build.UnplayableError."""
        self._idle = [child for child in self._idle if child.fit()]
        child = next((child for child in self._idle if child.spec == spec), None)
        self._lent += 1
        self._most = max(self._most, self._lent)
        try:
            if child is not None:
                self._idle.remove(child)
            else:
                async with self._starting:  # many imports at once would keep models here from answering
                    child = Apart(spec)
                    await child.start()
            child.fresh()
            yield child
        finally:
            self._lent -= 1
            if child is not None and child.fit():
                self._idle.append(child)
                if len(self._idle) > self._most:
                    self._idle.pop(0).end()

    def close(self) -> None:
        """End all that are idle, which all are when no match is being played."""
        while self._idle:
            self._idle.pop().end(wait_s=5.0)


def _serve(spec: AgentSpec, theirs: socket.socket) -> None:
    """Play `spec` in this new process, for as long as the other end of the socket asks."""
    obey_parent()
    os.nice(NICE)
    stream = theirs.makefile("rwb")
    try:
        agent = build(spec)
    except UnplayableError as error:
        _say(stream, wire.unplayable(str(error)))
        return
    _say(stream, wire.READY)
    mind: Negotiator | None = None
    with asyncio.Runner() as runner:
        while size := stream.read(_SIZE.size):
            view, rng = pickle.loads(stream.read(*_SIZE.unpack(size)))
            try:
                if rng is not None:
                    brief, mind = view.brief, None
                    mind = agent.begin(brief.role, brief, rng)
                assert mind is not None
                answer: Any = mind.reply(replace(view, brief=brief))
                if inspect.isawaitable(answer):
                    answer = runner.run(_awaited(answer))
                said = wire.told(checked(answer))
            except BaseException as error:
                said = wire.failed(failure(agent, error))
            _say(stream, said)


def _say(stream: BufferedRWPair, said: bytes) -> None:
    stream.write(_SIZE.pack(len(said)) + said)
    stream.flush()


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer
