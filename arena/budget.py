"""What calls may cost together: held for each before it is made, charged after it.

Amounts are whole billionths of a US dollar.
"""

import asyncio
from dataclasses import dataclass
from heapq import heappop, heappush

from agents.agent import GivenUpError
from arena.money import dollars, usd

GRACE_S = 0.05
"""What a call has left is given to others so much later: longer than a match takes to ask again."""


@dataclass
class Account:
    """What one agent's calls came to in one run, failed tries included."""

    known: int = 0
    """What they cost, as far as that is known."""
    unknown: int = 0
    """What those whose cost will not be known can have cost."""
    unpriced: int = 0
    """Calls that may have cost something, at a price that is not known."""

    def charge(self, most: int | None, cost: int | None) -> None:
        """Charge a call what it cost; where that is None, what it can have cost `most`."""
        if cost is not None:
            self.known += cost
        elif most is not None:
            self.unknown += most
        else:
            self.unpriced += 1


class Budget:
    """What one run of a design spends, under a ceiling on all its runs (None: without one)."""

    def __init__(self, ceiling: int | None = None, others: int = 0) -> None:
        """`others`: what the design's other runs are charged."""
        self.ceiling, self.others = ceiling, others
        self.known = 0
        """What this run's calls cost, as far as that is known."""
        self.unknown = 0
        """What those of its calls whose cost will not be known can have cost."""
        self.held = 0
        """What calls under way can cost."""
        self._waiting: list[tuple[int, int, int, asyncio.Future[None]]] = []
        """A heap: rank, number, most, and what is told when it is let in."""
        self._came = 0
        self._spent = False

    @property
    def charged(self) -> int:
        """What this run's settled calls are charged."""
        return self.known + self.unknown

    async def hold(self, most: int, rank: int = 0) -> None:
        """Hold what a call can cost at most; wait where other calls hold what is left.

        Whoever waits is let in by `rank`, the lowest first, and then in the order in which they came.
        Raises GivenUpError where no call holds anything and the first of them does not fit; from then
        on, nothing fits.
        """
        if most == 0:
            return  # a call that is free waits for nobody
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._came += 1
        heappush(self._waiting, (rank, self._came, most, admitted))
        if self._waiting[0][-1] is admitted:
            self._admit()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled() and admitted.exception() is None:
                self.release(most)  # it was let in while its match was being given up
            raise

    def release(self, most: int, cost: int | None = 0) -> None:
        """Charge a call that held `most` what it cost (None: that is not known), and let others in, but
        a moment later: the next call of its rank may be about to come."""
        self.held -= most
        if cost is None:
            self.unknown += most
        else:
            self.known += cost
        if self._waiting:
            self._waiting[0][-1].get_loop().call_later(GRACE_S, self._admit)

    def _admit(self) -> None:
        """Let in whoever waits, as far as it fits; tell all of them where that cannot come about."""
        while self._waiting:
            *_, most, admitted = self._waiting[0]
            if not admitted.done():
                if self._admits(most):
                    admitted.set_result(None)
                elif self._spent:
                    admitted.set_exception(GivenUpError(self._words(most)))
                else:
                    return
            heappop(self._waiting)

    def _admits(self, most: int) -> bool:
        """Hold `most` if it fits, and return whether it does."""
        if self.ceiling is None or (
            not self._spent and self.others + self.charged + self.held + most <= self.ceiling
        ):
            self.held += most
            return True
        self._spent = self._spent or not self.held
        return False

    def _words(self, most: int) -> str:
        assert self.ceiling is not None
        total = dollars(usd(self.others + self.charged))
        of_it = f" (up to {dollars(usd(self.unknown))} of it on calls of unknown outcome)"
        return (
            f"the budget of {dollars(usd(self.ceiling))} is spent: {total} is gone"
            f"{of_it if self.unknown else ''}, and the next call can cost {dollars(usd(most))}; what "
            "was played is kept: raise --budget to go on"
        )
