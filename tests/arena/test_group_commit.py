"""What the book of calls writes, when, and together with what: nothing is lost or stays behind."""

import asyncio
import threading
from typing import Any

import pytest

from agents.agent import BudgetSpentError, GivenUpError
from agents.language_model.book import Asked, Came
from arena import group_commit, patience
from arena.money import nano
from arena.patience import Patience
from arena.spending import Spending
from arena.store import Store, StoreError, Unavailable
from tests.arena.test_spending import (
    MOST,
    PLAN,
    SPEC,
    answer,
    asking,
    charge,
    keeping,
    ledger,
    opened,
)

ASKED = Asked(SPEC.version, "ab", 1, MOST)
LOCKED = StoreError("the database is locked")
AWAY = Unavailable("the server is started again")


class Held:
    """A store's transactions with reservations, each kept under way until it is released."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch, first: int) -> None:
        """The `first` of them pass."""
        self._enter, self._left = store.enter, first
        self.began, self._released = threading.Event(), threading.Event()
        self.error: Exception | None = None
        monkeypatch.setattr(store, "enter", self)

    def __call__(self, bill: Any, settled: Any, reserved: Any, *more: Any) -> tuple[bool, int]:
        self._left -= bool(reserved)
        if self._left < 0 and reserved:
            self.began.set()
            assert self._released.wait(30)
            if self.error is not None:
                raise self.error
        return self._enter(bill, settled, reserved, *more)

    def release_soon(self, error: Exception | None = None) -> None:
        """Release it while whoever called this does something else, such as to wait for it."""
        self.error = error
        threading.Timer(0.05, self._released.set).start()


def came(calls: list[dict[str, Any]]) -> list[str | None]:
    """What came of calls, in the order in which they were entered."""
    return [row["came"] for row in sorted(calls, key=lambda row: row["number"])]


async def settled(book: Spending, cost: float = 0.001) -> None:
    book.settle(await book.reserve(ASKED), Came.ANSWER, answer(cost), None)


async def under_way(held: "Held | Away") -> None:
    while not held.began.is_set():
        await asyncio.sleep(0.001)


def test_what_is_flushed_is_in_the_store_while_matches_go_on(address: str) -> None:
    async def scene(book: Spending) -> None:
        first, _ = await book.reserve(ASKED), await book.reserve(ASKED)
        book.settle(first, Came.ANSWER, answer(0.001), None)
        book.flush()
        calls, total = ledger(address)
        assert came(calls) == ["answer", None]
        assert total == nano(0.001) + nano(MOST) == sum(map(charge, calls))

    with opened(address) as store:
        asyncio.run(scene(Spending(store, PLAN.hash, 1.0)))


@pytest.mark.parametrize("error", [None, LOCKED])
def test_a_flush_waits_for_what_is_under_way(
    address: str, monkeypatch: pytest.MonkeyPatch, error: StoreError | None
) -> None:
    """Whose reservations the bill then charges, and whose calls it writes where that one could not."""

    async def scene(book: Spending, held: Held) -> None:
        await settled(book)  # taken by the transaction that is held
        later = asyncio.create_task(book.reserve(ASKED))
        await under_way(held)
        held.release_soon(error)
        book.flush()
        if error is not None:
            with pytest.raises(GivenUpError, match="locked"):
                await later
            book.flush()
        calls, total = ledger(address)
        assert came(calls) == ["answer", "nothing" if error else None]
        assert total == sum(map(charge, calls))

    with opened(address) as store:
        asyncio.run(scene(Spending(store, PLAN.hash, 1.0), Held(store, monkeypatch, 1)))


@pytest.mark.parametrize("error", [None, LOCKED])
def test_what_was_under_way_at_the_end_of_a_run_is_not_lost(
    address: str, monkeypatch: pytest.MonkeyPatch, error: StoreError | None
) -> None:
    async def scene(book: Spending, held: Held) -> asyncio.Task[int]:
        await settled(book)
        later = asyncio.create_task(book.reserve(ASKED))
        await under_way(held)
        held.release_soon(error)
        return later  # which is cancelled as the loop ends

    with opened(address) as store:
        book = Spending(store, PLAN.hash, 1.0)
        later = asyncio.run(scene(book, Held(store, monkeypatch, 1)))
        assert later.cancelled()
        book.flush()
        calls, total = ledger(address)
        assert came(calls) == ["answer", "nothing"]
        assert total == sum(map(charge, calls)) == nano(0.001)


def test_another_loop_goes_on_where_one_ended_in_between(address: str) -> None:
    async def broken_off(book: Spending) -> None:
        later = asyncio.create_task(book.reserve(ASKED))
        await asyncio.sleep(0)
        later.cancel()

    with opened(address) as store:
        book = Spending(store, PLAN.hash, 1.0)
        asyncio.run(broken_off(book))
        asyncio.run(settled(book))
        book.flush()
        assert {row["came"] for row in ledger(address)[0]} == {"nothing", "answer"}


def test_a_flush_that_fails_is_made_up_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(address) as store:
        book = Spending(store, PLAN.hash, 1.0)
        asyncio.run(settled(book))
        with monkeypatch.context() as broken:
            broken.setattr(store, "enter", failing)
            with pytest.raises(StoreError, match="locked"):
                book.flush()
        book.flush()
        ((row,), total) = ledger(address)
        assert (row["came"], total) == ("answer", nano(0.001))


def test_a_failure_that_is_over_is_not_said_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where another run was quicker, which is a matter of money."""
    large = Asked(SPEC.version, "ab", 1, 0.6)
    with opened(address) as store:
        run, other = Spending(store, PLAN.hash, 1.0), Spending(store, PLAN.hash, 1.0)
        with monkeypatch.context() as broken:
            broken.setattr(store, "enter", failing)
            with pytest.raises(GivenUpError, match="locked"):
                asyncio.run(run.reserve(ASKED))
        asyncio.run(other.reserve(large))
        with pytest.raises(BudgetSpentError, match=r"nothing of the budget of \$1\.00 is free"):
            asyncio.run(run.reserve(large))
        run.flush()
        assert sum(map(charge, ledger(address)[0])) == ledger(address)[1] == nano(0.6)


def failing(*given: Any) -> tuple[bool, int]:
    raise LOCKED


@pytest.mark.parametrize("budget", [None, 1.0])
def test_only_matches_under_way_are_remembered(store: Store, budget: float | None) -> None:
    async def scene(book: Spending) -> None:
        for match in map(str, range(5)):
            call = await book.reserve(Asked(SPEC.version, match, 1, 0.001))
            assert list(book._ranks) == ([match] if budget else [])
            book.settle(call, Came.ANSWER, answer(0.001), None)
            book.ended(match)
        assert not book._ranks

    store.add_design(PLAN, [SPEC], [])
    asyncio.run(scene(Spending(store, PLAN.hash, budget)))


class Away:
    """A store's transactions, some of which fail as those of a server that is started again: `before`
    they are committed, or after, when nobody can tell."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch, times: int, before: bool) -> None:
        self._enter, self._left, self._before = store.enter, times, before
        self.began, self.released = threading.Event(), threading.Event()
        monkeypatch.setattr(store, "enter", self)
        monkeypatch.setattr(group_commit, "PAUSE_S", 0.01)

    def __call__(self, *given: Any) -> tuple[bool, int]:
        self._left -= 1
        self.began.set()
        assert self.released.wait(30)
        if self._left >= 0 and self._before:
            raise AWAY
        found = self._enter(*given)
        if self._left >= 0:
            raise AWAY
        return found


@pytest.mark.parametrize("before", [True, False])
def test_calls_wait_for_a_store_that_is_away(
    address: str, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """Each is entered once before it is made, but for one that nobody waits for any more."""

    async def scene(book: Spending, away: Away) -> None:
        calls = [asyncio.create_task(book.reserve(ASKED)) for _ in range(3)]
        given_up = asyncio.create_task(book.reserve(ASKED))
        await under_way(away)
        given_up.cancel()
        await asyncio.wait([given_up])
        away.released.set()
        later = asyncio.create_task(book.reserve(ASKED))
        for call in (*calls, later):
            book.settle(await call, Came.ANSWER, answer(0.001), None)

    with opened(address) as store:
        away = Away(store, monkeypatch, 5, before)
        told: list[str | None] = []
        book = Spending(store, PLAN.hash, 1.0, patience=Patience(told.append))
        asyncio.run(scene(book, away))
        book.flush()
        calls, total = ledger(address)
        assert sorted(map(str, came(calls))) == ["answer"] * 4 + ["nothing"]
        assert total == sum(map(charge, calls)) == nano(0.004)
        assert told[0] == str(AWAY)
        assert told[-1] is None


def test_patience_with_a_store_ends(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0.05)
    with opened(address) as store:
        Away(store, monkeypatch, 1_000, before=True).released.set()
        with pytest.raises(GivenUpError, match="started again"):
            asyncio.run(Spending(store, PLAN.hash, 1.0).reserve(ASKED))


def test_a_cache_waits_for_a_store_that_is_away(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that may be there is not paid for again."""
    store.add_design(PLAN, [SPEC], [])
    keeping(first := Spending(store, PLAN.hash, cache=True), 0)
    first.flush()
    find, tries = store.answer, iter([AWAY, AWAY])

    def answer(key: str) -> bytes | None:
        if (error := next(tries, None)) is not None:
            raise error
        return find(key)

    monkeypatch.setattr(patience, "PAUSE_S", 0.0)
    monkeypatch.setattr(store, "answer", answer)
    assert asking(Spending(store, PLAN.hash, cache=True), 0) is not None
