"""Places at an endpoint: never more than allowed, none lost, whoever is cancelled when."""

import asyncio
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.language_model import endpoint as module
from agents.language_model.endpoint import BURST_S, MINUTE_S, Endpoint
from agents.spec import Connection


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_no_place_is_lost_and_none_too_many_given(seed: int, most: int) -> None:
    """Waiters and holders are cancelled at random, some of them while they leave."""

    async def main() -> None:
        random, place = Random(seed), Endpoint()
        place.limit(Connection(max_concurrent=most))
        inside = Counter[str]()

        async def visit() -> None:
            async with place.slot(1):
                inside["now"] += 1
                inside["most"] = max(inside["most"], inside["now"])
                try:
                    for _ in range(random.randrange(3)):
                        await asyncio.sleep(0)
                finally:
                    inside["now"] -= 1

        visits = [asyncio.create_task(visit()) for _ in range(25)]
        for _ in range(30):
            await asyncio.sleep(0)
            for task in random.sample(visits, random.randrange(3)):
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*visits, return_exceptions=True), 10)
        assert place._busy == inside["now"] == 0
        assert inside["most"] <= most
        async with asyncio.timeout(10), place.slot(1):  # whoever comes now does not wait
            assert place._busy == 1

    asyncio.run(main())


def test_who_comes_first_goes_first() -> None:
    async def main() -> list[int]:
        place, order = Endpoint(), list[int]()
        place.limit(Connection(max_concurrent=1))

        async def visit(number: int) -> None:
            async with place.slot(1):
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(visit(number) for number in range(20)))
        return order

    assert asyncio.run(main()) == list(range(20))


def test_a_refusal_halves_once_and_answers_bring_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)

    async def main() -> None:
        nonlocal now
        place = Endpoint()
        place.limit(Connection(max_concurrent=40))
        place._busy = 16
        place.refused(1.0)
        assert place._allowed == 8
        place.refused(1.0)  # of those that were under way together
        assert place._allowed == 8
        now += 1.5
        place._busy = 8
        place.refused(1.0)
        assert place._allowed == 4
        for _ in range(4 + 1 + 5 + 1):  # as many answers as are allowed give one more, a little late
            place.answered()
        assert 6 <= place._allowed < 6.5
        for _ in range(2000):
            place.answered()
        assert place._allowed == 40
        for _ in range(20):
            now += 2
            place.refused(1.0)
        assert place._allowed == 1

    asyncio.run(main())


def test_after_a_refusal_nothing_is_sent_for_as_long_as_was_asked() -> None:
    async def main() -> float:
        loop, place = asyncio.get_running_loop(), Endpoint()
        begun = loop.time()
        place.refused(0.2)
        async with place.slot(1):
            return loop.time() - begun

    assert asyncio.run(main()) >= 0.2


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to what is waited for, and a little further."""

    def __init__(self, late_s: float) -> None:
        super().__init__()
        self.now, self._late_s = 1000.0, late_s

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        loop: Any = self
        if not loop._ready and loop._scheduled:
            self.now = max(self.now, loop._scheduled[0].when()) + self._late_s
        super()._run_once()  # type: ignore[misc]


def sent(
    visits: list[tuple[float, int]], limits: Connection, late_s: float = 0.0, refusals: bool = False
) -> list[list[float]]:
    """Return when, and with how many tokens, requests go out that come so many seconds apart. A 429
    answers every tenth, with `refusals`."""

    async def main() -> list[list[float]]:
        place, found, tasks = Endpoint(), list[list[float]](), list[asyncio.Task[None]]()
        place.limit(limits)

        async def visit(number: int, tokens: int) -> None:
            async with place.slot(tokens):
                found.append([clock.now, tokens])
                if refusals and number % 10 == 9:
                    place.refused(5.0)

        for number, (pause_s, tokens) in enumerate(visits):
            await asyncio.sleep(pause_s)
            tasks.append(asyncio.create_task(visit(number, tokens)))
        await asyncio.gather(*tasks)
        return found

    clock = Clock(late_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.time, "monotonic", lambda: clock.now)
        with asyncio.Runner(loop_factory=lambda: clock) as runner:
            return runner.run(main())


VISITS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.0, 0.0, 0.5, 20.0, 90.0]), st.integers(1, 9000)), max_size=120
)


@given(
    VISITS, st.floats(1, 600), st.floats(100, 100_000), st.sampled_from([0.0, 0.01, 2.0]), st.booleans()
)
@settings(deadline=None)
def test_in_no_minute_more_goes_out_than_the_rates_allow(
    visits: list[tuple[float, int]], requests: float, tokens: float, late_s: float, refusals: bool
) -> None:
    """But for what a second saves up, and for the last request, which is paid for afterwards."""
    limits = Connection(requests_per_minute=requests, tokens_per_minute=tokens)
    found = sent(visits, limits, late_s, refusals)
    assert len(found) == len(visits)
    for number, (begun, _) in enumerate(found):
        within = [took for at, took in found[number:] if at - begun < MINUTE_S]
        assert len(within) <= (requests + requests / 60) + 1 + 1e-6
        assert sum(within[:-1]) <= (tokens + tokens / 60) + 1e-3


def test_those_who_wake_late_lose_nothing_of_a_rate() -> None:
    """600 a minute, and every sleep is 20 ms too long."""
    found = sent([(0.0, 1)] * 601, Connection(requests_per_minute=600), late_s=0.02)
    took_s = found[-1][0] - found[0][0]
    assert took_s + 1e-6 >= MINUTE_S - BURST_S
    assert took_s <= MINUTE_S


def test_a_limit_of_30_sends_30_in_the_first_minute() -> None:
    found = sent([(0.0, 1)] * 90, Connection(requests_per_minute=30))
    assert len([at for at, _ in found if at - found[0][0] < MINUTE_S]) in (30, 31)


def test_half_a_request_a_minute_is_one_in_two_minutes() -> None:
    found = sent([(0.0, 1)] * 4, Connection(requests_per_minute=0.5))
    gaps = [after[0] - before[0] for before, after in pairwise(found)]
    assert gaps == pytest.approx([120, 120, 120], abs=BURST_S)


def test_a_request_of_more_tokens_than_a_minute_has_is_sent_and_paid_for_afterwards() -> None:
    """Neither refused nor kept for ever: who comes first goes at once."""
    found = sent([(0.0, 5000)] * 3, Connection(tokens_per_minute=100))
    at = [sent_at - 1000.0 for sent_at, _ in found]
    assert at == pytest.approx([0, 3000, 6000], abs=BURST_S)
