"""Calls and answers on their way to the store, in transactions that they share.

One transaction is under way at a time, and each charges what was known when it took what there was: so
the last one that is written is right. One with reservations, which is synced to disk, is written in a
thread, while matches go on.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from agents.agent import GivenUpError
from arena.patience import PAUSE_S, Patience
from arena.store import Bill, Call, StoreError

GROUP_S = 0.02
"""Calls that are about to be made within so many seconds are reserved together."""


class Batch(NamedTuple):
    """What is written in one transaction, as `arena.store.calls.Calls.enter` takes it."""

    bill: Bill
    calls: dict[int, Call]
    reserved: dict[int, Call]
    answers: dict[str, bytes]


class _UnderWay(NamedTuple):
    batch: Batch
    outcome: Future[bool]


class GroupCommit:
    """What one run is yet to write of its calls, and the transactions that write it."""

    def __init__(
        self, bill: Callable[[], Bill], write: Callable[[Batch], bool], patience: Patience
    ) -> None:
        """`bill` gives the run's bill as it is now, without what is reserved. `write` writes a batch, in
        whichever thread, and returns whether its reservations fitted."""
        self._bill, self._write, self._patience = bill, write, patience
        self.calls: dict[int, Call] = {}
        """Calls as they are now."""
        self.reserved: dict[int, Call] = {}
        """Calls about to be made, each by somebody who waits for :meth:`together`."""
        self._waited_for: set[int] = set()
        self.answers: dict[str, bytes] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="group-commit")
        self._under_way: _UnderWay | None = None
        self._next: asyncio.Task[bool | StoreError] | None = None
        """The transaction that takes what is reserved now."""

    def answer(self, key: str) -> bytes | None:
        """Return an answer that the store does not have yet, None where there is none."""
        leaving = {} if self._under_way is None else self._under_way.batch.answers
        return self.answers.get(key) or leaving.get(key)

    async def together(self, call: int) -> bool:
        """Write all there is, with what others reserve within GROUP_S; return whether the reservations,
        that of `call` among them, fitted. Raises GivenUpError where the store cannot be written to."""
        self._waited_for.add(call)
        try:
            outcome = await asyncio.shield(self._following(GROUP_S))
        finally:
            self._waited_for.discard(call)
        if isinstance(outcome, StoreError):
            raise GivenUpError(str(outcome))
        return outcome

    def flush(self, anyway: bool = False) -> None:
        """Write all that nobody waits for before this returns, or the bill alone where that is asked for
        `anyway`. Raises StoreError; what could not be written is there the next time."""
        self._finish()
        if not (self.calls or self.answers or anyway):
            return
        batch = self._take({})
        try:
            self._write(batch)
        except BaseException:
            self._put_back(batch)
            raise
        self._patience.worked()

    def _following(self, pause_s: float) -> "asyncio.Task[bool | StoreError]":
        """Return the transaction that takes what is reserved now, at the latest after `pause_s`."""
        if self._next is None or self._next.done():  # one of a loop that has ended never came to it
            self._next = asyncio.create_task(self._group(pause_s))
        return self._next

    async def _group(self, pause_s: float) -> bool | StoreError:
        """Return what came of a transaction; an error as a value, since whoever waited may have gone."""
        await asyncio.sleep(pause_s)
        if self._under_way is not None:  # more calls gather meanwhile
            ended, _ = await asyncio.wait([asyncio.wrap_future(self._under_way.outcome)])
            ended.pop().exception()  # whoever began it is told; asyncio would tell of it once more
        self._finish()
        self._next, reserved, self.reserved = None, self.reserved, {}
        batch = self._take(reserved)
        self._under_way = _UnderWay(batch, self._thread.submit(self._write, batch))
        try:
            fits = await asyncio.wrap_future(self._under_way.outcome)
        except StoreError as error:
            return await self._again(reserved, error)
        self._patience.worked()
        return fits

    async def _again(self, reserved: dict[int, Call], error: StoreError) -> bool | StoreError:
        """Have what was reserved written by the next transaction, but for calls that nobody waits for
        any more, as long as there is patience; return what comes of it."""
        try:
            self._patience.failed(error)
        except StoreError:
            return error
        still = {call: entry for call, entry in reserved.items() if call in self._waited_for}
        self.reserved = still | self.reserved
        return await asyncio.shield(self._following(PAUSE_S))

    def _finish(self) -> None:
        """Wait for the transaction under way, also where whoever began it is gone, and put back what it
        could not write. Its thread waits for nobody here."""
        if self._under_way is None:
            return
        batch, outcome = self._under_way
        wait([outcome])
        self._under_way = None
        if outcome.cancelled() or outcome.exception() is not None:
            self._put_back(batch)

    def _take(self, reserved: dict[int, Call]) -> Batch:
        batch = Batch(self._bill(), self.calls, reserved, self.answers)
        self.calls, self.answers = {}, {}
        return batch

    def _put_back(self, batch: Batch) -> None:
        """Have a batch written again, but for what has changed since, and without its reservations."""
        self.calls = batch.calls | self.calls
        self.answers = batch.answers | self.answers
