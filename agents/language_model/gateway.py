"""How language models are reached in one run: from a conversation to an answer, come what may.

A request is answered from the cache, or it is entered in the book with the most that it may cost, waits
for its place at the endpoint, is sent, and is settled. What fails for a passing reason is tried again,
a bounded number of times and no longer than a bounded time.
"""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_any,
    wait_random_exponential,
)
from tenacity.stop import stop_base

from agents.agent import ProviderError, StillAnsweringError, Trouble
from agents.language_model.addresses import Addresses
from agents.language_model.book import Asked, Book, Came, Entry, NoBook, entered
from agents.language_model.endpoint import Endpoint, place_of
from agents.language_model.faults import silence, within_context
from agents.language_model.library import api_key, library
from agents.language_model.prices import most_tokens, most_usd
from agents.language_model.provider import SchemaRefusedError, call
from agents.language_model.redaction import to_keep
from agents.language_model.request import Completion, Request
from agents.language_model.serving import Servers, serving_of
from agents.occasion import OCCASION, Occasion
from agents.spec import AgentSpec, Connection

TIMEOUT_S = 300.0
"""How long one call may take, where the connection does not say."""
MOST_TRIES = 6
"""A request is sent at most this often."""
PATIENCE_S = 180.0
"""No further try is lined up later than this after the first was sent, nor is a longer Retry-After
waited for."""
FIRST_PAUSE_S = 1.0
"""Between tries: drawn evenly from 0 to this, then to twice as much, and so on up to LONGEST_PAUSE_S. It
comes on top of what a Retry-After asks for, so that not all come back at once."""
LONGEST_PAUSE_S = 30.0
SHARED_PAUSE_S = 60.0
"""Others that are reached at the same place wait for a Retry-After with the one it was sent to, but no
longer than this: rates are by the minute. This project's choice."""
ENOUGH = 0.9
"""A stream that still runs at the timeout is the model's doing where its call had this share of its
time; else tries and waiting before it took the rest. This project's choice."""
LEAST_S = 5.0
"""A call that has less time left than this, and than a tenth of what one may take, is not sent: it would
be paid for, and seldom answered. This project's choice."""
LATE = "earlier tries took its time"
PLAIN_JSON = {"type": "json_object"}
_UNBILLED = {*Trouble} - {Trouble.CONNECTION, Trouble.SILENCE, Trouble.MALFORMED, Trouble.SERVER}
"""Trouble after which there is nothing to pay: the provider refused before it worked."""


class Answered(NamedTuple):
    """A completion, and the request that it answers."""

    completion: Completion
    request: Request


class Tries(stop_base):
    """The time that an answer has, however often it is asked for: that of the calls and of the pauses
    between them. What a try waits for its turn, for others who use the same place, budget or server, is
    nobody's doing and is not counted."""

    def __init__(self, connection: Connection, occasion: Occasion) -> None:
        self.connection, self.occasion = connection, occasion
        self._limit_s = math.inf if occasion.limit_s is None else occasion.limit_s
        self.whole_s = min(connection.timeout_s or TIMEOUT_S, self._limit_s)
        """Seconds that a call may take where none was lost before it."""
        self.least_s = min(LEAST_S, self.whole_s / 10)
        self._queued_s = 0.0
        self._begun: float | None = None
        """When the first was sent."""
        self._patient_from: float | None = None

    def send(self, queued_s: float) -> float:
        """Return the seconds that a call has which is sent now, after waiting `queued_s` for its turn;
        fewer than `least_s` are too few."""
        self._queued_s += queued_s
        now = self._clock()
        self._begun = now if self._begun is None else self._begun
        self._patient_from = now if self._patient_from is None else self._patient_from
        left = self._limit_s - (now - self._begun)
        return min(self.whole_s, left)

    def forgive(self) -> None:
        """Count patience from the next sending: an address that was silent took what there was."""
        self._patient_from = None

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Return whether another try would come too late."""
        begins = self._clock() + retry_state.upcoming_sleep
        if self._begun is not None and begins - self._begun > self._limit_s - self.least_s:
            return True
        return self._patient_from is not None and begins - self._patient_from > PATIENCE_S

    def _clock(self) -> float:
        return time.monotonic() - self._queued_s


class Gateway:
    """The way to all providers. Several event loops may use it one after the other."""

    def __init__(self, book: Book | None = None, servers: Servers | None = None) -> None:
        """Without a `book` nothing is limited by a budget, entered, or cached; without `servers` an
        agent that needs one has to have an address."""
        self._book = book or NoBook()
        self._servers = servers
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Endpoint]]
        self._places = WeakKeyDictionary()
        self._addresses = Addresses()
        self._answered: dict[str, int] = {}
        """The first of the formats below in which each agent was answered, by its version."""
        self.under_way = 0
        """Calls that were sent and not answered yet."""
        self._closed = False

    def close(self) -> None:
        """Send nothing more: whoever would waits until its match is given up. What was sent may still be
        answered. Safe in a signal handler."""
        self._closed = True

    async def complete(
        self,
        spec: AgentSpec,
        connection: Connection,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
    ) -> Answered:
        """Return the model's answer to `messages`.

        A provider that refuses `schema` is asked for plain JSON, and if it refuses that, for text. Once
        that was answered, so are later conversations asked for, unless the agent was ever answered with
        the schema: then the refusal was about this one. Raises ProviderError, StillAnsweringError, and
        GivenUpError where a budget is spent.
        """
        tries = Tries(connection, OCCASION.get() or Occasion(match="", replicate=0))
        formats = (None,) if schema is None else (schema, PLAIN_JSON, None)
        tried = self._answered.get(spec.version, 0)
        while True:
            request = Request(spec, messages, formats[tried])
            try:
                completion = await self._answer(request, tries)
            except SchemaRefusedError:
                tried += 1
                continue
            if not completion.refused:
                self._answered[spec.version] = min(tried, self._answered.get(spec.version, tried))
            return Answered(completion, request)

    async def _answer(self, request: Request, tries: Tries) -> Completion:
        cache, occasion = self._book.cache, tries.occasion
        if cache is None:
            return await self._tried(request, tries)
        key = request.key(occasion.replicate)
        async with cache.alone(key):
            known = await cache.known(key, request.spec.version, occasion.match or None)
            if known is not None:
                return known
            completion = await self._tried(request, tries)
            if not completion.refused:
                cache.keep(key, completion)
            return completion

    async def _tried(self, request: Request, tries: Tries) -> Completion:
        """Return the model's answer of the first try that brings one."""
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(lambda error: self._passes(error, tries.connection)),
            stop=stop_any(stop_after_attempt(MOST_TRIES), tries),
            wait=_pause,
            reraise=True,
        ):
            with attempt:
                completion = await self._once(request, tries, attempt.retry_state.attempt_number)
        return completion

    async def _once(self, request: Request, tries: Tries, number: int) -> Completion:
        """Make one call in its turn, and enter it."""
        await self._while_open()
        since = time.monotonic()
        library()  # importing it takes seconds, which are not to be the call's
        spec, connection = request.spec, tries.connection
        address = await self._address(spec, tries, number)
        endpoint = self._endpoint(spec, connection, address)
        taken, given = most_tokens(request.messages, request.format), request.most_given
        most = most_usd(spec, connection, taken, given)
        asked = Asked(spec.version, tries.occasion.match or None, number, most)
        # First the budget: who waits for it is not to keep others from the endpoint.
        async with entered(self._book, asked) as entry, endpoint.slot(taken // 4 + given):
            await self._while_open()
            timeout_s = tries.send(time.monotonic() - since)
            if timeout_s < tries.least_s:
                raise silence(spec, address, tries.whole_s, LATE)
            entry.sent = True
            self.under_way += 1
            try:
                completion = await call(request, connection, address, timeout_s)
            except SchemaRefusedError:
                entry.settle(Came.NOTHING, trouble=Trouble.REJECTED)
                raise
            except ProviderError as error:
                whole = timeout_s >= ENOUGH * tries.whole_s
                self._failed(error, entry, endpoint, address, whole)
                if whole and error.trouble is Trouble.SILENCE:
                    tries.forgive()
                    await self._look_after(spec, connection, address)
                raise
            except StillAnsweringError:
                entry.settle(Came.UNKNOWN)
                if timeout_s >= ENOUGH * tries.whole_s:
                    raise
                raise silence(spec, address, timeout_s, LATE) from None
            finally:
                self.under_way -= 1
            completion = to_keep(completion, api_key(connection, address))
            refused = completion.fault == "context_overrun"  # before anybody worked on it
            entry.settle(Came.NOTHING if refused else Came.ANSWER, completion)
            endpoint.answered()
            self._addresses.answered(address)
            return within_context(completion, request, address)

    async def _while_open(self) -> None:
        if self._closed:
            await asyncio.get_running_loop().create_future()  # which nothing ends but a cancellation

    def _failed(
        self, error: ProviderError, entry: Entry, endpoint: Endpoint, address: str | None, whole: bool
    ) -> None:
        """Enter a call that failed, and what it shows of its place; `whole`: it had all of its time."""
        free = error.trouble in _UNBILLED or not error.reached
        entry.settle(Came.NOTHING if free else Came.UNKNOWN, trouble=error.trouble)
        if error.trouble is Trouble.CONNECTION or (whole and error.trouble is Trouble.SILENCE):
            self._addresses.failed(address)
        if error.trouble is Trouble.RATE_LIMIT:
            endpoint.refused(_shared_pause(error.retry_after_s))

    def _passes(self, error: BaseException, connection: Connection) -> bool:
        """Return whether another try may help: silence is one address's, where there are several."""
        if not isinstance(error, ProviderError):
            return False
        silent = error.trouble is Trouble.SILENCE
        return error.trouble.passing or (silent and self._addresses.others(connection))

    async def _address(self, spec: AgentSpec, tries: Tries, number: int) -> str | None:
        """Return where a try goes: to a server of ours, which is up by then, or where the agent says."""
        serving = serving_of(spec, tries.connection)
        if serving is None:
            return self._addresses.choose(tries.connection, tries.occasion, number)
        if self._servers is None:
            raise ProviderError(f"{serving.words} is not started here", Trouble.WEIGHTS)
        return await self._servers.address(serving)

    def _endpoint(self, spec: AgentSpec, connection: Connection, address: str | None) -> Endpoint:
        places = self._places.setdefault(asyncio.get_running_loop(), {})
        endpoint = places.setdefault(place_of(spec, connection, address), Endpoint())
        serving = serving_of(spec, connection)
        endpoint.limit(connection, None if serving is None else serving.at_once)
        return endpoint

    async def _look_after(self, spec: AgentSpec, connection: Connection, address: str | None) -> None:
        """Raise that a server of ours is gone, where it was silent because it hangs. It is started
        again, so another try may help."""
        serving = serving_of(spec, connection)
        if serving is None or self._servers is None or address is None:
            return
        if await self._servers.hung(serving, address):
            words = f"{spec.model}: {serving.words} answered no more, and is started again"
            raise ProviderError(words, Trouble.CONNECTION) from None


_backoff = wait_random_exponential(FIRST_PAUSE_S, LONGEST_PAUSE_S)


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next try."""
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after_s if isinstance(error, ProviderError) else None
    return (asked or 0.0) + _backoff(state)


def _shared_pause(asked_s: float | None) -> float:
    """Return the seconds that nothing is sent to a place after a 429 that asked for `asked_s`. What is
    longer than anybody is patient nobody waits for: it ends the one call that it was sent to."""
    if not asked_s or asked_s > PATIENCE_S:
        return FIRST_PAUSE_S
    return min(asked_s, SHARED_PAUSE_S)
