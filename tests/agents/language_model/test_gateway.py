"""Tries, their bounds, and what a run's end or another event loop does to calls under way."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.agent import GivenUpError, ProviderError, StillAnsweringError, Trouble
from agents.language_model import gateway, model_spec, provider
from agents.language_model.book import Asked, Came, NoBook
from agents.language_model.faults import own_words
from agents.language_model.gateway import PATIENCE_S, Gateway
from agents.language_model.prompt import NO_ANSWER, first_messages
from agents.language_model.request import Completion
from agents.occasion import OCCASION, Occasion
from agents.spec import Connection
from arena.play import briefs
from arena.protocol import Rules
from scenarios.scenario import Role
from tests.agents.language_model.faulty_api import FaultyApi, always, first
from tests.arena.protocol.flat import FLAT, SCENARIO

SPEC = model_spec("hosted_vllm/m")
MESSAGES = first_messages(briefs(FLAT, SCENARIO, Rules())[Role.SELLER])
SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}


@dataclass
class Entries(NoBook):
    """A book that keeps what it is told."""

    asked: list[Asked] = field(default_factory=list)
    settled: list[tuple[int, Came, Trouble | None]] = field(default_factory=list)

    async def reserve(self, asked: Asked) -> int:
        self.asked.append(asked)
        return len(self.asked)

    def settle(
        self, call: int, came: Came, completion: Completion | None, trouble: Trouble | None
    ) -> None:
        assert (completion is None) == (came is not Came.ANSWER)
        self.settled.append((call, came, trouble))


@pytest.fixture
def book() -> Iterator[Entries]:
    """Every call that is entered is settled, once."""
    entries = Entries()
    yield entries
    assert sorted(call for call, _, _ in entries.settled) == list(range(1, len(entries.asked) + 1))


async def ask(api: FaultyApi, book: Entries | None = None, **connection: object) -> Completion:
    reached = Connection.model_validate({"api_base": api.address, **connection})
    return (await Gateway(book).complete(SPEC, reached, MESSAGES)).completion


def test_tries_are_entered_one_by_one(faulty: FaultyApi, book: Entries) -> None:
    faulty.plan = first(2, "error_503")
    assert "propose" in asyncio.run(ask(faulty, book)).text
    assert [asked.number for asked in book.asked] == [1, 2, 3]
    unknown = (Came.UNKNOWN, Trouble.SERVER)
    assert [entry[1:] for entry in book.settled] == [unknown, unknown, (Came.ANSWER, None)]


@pytest.mark.parametrize(
    ("fault", "came", "trouble"),
    [
        ("empty_choices", Came.UNKNOWN, Trouble.MALFORMED),
        ("hang", Came.UNKNOWN, Trouble.SILENCE),
        ("wrong_key", Came.NOTHING, Trouble.AUTHENTICATION),
        ("overrun_vllm", Came.NOTHING, Trouble.CONTEXT),
    ],
)
def test_every_way_to_fail_is_settled(
    faulty: FaultyApi, book: Entries, fault: str, came: Came, trouble: Trouble
) -> None:
    faulty.plan = always(fault)
    with pytest.raises(ProviderError):
        asyncio.run(ask(faulty, book, timeout_s=0.5))
    assert {entry[1:] for entry in book.settled} == {(came, trouble)}


def test_patience_counts_from_the_first_sending(
    faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause that would end after it is not begun."""
    faulty.plan = always("error_500")
    monkeypatch.setattr(
        gateway, "_backoff", lambda state: PATIENCE_S + 1 if len(faulty.requests) > 2 else 0
    )
    begun = time.monotonic()
    with pytest.raises(ProviderError):
        asyncio.run(ask(faulty))
    assert len(faulty.requests) == 3
    assert time.monotonic() - begun < PATIENCE_S


class Clock:
    """What the gateway takes for the time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize("limit_s", [None, 1.5 * PATIENCE_S])
def test_waiting_for_a_turn_takes_nothing_off_the_time_for_tries(
    faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch, limit_s: float | None
) -> None:
    """Neither before the first try nor between tries; what calls take, does."""
    clock, given = Clock(), []

    class Slow(Entries):
        async def reserve(self, asked: Asked) -> int:
            clock.now += 10 * PATIENCE_S
            return await super().reserve(asked)

    async def call(*arguments: Any) -> Completion:
        clock.now += PATIENCE_S / 4
        given.append(arguments[-1])
        return await sent(*arguments)

    async def main() -> Completion:
        OCCASION.set(Occasion("1", 0, limit_s))
        return await ask(faulty, Slow(), timeout_s=1000.0)

    sent = gateway.call
    monkeypatch.setattr(gateway, "time", clock)
    monkeypatch.setattr(gateway, "call", call)
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.0)
    faulty.plan = first(4, "error_500")
    assert "propose" in asyncio.run(main()).text
    most = 1000.0 if limit_s is None else limit_s
    left = [most if limit_s is None else most - used * PATIENCE_S / 4 for used in range(5)]
    assert given == pytest.approx(left)
    given.clear()
    faulty.plan = always("error_500")
    with pytest.raises(ProviderError) as raised:
        asyncio.run(main())
    assert raised.value.trouble is Trouble.SERVER
    assert len(given) == 5  # one more would begin later than PATIENCE_S


@pytest.mark.parametrize(("fault", "calls"), [("error_500", 4), ("no_schema", 1)])
def test_a_call_that_would_have_no_time_is_not_paid_for(
    faulty: FaultyApi, book: Entries, monkeypatch: pytest.MonkeyPatch, fault: str, calls: int
) -> None:
    """Of 100 s, two are left after four failures, and after the refusal of a schema."""
    clock = Clock()

    async def call(*arguments: Any) -> Completion:
        clock.now += 98 / calls
        return await sent(*arguments)

    async def main() -> None:
        OCCASION.set(Occasion("1", 0, 100.0))
        await Gateway(book).complete(SPEC, Connection(api_base=faulty.address), MESSAGES, SCHEMA)

    sent = gateway.call
    monkeypatch.setattr(gateway, "time", clock)
    monkeypatch.setattr(gateway, "call", call)
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.0)
    faulty.plan = always(fault)
    with pytest.raises(ProviderError) as raised:
        asyncio.run(main())
    assert raised.value.trouble is (Trouble.SILENCE if calls == 1 else Trouble.SERVER)
    assert len(faulty.requests) == calls
    assert [came for _, came, _ in book.settled[calls:]] == [Came.NOTHING] * (calls == 1)


def test_who_waits_for_the_budget_keeps_no_other_from_the_endpoint(faulty: FaultyApi) -> None:
    """The second match is there first; what is left of the budget is the first one's."""

    class Ranked(Entries):
        async def reserve(self, asked: Asked) -> int:
            if asked.match == "2":
                came.set()
                await answered.wait()
            return await super().reserve(asked)

        def settle(self, *given: Any) -> None:
            super().settle(*given)
            answered.set()

    came, answered = asyncio.Event(), asyncio.Event()

    async def main() -> list[str]:
        asks, reached = Gateway(Ranked()), Connection(api_base=faulty.address, max_concurrent=1)

        async def match(name: str) -> str:
            OCCASION.set(Occasion(name, 0))
            return (await asks.complete(SPEC, reached, MESSAGES)).completion.text

        second = asyncio.create_task(match("2"))
        await came.wait()
        return await asyncio.gather(asyncio.create_task(match("1")), second)

    texts = asyncio.run(asyncio.wait_for(main(), 60))
    assert all("propose" in text for text in texts)


def test_a_call_that_is_given_up_before_it_is_sent_costs_nothing(
    faulty: FaultyApi, book: Entries
) -> None:
    faulty.plan = always("hang")

    async def main() -> None:
        asks, reached = Gateway(book), Connection(api_base=faulty.address, max_concurrent=1)
        calls = [asyncio.create_task(asks.complete(SPEC, reached, MESSAGES)) for _ in range(3)]
        while not faulty.requests:
            await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(main())
    assert sorted(came for _, came, _ in book.settled) == [Came.NOTHING, Came.NOTHING, Came.UNKNOWN]
    assert len(faulty.requests) == 1


def test_a_bug_of_ours_in_a_call_is_not_the_providers(
    faulty: FaultyApi, book: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, chunk: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(provider.Stream, "add", broken)
    with pytest.raises(KeyError, match="a bug"):
        asyncio.run(ask(faulty, book, stream=True))
    assert len(faulty.requests) == 1


def test_pauses_grow_and_differ() -> None:
    class State:
        attempt_number, outcome = 1, None

    def pauses(number: int) -> list[float]:
        State.attempt_number = number
        return [gateway._pause(State()) for _ in range(400)]  # type: ignore[arg-type]

    for number, most in enumerate([1, 2, 4, 8, 16, 30, 30], start=1):
        drawn = pauses(number)
        assert 0 <= min(drawn) < most / 10
        assert most * 0.9 < max(drawn) <= most


def test_litellm_never_tries_by_itself(faulty: FaultyApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "MOST_TRIES", 1)
    for model in ("hosted_vllm/m", "openai/m"):
        for fault in ("error_500", "error_503", "rate_limit", "reset_before_headers", "rejected_422"):
            faulty.requests.clear()
            faulty.plan = always(fault)
            request = gateway.Request(model_spec(model), MESSAGES)
            with pytest.raises(ProviderError):
                asyncio.run(provider.call(request, Connection(), faulty.address, 20))
            assert len(faulty.requests) == 1, (model, fault)


@pytest.mark.parametrize("fault", ["hang", "error_500"])
def test_the_end_of_a_run_ends_a_call_and_settles_it(
    faulty: FaultyApi, book: Entries, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """In mid-call, and in a pause between tries."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 60)
    faulty.plan = always(fault)

    async def main() -> None:
        task = asyncio.create_task(ask(faulty, book))
        while not faulty.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)

    asyncio.run(main())
    assert len(faulty.requests) == 1


def test_a_spent_budget_sends_nothing_and_holds_no_place(faulty: FaultyApi) -> None:
    class Spent(Entries):
        async def reserve(self, asked: Asked) -> int:
            raise GivenUpError("the budget is spent")

    async def main() -> None:
        asks, reached = Gateway(Spent()), Connection(api_base=faulty.address, max_concurrent=1)
        for _ in range(3):
            with pytest.raises(GivenUpError):
                await asyncio.wait_for(asks.complete(SPEC, reached, MESSAGES), 5)

    asyncio.run(main())
    assert not faulty.requests


def test_a_stream_is_not_to_blame_for_the_time_that_earlier_tries_took(faulty: FaultyApi) -> None:
    def plan(body: object, before: int) -> str:
        return "error_503" if before == 0 else "stream_without_end"

    async def main(limit_s: float) -> None:
        OCCASION.set(Occasion("1", 0, limit_s))
        await ask(faulty, stream=True)

    faulty.plan, faulty.latency_s = plan, 0.8
    with pytest.raises(ProviderError, match="earlier tries took its time") as raised:
        asyncio.run(main(4.0))
    assert raised.value.trouble is Trouble.SILENCE
    with pytest.raises(StillAnsweringError):  # this time there is no earlier try
        asyncio.run(main(4.0))


def test_one_gateway_serves_one_event_loop_after_another(faulty: FaultyApi) -> None:
    asks, reached = Gateway(), Connection(api_base=faulty.address, max_concurrent=2)

    async def many() -> list[str]:
        calls = (asks.complete(SPEC, reached, MESSAGES) for _ in range(6))
        return [answered.completion.text for answered in await asyncio.gather(*calls)]

    texts = {text for _ in range(3) for text in asyncio.run(many())}
    assert len(texts) == 1
    assert len(faulty.requests) == 18
    assert faulty.most_busy <= 2


def test_addresses_take_turns_where_one_fails(faulty: FaultyApi) -> None:
    async def main() -> Completion:
        return await ask(faulty, api_base="http://127.0.0.1:9/v1", api_bases=(faulty.address,))

    assert "propose" in asyncio.run(main()).text
    assert len(faulty.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_256_requests_are_under_way_at_once_and_no_connection_is_lost(
    faulty: FaultyApi, stream: bool
) -> None:
    """Many that are given up first: what they held must be free again."""

    async def main() -> None:
        asks = Gateway()
        reached = Connection(api_base=faulty.address, stream=stream, timeout_s=60)
        faulty.plan = always("hang")
        calls = [asyncio.create_task(asks.complete(SPEC, reached, MESSAGES)) for _ in range(256)]
        while faulty.busy < 256:
            await asyncio.sleep(0.02)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        while faulty.busy:
            await asyncio.sleep(0.02)
        again = [asyncio.create_task(asks.complete(SPEC, reached, MESSAGES)) for _ in range(256)]
        while faulty.busy < 256:
            await asyncio.sleep(0.02)
        for call in again:
            call.cancel()
        await asyncio.gather(*again, return_exceptions=True)

    asyncio.run(asyncio.wait_for(main(), 120))


def test_whose_words_a_conversation_grew_by() -> None:
    system, turn, own = (
        {"role": role, "content": "x" * 100} for role in ("system", "user", "assistant")
    )
    nothing, again = {"role": "assistant", "content": NO_ANSWER}, turn | {"content": "x" * 300}
    assert not own_words([system, turn])
    assert own_words([system, turn, own, turn])
    assert not own_words([system, turn, own, turn, turn])
    assert own_words([system, turn, own, turn, nothing, again, nothing, again])
    assert not own_words([system, turn, nothing, again])
