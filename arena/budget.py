"""What calls may cost together: held for each before it is made, charged after it.

Amounts are whole billionths of a US dollar.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from agents.agent import BudgetSpentError
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


class Elsewhere(NamedTuple):
    """What the other runs of a design are charged."""

    charged: int = 0
    reserved: int = 0
    """The part of it that is held for calls under way, or cut off when their process was killed."""


class Budget:
    """What one run of a design spends, under a ceiling on all its runs (None: without one)."""

    def __init__(
        self, ceiling: int | None = None, look: Callable[[], Elsewhere] = lambda: Elsewhere()
    ) -> None:
        """`look` tells what the design's other runs are charged now."""
        self.ceiling, self._look = ceiling, look
        self.elsewhere = look()
        self.known = 0
        """What this run's calls cost, as far as that is known."""
        self.unknown = 0
        """What those of its calls whose cost will not be known can have cost."""
        self.held = 0
        """What calls under way can cost."""
        self._waiting: list[tuple[int, int, int, str, asyncio.Future[None]]] = []
        """A heap: rank, number, most, the agent, and what is told when it is let in."""
        self._came = 0
        self._spent: set[str] = set()
        """Agents for whose calls too little was left."""

    @property
    def charged(self) -> int:
        """What this run's settled calls are charged."""
        return self.known + self.unknown

    @property
    def gone(self) -> int:
        """What is charged for good."""
        return self.elsewhere.charged - self.elsewhere.reserved + self.charged

    def refresh(self) -> None:
        """Look what the design's other runs are charged now."""
        self.elsewhere = self._look()

    async def hold(self, most: int, rank: int = 0, agent: str = "") -> None:
        """Hold what a call of an agent can cost at most; wait where other calls hold what is left.

        Whoever waits is let in by `rank`, the lowest first, and then in the order in which they came.
        Raises BudgetSpentError where no call holds anything and the first of them does not fit; from
        then on, no call of its agent does, so that none of its matches is begun in vain.
        """
        if most == 0:
            return  # a call that is free waits for nobody
        if agent in self._spent:
            raise BudgetSpentError(self._words(most), agent)
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._came += 1
        heappush(self._waiting, (rank, self._came, most, agent, admitted))
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
            *_, most, agent, admitted = self._waiting[0]
            if not admitted.done():
                if self._admits(most, agent):
                    admitted.set_result(None)
                elif agent in self._spent:
                    admitted.set_exception(BudgetSpentError(self._words(most), agent))
                else:
                    return
            heappop(self._waiting)

    def _admits(self, most: int, agent: str) -> bool:
        """Hold `most` if it fits, and return whether it does."""
        if agent in self._spent:
            return False
        if not self._fits(most) and not self.held:
            self.refresh()  # another run may have given something back
            if not self._fits(most):
                self._spent.add(agent)
        if agent in self._spent or not self._fits(most):
            return False
        self.held += most
        return True

    def _fits(self, most: int) -> bool:
        return self.ceiling is None or (
            self.elsewhere.charged + self.charged + self.held + most <= self.ceiling
        )

    def _words(self, most: int) -> str:
        assert self.ceiling is not None
        budget, reserved = f"the budget of {dollars(usd(self.ceiling))}", self.elsewhere.reserved
        back = reserved and self.gone + most <= self.ceiling
        state = f"nothing of {budget} is free" if back else f"{budget} is spent"
        unknown = f" (up to {dollars(usd(self.unknown))} of it on calls of unknown outcome)"
        return (
            f"{state}: {dollars(usd(self.gone))} is gone{unknown if self.unknown else ''}"
            f"{elsewhere_words(reserved)}, and the next call can cost {dollars(usd(most))}; what was "
            "played is kept: "
            + ("go on when that run has ended, or raise --budget" if back else "raise --budget to go on")
        )


def elsewhere_words(reserved: int) -> str:
    """Say what other runs of a design hold; nothing where they hold nothing. Whether a run is alive
    nobody can tell from here."""
    if not reserved:
        return ""
    held = dollars(usd(reserved))
    return f", {held} is reserved by calls under way in another run (or cut off when it was killed)"
