"""Places at an endpoint: never more than allowed, none lost, whoever is cancelled when."""

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.language_model import endpoint as module
from agents.language_model.endpoint import Endpoint
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
