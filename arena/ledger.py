"""The one writer of a tournament: gathers finished matches and commits them in batches."""

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from arena.patience import PAUSE_S, Patience
from arena.record import Drawn, Played
from arena.store import Store, StoreError

COMMIT_S = 0.5
"""A finished match is committed at the latest this long after it was handed over."""
COMMIT_ROWS = 2_000
"""So many are committed at once; where the database cannot be used, no more are played meanwhile."""


class Ledger:
    """A buffer in front of the store. Leaving its context commits what it holds."""

    def __init__(
        self,
        store: Store,
        beside: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
    ) -> None:
        """`beside` is called whenever this commits, and has written its part when it returns; like this,
        it has the rest ready for another try where it raises StoreError."""
        self._store, self._beside = store, beside
        self._patience = patience or Patience()
        self._known = store.scenario_keys()
        self._scenarios: dict[str, Drawn] = {}
        self._rows: list[Played] = []
        self._voids: deque[Played] = deque()
        self._again = False
        """Whether it is not known what came of the last try."""
        self._due = time.monotonic() + COMMIT_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            while not self._tried():
                time.sleep(PAUSE_S)
        elif not isinstance(error, StoreError):
            self.flush()

    @property
    def unwritten(self) -> list[Played]:
        """Scored matches that are not committed."""
        return self._rows

    def add(self, scenario: Drawn, row: Played) -> None:
        """Take a scored match and its scenario."""
        if scenario.key not in self._known:
            self._scenarios[scenario.key] = scenario
        self._rows.append(row)

    def add_void(self, scenario: Drawn, row: Played) -> None:
        """Commit a void attempt at once, if that is possible, so that no crash grants it another try."""
        if scenario.key not in self._known:
            self._scenarios[scenario.key] = scenario
        self._voids.append(row)
        self._tried()

    def flush_if_due(self) -> None:
        """Commit if it is time or there is much to write. Where the database cannot be used for a while,
        what there is is kept for the next time; where that is much, this waits. Raises StoreError."""
        if time.monotonic() >= self._due or len(self._rows) >= COMMIT_ROWS:
            while not self._tried() and len(self._rows) >= COMMIT_ROWS:
                time.sleep(PAUSE_S)

    def flush(self) -> None:
        """Commit everything; first what is beside, so that no match is kept without its calls. Raises
        StoreError; what could not be written is there the next time."""
        self._beside()
        anything = bool(self._scenarios or self._rows or self._voids)
        self._store.add_scenarios(self._scenarios.values())
        self._known |= self._scenarios.keys()
        self._scenarios.clear()
        self._store.add_matches(self._rows)
        self._rows.clear()
        while self._voids:
            self._store.add_void(self._voids[0], again=self._again)
            self._voids.popleft()
        if anything:
            self._patience.worked()
        self._again = False
        self._due = time.monotonic() + COMMIT_S

    def _tried(self) -> bool:
        """Commit everything, and return whether that was possible. Raises StoreError where it is not
        going to be."""
        try:
            self.flush()
        except StoreError as error:
            self._again = True
            self._patience.failed(error)
            self._due = time.monotonic() + PAUSE_S
            return False
        return True
