"""A run's book of calls to providers: a budget, a record, and a cache, kept in the store.

Under a budget a call is in the store before it is made, so that one that was made is never forgotten,
however the run ends; calls that are about to be made at the same time share a transaction. Without one,
calls are written just before the ledger's commits, as their outcomes and answers are at the latest.
"""

import asyncio
import json
import secrets
import zlib
from collections import defaultdict
from contextlib import AbstractAsyncContextManager, suppress
from itertools import count
from weakref import WeakValueDictionary

from agents.agent import Trouble, Usage
from agents.language_model.book import Asked, Came
from agents.language_model.request import Completion
from arena.budget import Account, Budget, Elsewhere
from arena.group_commit import Batch, GroupCommit
from arena.money import nano, nano_within
from arena.patience import Patience
from arena.record import utc_now
from arena.store import Bill, Call, Store, StoreError


class Spending:
    """The :class:`agents.language_model.book.Book` of one run of a design."""

    def __init__(
        self,
        store: Store,
        design_hash: str,
        budget_usd: float | None = None,
        cache: bool = False,
        drift: float = 0.0,
        patience: Patience | None = None,
    ) -> None:
        """Read what the design's runs have spent so far; nothing is written yet. `drift` is noted."""
        self._patience = patience or Patience()
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
        self._begun = count()
        self._ranks: dict[str | None, int] = {}
        """In which order the matches under way began."""
        self._open: dict[int, Call] = {}
        """Calls that are not settled."""
        self._charged: set[int] = set()
        """Those of them that the bill charges: all but those that a transaction is yet to let in."""
        self._group = GroupCommit(self._bill_now, self._write, self._patience)
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def reserve(self, asked: Asked) -> int:
        """Enter a call, under a budget durably; return its number for :meth:`settle`.

        Waits where other calls hold what is left of the budget. Raises BudgetSpentError where it does
        not suffice, and GivenUpError where the store cannot be written to.
        """
        most = None if asked.most_usd is None else nano(asked.most_usd)
        if self.budget.ceiling is None:
            await self.budget.hold(most or 0)
            call = self._enter(asked, most)
            self._group.calls[call] = self._open[call]
            self._charged.add(call)
            return call
        # What is left goes to the matches that began first, so that some are played to their end.
        rank = self._ranks.setdefault(asked.match, next(self._begun))
        while True:
            await self.budget.hold(most or 0, rank, asked.agent)
            call = self._enter(asked, most)
            self._group.reserved[call] = self._open[call]
            try:
                if await self._group.together(call):
                    return call
            except BaseException:  # its match is given up, and the call with it
                self.settle(call, Came.NOTHING, None, None)
                raise
            # Another run of the design was quicker.
            self.budget.release(self._open.pop(call).most_nano or 0)

    def settle(
        self, call: int, came: Came, completion: Completion | None, trouble: Trouble | None
    ) -> None:
        """Enter what came of a call; without a known cost it is charged the most that it could cost."""
        entry = self._open.pop(call)
        self._group.reserved.pop(call, None)
        usage = completion.usage if completion is not None else Usage()
        cost = None if usage.cost_usd is None else nano(usage.cost_usd)
        cost = 0 if came is Came.NOTHING else cost
        self.budget.release(entry.most_nano or 0, cost)
        self.accounts[entry.agent_version].charge(entry.most_nano, cost)
        self._group.calls[call] = entry._replace(
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

    async def known(self, key: str, agent: str, match: str | None) -> Completion | None:
        """Return a cached answer, marked, at no cost, with its tokens and latency of when it was given;
        None where there is none. Raises GivenUpError where the store cannot be read."""
        blob = self._group.answer(key) or await self._patience.read(lambda: self._store.answer(key))
        if blob is None:
            return None
        found = _read(blob)
        self._count += 1
        usage = found.usage
        self._group.calls[self._count] = Call(
            *(self._bill, self._count, agent, match, 1, utc_now(), Came.CACHED, None, None, 0),
            *(usage.input_tokens, usage.output_tokens),
        )
        return found

    def keep(self, key: str, completion: Completion) -> None:
        """Cache a completion."""
        self._group.answers[key] = _written(completion)

    def ended(self, match: str) -> None:
        """Forget where a match stood in the order, which has ended; it may be begun again."""
        self._ranks.pop(match, None)

    def flush(self) -> None:
        """Write what came of calls, and answers, before this returns. Raises StoreError."""
        self._group.flush(anyway=self._to_note)

    def _enter(self, asked: Asked, most: int | None) -> int:
        self._count += 1
        who = (self._bill, self._count, asked.agent, asked.match, asked.number, utc_now())
        self._open[self._count] = Call(*who, most_nano=most)
        return self._count

    def _bill_now(self) -> Bill:
        self._charged &= self._open.keys()
        under_way = sum(self._open[call].most_nano or 0 for call in self._charged)
        charged = self.budget.charged + under_way
        return Bill(self._bill, self._design, self._began, charged, *self._how)

    def _write(self, batch: Batch) -> bool:
        """Write a batch; sync to disk what is reserved. No bill is asked for meanwhile."""
        fits, others = self._store.enter(
            batch.bill,
            batch.calls.values(),
            list(batch.reserved.values()),
            batch.answers.items(),
            self.budget.ceiling if batch.reserved else None,
        )
        self._to_note = False
        self.budget.elsewhere = self.budget.elsewhere._replace(charged=others)
        if fits:
            self._charged.update(batch.reserved)
        return fits

    def _look(self) -> Elsewhere:
        """Return what the design's other runs are charged; as of the last time where the store cannot
        be read."""
        with suppress(StoreError):
            self._elsewhere = Elsewhere(*self._store.charged(self._design, self._bill))
        return self._elsewhere


def _written(completion: Completion) -> bytes:
    return zlib.compress(json.dumps(completion).encode(), 1)


def _read(blob: bytes) -> Completion:
    kept = Completion(*json.loads(zlib.decompress(blob)))
    return kept._replace(usage=Usage(*kept.usage)._replace(cost_usd=0.0, cached=True))
