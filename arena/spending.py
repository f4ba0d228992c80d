"""A run's book of calls to providers: a budget, a record, and a cache, kept in the store.

Under a budget a call is in the store before it is made, so that one that was made is never forgotten,
however the run ends; calls that are about to be made at the same time share a transaction. Without one,
calls are written with the ledger's commits, as their outcomes and answers always are.
"""

import asyncio
import json
import secrets
import zlib
from collections import defaultdict
from contextlib import AbstractAsyncContextManager, suppress
from typing import NamedTuple
from weakref import WeakValueDictionary

from agents.agent import GivenUpError, Trouble, Usage
from agents.language_model.book import Asked, Came
from agents.language_model.request import Completion
from arena.budget import Account, Budget, Elsewhere
from arena.money import nano, nano_within
from arena.record import utc_now
from arena.store import Bill, Call, Store, StoreError

GROUP_S = 0.02
"""Calls that are about to be made within so many seconds are entered together."""


class _Batch(NamedTuple):
    """What is written in one transaction, as `arena.store.calls.Calls.enter` takes it."""

    bill: Bill
    settled: dict[int, Call]
    reserved: dict[int, Call]
    answers: dict[str, bytes]


class Spending:
    """The :class:`agents.language_model.book.Book` of one run of a design."""

    def __init__(
        self,
        store: Store,
        design_hash: str,
        budget_usd: float | None = None,
        cache: bool = False,
        drift: float = 0.0,
    ) -> None:
        """Read what the design's runs have spent so far; nothing is written yet. `drift` is noted."""
        ceiling = None if budget_usd is None else nano_within(budget_usd)
        self._store, self._design = store, design_hash
        self.cache = self if cache else None
        self._bill, self._began = secrets.token_hex(6), utc_now()
        self._how = ceiling, cache, drift
        self._to_note = ceiling is not None
        """Whether a budget is not on record yet, which it is to be before anything is spent of it."""
        self._elsewhere = Elsewhere()
        self.budget = Budget(ceiling, self._look)
        self.accounts: defaultdict[str, Account] = defaultdict(Account)
        """What this run's calls came to, by the agent's version; they grow as calls are settled."""
        self._count = 0
        self._ranks: dict[str | None, int] = {}
        self._open: dict[int, Call] = {}
        """Calls that are not settled."""
        self._reserved: dict[int, Call] = {}
        """Those of them that no transaction has taken yet."""
        self._settled: dict[int, Call] = {}
        self._answers: dict[str, bytes] = {}
        self._leaving: dict[str, bytes] = {}
        """Those that a transaction under way writes."""
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._one_at_a_time = asyncio.Lock()
        self._next: asyncio.Task[bool] | None = None
        """The transaction that takes what is entered now."""
        self._failed: str | None = None

    async def reserve(self, asked: Asked) -> int:
        """Enter a call, under a budget durably; return its number for :meth:`settle`.

        Waits where other calls hold what is left of the budget. Raises BudgetSpentError where it does
        not suffice, and GivenUpError where the store cannot be written to.
        """
        most = None if asked.most_usd is None else nano(asked.most_usd)
        # What is left goes to the matches that began first, so that some are played to their end.
        rank = self._ranks.setdefault(asked.match, len(self._ranks))
        while True:
            await self.budget.hold(most or 0, rank, asked.agent)
            call = self._enter(asked, most)
            if self.budget.ceiling is None:
                return call
            try:
                if await asyncio.shield(self._write_soon()):
                    return call
            except BaseException:  # its match is given up, and the call with it
                self.settle(call, Came.NOTHING, None, None)
                raise
            self._drop(call)  # another run of the design was quicker
            if self._failed is not None:
                raise GivenUpError(self._failed)

    def settle(
        self, call: int, came: Came, completion: Completion | None, trouble: Trouble | None
    ) -> None:
        """Enter what came of a call; without a known cost it is charged the most that it could cost."""
        entry = self._open.pop(call)
        self._reserved.pop(call, None)
        usage = completion.usage if completion is not None else Usage()
        cost = None if usage.cost_usd is None else nano(usage.cost_usd)
        cost = 0 if came is Came.NOTHING else cost
        self.budget.release(entry.most_nano or 0, cost)
        self.accounts[entry.agent_version].charge(entry.most_nano, cost)
        self._settled[call] = entry._replace(
            came=came,
            trouble=trouble,
            cost_nano=cost,
            tokens_in=usage.input_tokens,
            tokens_out=usage.output_tokens,
            latency_s=usage.latency_s,
        )

    def alone(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return what lets one request with this key be answered at a time: whoever asks the same at the
        same time is given the same answer."""
        return self._asking.setdefault(key, asyncio.Lock())

    def known(self, key: str, agent: str, match: str | None) -> Completion | None:
        """Return a cached answer, marked, at no cost, with its tokens and latency of when it was given;
        None where there is none."""
        blob = self._answers.get(key) or self._leaving.get(key) or self._store.answer(key)
        if blob is None:
            return None
        found = _read(blob)
        self._count += 1
        usage = found.usage
        self._settled[self._count] = Call(
            *(self._bill, self._count, agent, match, 1, utc_now(), Came.CACHED, None, None, 0),
            *(usage.input_tokens, usage.output_tokens),
        )
        return found

    def keep(self, key: str, completion: Completion) -> None:
        """Cache a completion."""
        self._answers[key] = _written(completion)

    def flush(self) -> None:
        """Write what is not written yet: at once, or soon where a budget has a transaction of its own
        under way."""
        if not (self._settled or self._reserved or self._answers or self._to_note):
            return
        if self.budget.ceiling is not None and _looping():
            self._write_soon()
            return
        self._next = None
        self._write(self._take())

    def _enter(self, asked: Asked, most: int | None) -> int:
        self._count += 1
        who = (self._bill, self._count, asked.agent, asked.match, asked.number, utc_now())
        self._open[self._count] = self._reserved[self._count] = Call(*who, most_nano=most)
        return self._count

    def _drop(self, call: int) -> None:
        self._reserved.pop(call, None)
        self.budget.release(self._open.pop(call).most_nano or 0)

    def _write_soon(self) -> "asyncio.Task[bool]":
        if self._next is None:
            self._next = asyncio.create_task(self._write_group())
        return self._next

    async def _write_group(self) -> bool:
        """Write what is entered within GROUP_S; return whether the reservations fitted."""
        await asyncio.sleep(GROUP_S)
        async with self._one_at_a_time:
            self._next = None
            batch = self._take()
            try:
                return await asyncio.to_thread(self._write, batch)
            except StoreError as error:
                self._failed = str(error)
                self._settled = batch.settled | self._settled
                self._answers = batch.answers | self._answers
                return False

    def _take(self) -> _Batch:
        """Return what is to be written, and take it off the lists."""
        under_way = sum(call.most_nano or 0 for call in self._open.values())
        new = sum(call.most_nano or 0 for call in self._reserved.values())
        charged = self.budget.charged + under_way - new
        bill = Bill(self._bill, self._design, self._began, charged, *self._how)
        batch = _Batch(bill, self._settled, self._reserved, self._answers)
        self._settled, self._reserved, self._answers, self._leaving = {}, {}, {}, self._answers
        self._to_note = False
        return batch

    def _write(self, batch: _Batch) -> bool:
        fits, others = self._store.enter(
            batch.bill,
            batch.settled.values(),
            list(batch.reserved.values()),
            batch.answers.items(),
            self.budget.ceiling,
        )
        self.budget.elsewhere = self.budget.elsewhere._replace(charged=others)
        return fits

    def _look(self) -> Elsewhere:
        """Return what the design's other runs are charged; as of the last time where the store cannot
        be read."""
        with suppress(StoreError):
            self._elsewhere = Elsewhere(*self._store.charged(self._design, self._bill))
        return self._elsewhere


def _looping() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _written(completion: Completion) -> bytes:
    return zlib.compress(json.dumps(completion).encode(), 1)


def _read(blob: bytes) -> Completion:
    kept = Completion(*json.loads(zlib.decompress(blob)))
    return kept._replace(usage=Usage(*kept.usage)._replace(cost_usd=0.0, cached=True))
