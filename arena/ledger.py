"""The one writer of a tournament: gathers finished matches and commits them in batches."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from arena.record import Drawn, Played
from arena.store import Store, StoreError

COMMIT_S = 0.5
"""A finished match is committed at the latest this long after it was handed over."""
COMMIT_ROWS = 2_000


class Ledger:
    """A buffer in front of the store. Leaving its context commits what it holds."""

    def __init__(self, store: Store, beside: Callable[[], None] = lambda: None) -> None:
        """`beside` is called whenever this commits, and has written its part when it returns."""
        self._store, self._beside = store, beside
        self._known = store.scenario_keys()
        self._scenarios: dict[str, Drawn] = {}
        self._rows: list[Played] = []
        self._due = time.monotonic() + COMMIT_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, StoreError):
            self.flush()

    def add(self, scenario: Drawn, row: Played) -> None:
        """Take a scored match and its scenario."""
        if scenario.key not in self._known:
            self._scenarios[scenario.key] = scenario
        self._rows.append(row)

    def add_void(self, scenario: Drawn, row: Played) -> None:
        """Commit a void attempt at once, so that no crash grants it another try."""
        if scenario.key not in self._known:
            self._scenarios[scenario.key] = scenario
        self.flush()
        self._store.add_void(row)

    def flush_if_due(self) -> None:
        """Commit if it is time or there is much to write."""
        if time.monotonic() >= self._due or len(self._rows) >= COMMIT_ROWS:
            self.flush()

    def flush(self) -> None:
        """Commit everything; first what is beside, so that no match is kept without its calls."""
        self._beside()
        self._store.add_scenarios(self._scenarios.values())
        self._known |= self._scenarios.keys()
        self._scenarios.clear()
        self._store.add_matches(self._rows)
        self._rows.clear()
        self._due = time.monotonic() + COMMIT_S
