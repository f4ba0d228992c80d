"""Where calls to providers are entered: before each, what it may cost, and after it, what came of it.

The arena keeps such a book in its store, with a budget and a cache (`arena/spending.py`); without one,
nothing is limited or kept.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agents.agent import Trouble
from agents.language_model.request import Completion


class Came(StrEnum):
    """What came of a call."""

    ANSWER = "answer"
    """An answer, whatever it was worth."""
    NOTHING = "nothing"
    """No answer, and nothing to pay: it was refused, or nobody was there."""
    UNKNOWN = "unknown"
    """No answer, but the provider may have worked on it: it may be billed at up to its reservation."""
    CACHED = "cached"
    """No call at all: the answer had been kept."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that is about to be made."""

    agent: str
    """The agent's version."""
    match: str | None
    """The match's key; None outside a tournament."""
    number: int
    """1 for the first try of a request, 2 for the second."""
    most_usd: float | None
    """The most it can cost; None where the price is not known."""


class Cache(Protocol):
    """Answers that are kept, by their requests' keys."""

    def alone(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return what lets one request with this key be answered at a time: the others are then
        answered from the cache."""
        ...

    async def known(self, key: str, agent: str, match: str | None) -> Completion | None:
        """Return what is kept under a request's key, marked as such and entered as what `agent` (its
        version) is given in `match` (its key); None where nothing is. Raises agents.agent.GivenUpError
        where that cannot be told."""
        ...

    def keep(self, key: str, completion: Completion) -> None:
        """Keep a completion."""
        ...


class Book(Protocol):
    """A record of calls."""

    @property
    def cache(self) -> Cache | None:
        """Where answers are kept. Where they are not, no request's key is worked out, which takes
        time."""
        ...

    async def reserve(self, asked: Asked) -> int:
        """Enter a call before it is made, and return its number for :meth:`settle`.

        Waits where other calls hold what is left of a budget. Raises agents.agent.BudgetSpentError where
        the budget does not suffice.
        """
        ...

    def settle(
        self, call: int, came: Came, completion: Completion | None, trouble: Trouble | None
    ) -> None:
        """Enter what came of a call: the completion where there is one, else the trouble."""
        ...


class NoBook:
    """Nothing is limited, entered or cached."""

    cache: Cache | None = None

    async def reserve(self, asked: Asked) -> int:
        """Let every call pass."""
        return 0

    def settle(
        self, call: int, came: Came, completion: Completion | None, trouble: Trouble | None
    ) -> None:
        """Enter nothing."""


class Entry:
    """A call in a book, which is settled once."""

    def __init__(self, book: Book, call: int) -> None:
        self._book, self._call = book, call
        self.sent = False
        """Whether it is on its way, so that the provider may work on it."""
        self.settled = False

    def settle(
        self, came: Came, completion: Completion | None = None, trouble: Trouble | None = None
    ) -> None:
        """Enter what came of it."""
        self.settled = True
        self._book.settle(self._call, came, completion, trouble)


@asynccontextmanager
async def entered(book: Book, asked: Asked) -> AsyncGenerator[Entry]:
    """Enter a call for as long as it is waited for and made; one that is broken off, as at the end of
    the run, is settled by whether it was sent."""
    entry = Entry(book, await book.reserve(asked))
    try:
        yield entry
    finally:
        if not entry.settled:
            entry.settle(Came.UNKNOWN if entry.sent else Came.NOTHING)
