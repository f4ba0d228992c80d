"""Which servers run at once: a match holds those that it needs, and none waits for ever."""

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.language_model import serving
from agents.language_model.serving import Servers, Serving
from tests.agents.language_model.test_serving import with_servers


class NoProcess:
    """Stands in for a server that is kept up: it only counts who runs."""

    running = 0
    most = 0

    def __init__(self, called: str, command: object, tell: object) -> None:
        self.up = False

    async def address(self) -> str:
        await asyncio.sleep(0)
        if not self.up:
            self.up = True
            NoProcess.running += 1
            NoProcess.most = max(NoProcess.most, NoProcess.running)
        return "http://127.0.0.1:1/v1"

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self.close()

    def close(self) -> None:
        NoProcess.running -= self.up
        self.up = False


MATCHES = st.lists(st.sets(st.integers(0, 4), max_size=2), min_size=1, max_size=40)


@settings(deadline=None)
@given(MATCHES, st.integers(2, 3), st.integers(1, 8), st.randoms(use_true_random=False))
def test_matches_hold_what_they_need_and_none_waits_for_ever(
    matches: list[set[int]], most: int, seats: int, random: Random
) -> None:
    """No more servers run than may, all that a match needs run meanwhile, and all are played."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "KeptUp", NoProcess)
        NoProcess.running = NoProcess.most = 0
        queue, played = list(matches), 0

        async def seat(servers: Servers) -> None:
            nonlocal played
            while queue:
                needed = {Serving("llama.cpp", "", "", str(number), ()) for number in queue.pop(0)}
                async with servers.held(needed):
                    for _ in range(random.randrange(4)):
                        await asyncio.sleep(0)
                        assert all(servers._known[one].up for one in needed)
                    played += 1

        async def work(servers: Servers) -> None:
            async with asyncio.timeout(20):
                await asyncio.gather(*(seat(servers) for _ in range(seats)))

        with_servers(work, most)
        assert played == len(matches)
        assert NoProcess.most <= most
        assert NoProcess.running == 0


def test_the_least_recently_used_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "KeptUp", NoProcess)
    a, b, c = (Serving("llama.cpp", "", "", name, ()) for name in "abc")

    async def work(servers: Servers) -> list[set[Serving]]:
        running = []
        for needed in (a, b, a, c, b):
            async with servers.held({needed}):
                running.append({one for one, kept in servers._known.items() if kept.up})
        return running

    found, _ = with_servers(work, 2)
    assert found == [{a}, {a, b}, {a, b}, {a, c}, {b, c}]
