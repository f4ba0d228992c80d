"""Engines: what is gathered into one batch, whose turn it is, and what stays in memory.

The backends here record what they are asked; how real ones answer is tested beside them.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agents.agent import ProviderError
from agents.local import engine
from agents.local.engine import Engines
from agents.local.request import Request, Sampling
from agents.local.weights import Weights, weights_hash


class Recorder:
    """A backend that answers every request with its last id, and keeps what it was asked."""

    def __init__(self, weights: Weights, log: list[Any], rows: int = 64, calls: int = 1) -> None:
        self.receipt = {"weights": weights.folder.name}
        self.rows, self.calls, self._log = rows, calls, log
        self.under_way = self.most_under_way = 0
        self._lock = threading.Lock()
        log.append(("load", weights.folder.name))

    def answer(self, requests: Sequence[Request]) -> list[list[int]]:
        with self._lock:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        self._log.append((self.receipt["weights"], len(requests)))
        time.sleep(0.01)
        with self._lock:
            self.under_way -= 1
        return [[request.ids[-1]] for request in requests]

    def close(self) -> None:
        self._log.append(("close", self.receipt["weights"]))


@pytest.fixture
def weights(tmp_path: Path) -> list[Weights]:
    found = []
    for name in "abcd":
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_text(name)
        found.append(Weights(folder, weights_hash(folder)))
    return found


def asked(number: int) -> Request:
    return Request((1, number), Sampling(), number)


async def match(engines: Engines, weights: Weights, number: int, turns: int) -> None:
    for turn in range(turns):
        ids, receipt = await engines.answer(weights, asked(100 * number + turn))
        assert ids == [100 * number + turn]
        assert receipt == {"weights": weights.folder.name}
        for _ in range(5):  # what a driver does between two turns
            await asyncio.sleep(0)


def test_the_waiting_turns_of_all_matches_make_one_batch(weights: list[Weights]) -> None:
    log: list[Any] = []
    engines = Engines(lambda found: Recorder(found, log))

    async def play() -> None:
        # The last begins late, and falls in step with the others.
        late = asyncio.create_task(asyncio.sleep(0))
        matches = [match(engines, weights[0], number, 4) for number in range(10)]
        await asyncio.gather(*matches, late)

    asyncio.run(play())
    assert log == [("load", "a"), *[("a", 10)] * 4]


def test_a_batch_has_no_more_rows_than_the_backend_takes(weights: list[Weights]) -> None:
    log: list[Any] = []
    engines = Engines(lambda found: Recorder(found, log, rows=4))

    async def play() -> None:
        await asyncio.gather(*(match(engines, weights[0], number, 1) for number in range(10)))

    asyncio.run(play())
    assert [rows for name, rows in log if name == "a"] == [4, 4, 2]


def test_matches_of_many_models_bring_each_into_memory_seldom(weights: list[Weights]) -> None:
    log: list[Any] = []
    engines = Engines(lambda found: Recorder(found, log), most=2)

    async def play() -> None:
        # Sixteen seats; the plan interleaves the models, as a tournament's does.
        plan = [(weights[number % 4], number) for number in range(64)]

        async def seat() -> None:
            while plan:
                await match(engines, *plan.pop(0), 5)

        await asyncio.gather(*(seat() for _ in range(16)))

    asyncio.run(play())
    in_memory: set[str] = set()
    for what, name in log:
        if what == "load":
            in_memory.add(name)
        elif what == "close":
            in_memory.remove(name)
        else:
            assert what in in_memory
        assert len(in_memory) <= 2
    loads = [name for what, name in log if what == "load"]
    answers = sum(rows for what, rows in log if what not in ("load", "close"))
    assert answers == 64 * 5
    assert set(loads) == set("abcd")
    assert len(loads) <= 64 // 4, loads  # a load for each round of turns would be 40 and more


def test_nobody_waits_while_others_are_served_without_end(
    weights: list[Weights], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_S", 0.1)
    engines = Engines(lambda found: Recorder(found, []), most=1)

    async def play() -> None:
        endless = asyncio.create_task(match(engines, weights[0], 0, 10_000))
        await asyncio.sleep(0.02)
        await asyncio.wait_for(match(engines, weights[1], 1, 1), 10)
        assert not endless.done()
        endless.cancel()

    asyncio.run(play())


def test_models_that_all_wait_too_long_take_turns_of_some_length(
    weights: list[Weights], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else, once everybody had waited for so long, every batch would cost a loading."""
    monkeypatch.setattr(engine, "PATIENCE_S", 0.1)
    began: list[float] = []

    def load(found: Weights) -> Recorder:
        began.append(time.monotonic())
        return Recorder(found, [])

    engines = Engines(load, most=1)

    async def play() -> None:
        matches = [asyncio.create_task(match(engines, found, 0, 10_000)) for found in weights]
        while len(began) < 7:
            await asyncio.sleep(0.01)
        for task in matches:
            task.cancel()

    asyncio.run(asyncio.wait_for(play(), 60))
    turns = [later - earlier for earlier, later in pairwise(began)]
    assert min(turns) >= 0.1, turns


def test_requests_join_those_under_way_where_the_backend_can(weights: list[Weights]) -> None:
    made: list[Recorder] = []

    def load(found: Weights) -> Recorder:
        made.append(Recorder(found, [], rows=1, calls=8))
        return made[-1]

    engines = Engines(load)

    async def play() -> None:
        await asyncio.gather(*(match(engines, weights[0], number, 3) for number in range(20)))

    asyncio.run(play())
    assert 1 < made[0].most_under_way <= 8


def test_a_turn_that_was_given_up_is_not_answered(weights: list[Weights]) -> None:
    log: list[Any] = []
    engines = Engines(lambda found: Recorder(found, log))

    async def play() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(engines.answer(weights[0], asked(1)), 0)
        task = asyncio.create_task(engines.answer(weights[0], asked(2)))
        await asyncio.sleep(0)
        task.cancel()
        await match(engines, weights[0], 3, 1)

    asyncio.run(play())
    assert [rows for name, rows in log if name == "a"] == [1]


def test_overwritten_weights_fail_their_own_matches_only(weights: list[Weights]) -> None:
    engines = Engines(lambda found: Recorder(found, []))
    (weights[0].folder / "model.safetensors").write_text("others")

    async def play() -> list[Any]:
        matches = [match(engines, weights[number % 2], number, 2) for number in range(6)]
        return await asyncio.gather(*matches, return_exceptions=True)

    results = asyncio.run(play())
    assert results[1::2] == [None] * 3
    for error in results[::2]:
        assert isinstance(error, ProviderError)
        assert error.trouble.permanent
        assert "now holds other weights" in str(error)


@pytest.mark.parametrize("error", [KeyError("gemma9"), RuntimeError("CUDA out of memory")])
def test_what_cannot_be_loaded_is_void_and_named_with_its_kind(
    weights: list[Weights], error: Exception
) -> None:
    with pytest.raises(ProviderError) as raised:
        asyncio.run(match(Engines(failing(error)), weights[0], 0, 1))
    assert raised.value.trouble.permanent
    words = f"{weights[0].folder} cannot be loaded: {type(error).__name__}: {error}"
    assert str(raised.value) == words


def test_a_bug_of_ours_in_loading_is_no_providers_trouble(weights: list[Weights]) -> None:
    """So that the run stops: a driver takes a ProviderError alone for the provider's."""
    with pytest.raises(TypeError, match="our own"):
        asyncio.run(match(Engines(failing(TypeError("our own"))), weights[0], 0, 1))


def failing(error: Exception) -> Any:
    """Return a way to load weights that raises `error`."""

    def load(weights: Weights) -> Recorder:
        raise error

    return load


def test_an_engine_serves_one_event_loop_after_another(weights: list[Weights]) -> None:
    """As `arena check` and rollouts do; what was in memory stays there."""
    log: list[Any] = []
    engines = Engines(lambda found: Recorder(found, log))
    for number in range(3):
        asyncio.run(match(engines, weights[0], number, 2))
    assert log.count(("load", "a")) == 1
    assert ("close", "a") not in log


def test_a_stopped_run_closes_what_runs(weights: list[Weights]) -> None:
    log: list[Any] = []

    class Slow(Recorder):
        closed = threading.Event()

        def answer(self, requests: Sequence[Request]) -> list[list[int]]:
            assert self.closed.wait(20), "nobody closed it"
            return super().answer(requests)

        def close(self) -> None:
            self.closed.set()
            super().close()

    engines = Engines(lambda found: Slow(found, log))

    async def play() -> None:
        task = asyncio.create_task(match(engines, weights[0], 0, 1))
        await asyncio.sleep(0.2)
        task.cancel()

    began = time.monotonic()
    asyncio.run(play())
    assert time.monotonic() - began < 10
    assert ("close", "a") in log


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("0", "two", "-1"):
        monkeypatch.setenv(engine.MODELS, value)
        with pytest.raises(ValueError, match=engine.MODELS):
            engine.engines.__wrapped__()
    monkeypatch.setenv(engine.MODELS, "3")
    assert engine.engines.__wrapped__().most == 3
    with monkeypatch.context() as installed:
        installed.setattr(engine, "find_spec", lambda name: name)
        for name in ("vllm", "transformers"):
            installed.setenv(engine.BACKEND, name)
            assert engine.chosen_backend() == name
    monkeypatch.setenv(engine.BACKEND, "llama")
    for asked in (engine.chosen_backend, engine.engines.__wrapped__):
        with pytest.raises(ValueError, match="vllm or transformers, not 'llama'"):
            asked()
