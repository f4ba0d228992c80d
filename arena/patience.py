"""How long a run waits for a database that cannot be used for a while, such as one whose server is
started again. What is played meanwhile is kept in memory."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from agents.agent import GivenUpError
from arena.store import StoreError, Unavailable

PATIENCE_S = 180.0
"""Longer than a server takes to start again, as a rule, and as long as a provider is asked again: this
project's choice."""
PAUSE_S = 0.5
"""Between two tries."""

T = TypeVar("T")


class Patience:
    """Shared by all of a run that use its database. Whoever a transaction failed for tries it again, so
    that each has to bear repeating."""

    def __init__(self, tell: Callable[[str | None], None] = lambda why: None) -> None:
        """`tell` is given why the database cannot be used, at each try, and None when it can again."""
        self._tell = tell
        self._until: float | None = None

    def failed(self, error: StoreError) -> None:
        """Return where it is worth trying again after PAUSE_S. Raises `error` where it is not, or no
        longer."""
        if not isinstance(error, Unavailable):
            raise error
        if self._until is None:
            self._until = time.monotonic() + PATIENCE_S
        self._tell(str(error))
        if time.monotonic() > self._until:
            raise error

    def worked(self) -> None:
        """Note that something was written."""
        if self._until is not None:
            self._until = None
            self._tell(None)

    async def read(self, what: Callable[[], T]) -> T:
        """Return what is read, once that is possible. Raises GivenUpError where it is not."""
        waited = False
        while True:
            try:
                found = what()
            except StoreError as error:
                try:
                    self.failed(error)
                except StoreError:
                    raise GivenUpError(str(error)) from None
                waited = True
                await asyncio.sleep(PAUSE_S)
                continue
            if waited:
                self.worked()
            return found
