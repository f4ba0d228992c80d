"""The book of calls: no ceiling is passed, nothing is forgotten, replicates share no answer."""

import asyncio
import multiprocessing
import os
import random
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arena.budget
from agents.agent import GivenUpError, Trouble, Usage
from agents.language_model import model_spec
from agents.language_model.book import Asked, Came
from agents.language_model.request import Completion, Request
from arena.budget import GRACE_S, Budget
from arena.money import NANO, nano, nano_within
from arena.spending import Spending
from arena.store import Store
from tests.arena.running import rows
from tests.arena.store.matches import design

SPEC = model_spec("hosted_vllm/m")
PLAN = design()
MOST = 0.0123
"""US dollars that a call can cost."""


class Provider:
    """Bills what it works on to a file, which outlives the process, and fails now and then."""

    def __init__(self, file: Path, seed: int, failing: float = 0.3) -> None:
        self._file = os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        self._chance, self._failing = random.Random(seed), failing
        self.busy = self.most_busy = 0

    async def call(self) -> tuple[Came, float | None]:
        """Work on a call, and bill it; return what the caller sees of it."""
        cost = round(self._chance.uniform(0.0001, MOST), 9)
        fate = self._chance.random()
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        try:
            if fate < self._failing / 3:
                return Came.NOTHING, None
            os.write(self._file, f"{round(cost * NANO)}\n".encode())
            await asyncio.sleep(self._chance.uniform(0.0, 0.004))
            return (Came.UNKNOWN, None) if fate < self._failing else (Came.ANSWER, cost)
        finally:
            self.busy -= 1


def billed(file: Path) -> int:
    """What the provider counts, in billionths of a dollar."""
    return sum(map(int, file.read_text().split())) if file.exists() else 0


def answer(cost: float | None) -> Completion:
    return Completion("{}", "", None, Usage(10, 5, cost, 0.1), "m")


def opened(address: str) -> Store:
    store = Store.open(address)
    store.add_design(PLAN, [SPEC], [])
    return store


async def talk(book: Spending, provider: Provider, calls: int) -> None:
    """Make some calls, one after the other, as one match does."""
    for number in range(calls):
        entry = await book.reserve(Asked(SPEC.version, None, 1 + number % 2, MOST))
        came, cost = Came.UNKNOWN, None
        try:
            came, cost = await provider.call()
        finally:
            completion = answer(cost) if came is Came.ANSWER else None
            book.settle(entry, came, completion, None if completion else Trouble.SERVER)


async def at_once(book: Spending, provider: Provider, dialogues: int, calls: int) -> list[BaseException]:
    tasks = [talk(book, provider, calls) for _ in range(dialogues)]
    found = await asyncio.gather(*tasks, return_exceptions=True)
    return [error for error in found if error is not None]


def charge(row: dict[str, Any]) -> int:
    """What a call of the ledger is charged, by the rules and not by the code."""
    if row["came"] in ("nothing", "cached"):
        return 0
    return int(row["most_nano"] if row["cost_nano"] is None else row["cost_nano"])


def ledger(address: str) -> tuple[list[dict[str, Any]], int]:
    """Return the calls and the sum of the bills, read without the project's code."""
    bills = rows(address, "bills").values()
    return [*rows(address, "calls").values()], sum(bill["charged_nano"] for bill in bills)


@pytest.mark.parametrize("seed", range(5))
def test_a_ceiling_holds_at_concurrency_64_over_resumes(address: str, tmp_path: Path, seed: int) -> None:
    bill = tmp_path / "bill"
    ceiling = 3.0
    rounds, spent_out = 0, False
    while not spent_out:
        with opened(address) as store:
            provider = Provider(bill, 100 * seed + rounds)
            book = Spending(store, PLAN.hash, ceiling)
            errors = asyncio.run(at_once(book, provider, 64, 3))
            book.flush()
        assert billed(bill) <= ceiling * NANO
        rounds, spent_out = rounds + 1, bool(errors)
    assert all(isinstance(error, GivenUpError) for error in errors)
    assert rounds > 1
    calls, total = ledger(address)
    assert sum(map(charge, calls)) == total <= ceiling * NANO
    assert ceiling * NANO - total < nano(MOST)  # and it was used up
    known = sum(row["cost_nano"] for row in calls if row["came"] == "answer")
    unknown = sum(row["most_nano"] for row in calls if row["came"] == "unknown")
    assert known + unknown == total
    assert known <= billed(bill) <= total
    assert not [row for row in calls if row["came"] is None]


def test_the_ledger_replays_to_the_provider_s_own_count(address: str, tmp_path: Path) -> None:
    bill = tmp_path / "bill"
    for budget in (None, 1000.0, None):
        with opened(address) as store:
            book = Spending(store, PLAN.hash, budget)
            assert asyncio.run(at_once(book, Provider(bill, 1, failing=0.0), 64, 5)) == []
            book.flush()
    calls, total = ledger(address)
    assert len(calls) == 3 * 64 * 5
    assert sum(row["cost_nano"] for row in calls) == total == billed(bill)


def _play_for_ever(
    address: str, bill: str, seed: int, ceiling: float, others: Barrier | None = None
) -> None:
    with opened(address) as store:
        if others is not None:
            others.wait()
        provider = Provider(Path(bill), seed)
        book = Spending(store, PLAN.hash, ceiling)
        asyncio.run(at_once(book, provider, 64, 10_000))
        book.flush()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_ceiling_holds_over_kills(address: str, tmp_path: Path, seed: int) -> None:
    bill = tmp_path / "bill"
    opened(address).close()
    chance, ceiling, context = random.Random(seed), 12.0, multiprocessing.get_context("spawn")
    for killed in range(3):
        job = (address, str(bill), 10 * seed + killed, ceiling)
        process = context.Process(target=_play_for_ever, args=job)
        process.start()
        before = billed(bill)
        while process.is_alive() and billed(bill) < before + chance.randrange(1, 2 * NANO):
            process.join(0.01)
        process.kill()
        process.join()
        calls, total = ledger(address)
        assert billed(bill) <= sum(map(charge, calls)) == total <= ceiling * NANO
    assert [row for row in calls if row["came"] is None]  # they were killed in the middle
    _play_for_ever(address, str(bill), seed, ceiling)
    calls, total = ledger(address)
    assert billed(bill) <= sum(map(charge, calls)) == total <= ceiling * NANO
    assert ceiling * NANO - total < nano(MOST)


def test_a_ceiling_holds_over_two_runs_at_once(address: str, tmp_path: Path) -> None:
    bill, ceiling = tmp_path / "bill", 12.0
    opened(address).close()
    context = multiprocessing.get_context("spawn")
    both = context.Barrier(2)
    jobs = [(address, str(bill), seed, ceiling, both) for seed in (1, 2)]
    processes = [context.Process(target=_play_for_ever, args=job) for job in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    calls, total = ledger(address)
    assert len({row["bill"] for row in calls}) == 2
    assert billed(bill) <= sum(map(charge, calls)) == total <= ceiling * NANO
    assert ceiling * NANO - total < nano(MOST)


def test_a_call_is_on_record_before_it_is_made(address: str) -> None:
    async def reserve(book: Spending) -> None:
        await book.reserve(Asked(SPEC.version, "ab", 1, MOST))
        calls, total = ledger(address)
        assert [(row["match_key"], row["came"], row["most_nano"]) for row in calls] == [
            ("ab", None, nano(MOST))
        ]
        assert total == nano(MOST)

    with opened(address) as store:
        asyncio.run(reserve(Spending(store, PLAN.hash, 1.0)))


def test_calls_made_at_once_share_transactions(address: str, tmp_path: Path) -> None:
    with opened(address) as store:
        before = store.revision()
        book = Spending(store, PLAN.hash, 1000.0)
        asyncio.run(at_once(book, Provider(tmp_path / "bill", 1), 256, 1))
        assert store.revision() - before <= 8


def test_whoever_is_given_up_while_waiting_holds_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        budget = Budget(100)
        await budget.hold(80)
        waiting = [asyncio.create_task(budget.hold(60)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        budget.release(80, 10)  # lets the second in, as the first has gone
        await asyncio.sleep(2 * GRACE_S)
        assert [task.done() for task in waiting] == [True, True, False]
        assert (budget.held, budget.known) == (60, 10)
        waiting[2].cancel()
        budget.release(60, 50)
        await asyncio.sleep(2 * GRACE_S)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (budget.held, budget.known, budget.unknown) == (0, 60, 0)
        with pytest.raises(GivenUpError, match="--budget"):
            await budget.hold(41)
        with pytest.raises(GivenUpError):  # the run is over, though this would fit
            await budget.hold(1)

    asyncio.run(scene())


def test_what_is_left_goes_to_the_first_in_rank() -> None:
    async def scene() -> None:
        budget, order = Budget(100), []

        async def match(rank: int) -> None:
            for _ in range(3):
                await budget.hold(60, rank)
                order.append(rank)
                await asyncio.sleep(0)
                budget.release(60, 1)
                await asyncio.sleep(0)

        await budget.hold(50)
        playing = [asyncio.create_task(match(rank)) for rank in (3, 1, 2)]
        await asyncio.sleep(0)
        budget.release(50, 1)
        await asyncio.gather(*playing)
        assert order == [1, 1, 1, 2, 2, 2, 3, 3, 3]

    with patch.object(arena.budget, "GRACE_S", 0.5):  # longer than a busy machine stands still
        asyncio.run(scene())


@settings(deadline=None, max_examples=50)
@given(
    ceiling=st.integers(0, 10**6),
    calls=st.lists(
        st.tuples(st.integers(0, 10**5), st.none() | st.floats(0, 1), st.integers(1, 5)), max_size=30
    ),
)
def test_holds_and_charges_never_pass_a_ceiling(
    ceiling: int, calls: list[tuple[int, float | None, int]]
) -> None:
    budget, over = Budget(ceiling), 0

    async def one(most: int, share: float | None, steps: int) -> None:
        nonlocal over
        await budget.hold(most)
        over = max(over, budget.charged + budget.held)
        for _ in range(steps):
            await asyncio.sleep(0)
        budget.release(most, None if share is None else int(share * most))

    async def every() -> list[BaseException | None]:
        return await asyncio.gather(*(one(*call) for call in calls), return_exceptions=True)

    with patch.object(arena.budget, "GRACE_S", 0.0):
        found = asyncio.run(every())
    assert over <= ceiling
    assert budget.held == 0
    kept = [call for call, error in zip(calls, found, strict=True) if error is None]
    assert budget.charged == sum(m if s is None else int(s * m) for m, s, _ in kept)
    assert all(isinstance(error, GivenUpError) for error in found if error)
    if sum(most for most, _, _ in calls) <= ceiling:
        assert not any(found)


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=200))
def test_many_small_amounts_add_up_exactly(tokens: list[int]) -> None:
    price = 0.15  # US dollars a million tokens: no float holds it
    assert sum(nano(count * price / 1e6) for count in tokens) == sum(count * 150 for count in tokens)
    assert nano_within(sum(tokens) * price / 1e6) <= sum(tokens) * 150


# The cache


def asking(book: Spending, replicate: int, said: str = "u") -> Completion | None:
    request = Request(SPEC, [{"role": "user", "content": said}])
    return asyncio.run(book.known(request.key(replicate), SPEC.version, "ab"))


def keeping(book: Spending, replicate: int, said: str = "u") -> None:
    request = Request(SPEC, [{"role": "user", "content": said}])
    book.keep(
        request.key(replicate),
        Completion(f"{said}{replicate}\ud800", "", None, Usage(1, 2, 0.5, 3.0), "m"),
    )


@pytest.fixture
def book_of(address: str) -> Callable[..., Spending]:
    return lambda **more: Spending(opened(address), PLAN.hash, **more)


def test_replicates_share_no_answer_and_hits_are_marked(book_of: Callable[..., Spending]) -> None:
    book = book_of(cache=True)
    for again in range(2):
        keeping(book, 0)
        for _ in range(2):
            found = asking(book, 0)
            assert found is not None
            assert found.text == "u0\ud800"
            assert found.usage == Usage(1, 2, 0.0, 3.0, cached=True)
            assert asking(book, 1) is asking(book, 0, "v") is None
            book.flush()
        book = book_of(cache=True)
        assert again or asking(book, 0) is not None  # another run knows it as well


def test_a_run_has_a_cache_only_where_it_is_asked_for(book_of: Callable[..., Spending]) -> None:
    assert book_of().cache is None
    book = book_of(cache=True)
    assert book.cache is book


def test_hits_cost_nothing_and_are_counted(address: str) -> None:
    with opened(address) as store:
        book = Spending(store, PLAN.hash, cache=True)
        keeping(book, 0)
        assert asking(book, 0)
        book.flush()
        (cost,) = store.costs()
        assert (cost.calls, cost.cached, cost.known_nano, cost.most_nano) == (0, 1, 0, 0)
        assert (cost.tokens_in, cost.tokens_out, cost.unpriced, cost.unsettled) == (0, 0, 0, 0)
        assert store.charged(PLAN.hash) == (0, 0)


def test_what_costs_say(address: str) -> None:
    async def scene(book: Spending) -> None:
        def asked(number: int = 1, most: float | None = 0.5) -> Asked:
            return Asked(SPEC.version, "ab", number, most)

        first = await book.reserve(asked())
        book.settle(first, Came.UNKNOWN, None, Trouble.SERVER)
        book.settle(await book.reserve(asked(2)), Came.ANSWER, answer(0.25), None)
        book.settle(await book.reserve(asked()), Came.NOTHING, None, Trouble.RATE_LIMIT)
        book.settle(await book.reserve(asked(most=None)), Came.ANSWER, answer(None), None)
        book.settle(await book.reserve(asked()), Came.ANSWER, answer(None), None)
        await book.reserve(asked())

    with opened(address) as store:
        book = Spending(store, PLAN.hash)
        asyncio.run(scene(book))
        book.flush()
        (cost,) = store.costs(PLAN.hash)
        assert cost[:2] == (PLAN.hash, SPEC.version)
        assert (cost.calls, cost.retries, cost.cached) == (6, 1, 0)
        assert (cost.tokens_in, cost.tokens_out) == (30, 15)
        assert (cost.known_nano, cost.most_nano) == (NANO // 4, 3 * NANO // 2)
        assert (cost.unsettled, cost.unpriced) == (1, 1)
        assert store.charged(PLAN.hash) == (7 * NANO // 4, NANO // 2)
        assert store.costs("0" * 12) == []
