"""What a check of the record looked at, and what it found."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from arena.store.measuring import DAMAGED

CHUNK = 500
"""Rows in memory at a time."""
EXAMPLES = 3
"""Of what is wrong, so many are named."""
UNREADABLE = (*DAMAGED, AttributeError)
"""What reading content raises that is damaged, or of another shape."""
RESTORE = "restore it from a copy, such as arena.db.backup-... or one that arena db copy made"
"""What can be done about most of it: nothing here is ever written twice."""

Progress = Callable[[int, int], None]
"""Is told how many rows were looked at, and of how many."""


@dataclass
class Check:
    """One thing that was looked at; `remedy` is what to do where something was found."""

    what: str
    remedy: str
    looked_at: int = 0
    """Rows."""
    wrong: int = 0
    """Those of them that something is wrong with."""
    examples: list[str] = field(default_factory=list)
    """The first EXAMPLES of them, each with what is wrong."""

    def note(self, which: str, problem: str | None) -> bool:
        """Count a row, with what is wrong with it, None for nothing; return whether nothing is."""
        self.looked_at += 1
        if problem is not None:
            self.wrong += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append(f"{which}: {problem}")
        return problem is None

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON-ready data."""
        return {
            "check": self.what,
            "looked_at": self.looked_at,
            "wrong": self.wrong,
            "examples": self.examples,
            "remedy": self.remedy if self.wrong else "",
        }


class Looking:
    """A reading of the record that counts how far it is."""

    def __init__(self, connection: sa.Connection, total: int, progress: Progress | None) -> None:
        """`total`: rows that there are to look at."""
        self.connection = connection
        self._total, self._done, self._progress = total, 0, progress

    def rows(self, query: sa.Select[Any], at_once: int = CHUNK) -> Generator[Any]:
        """Yield the rows of a query as they are asked for, so many in memory at a time."""
        found: Any = self.connection.execute(query.execution_options(yield_per=at_once))
        for rows in found.partitions():
            yield from rows
            self._done += len(rows)
            if self._progress is not None:
                self._progress(self._done, self._total)

    def each(
        self, check: Check, query: sa.Select[Any], judge: Callable[[Any], str | None], *name: str
    ) -> Check:
        """Judge each row of a query, which is called by what stands in the columns `name`; content that
        cannot be read is wrong."""
        for row in self.rows(query):
            check.note(" ".join(str(getattr(row, part)) for part in name), judged(judge, row))
        return check


def judged(judge: Callable[[Any], str | None], row: Any) -> str | None:
    """Return what is wrong with a row; None for nothing."""
    try:
        return judge(row)
    except UNREADABLE as error:
        return f"cannot be read ({' '.join(str(error).split())[:80] or type(error).__name__})"


def missing(wanted: Iterable[str], there: Iterable[str], where: str) -> str | None:
    """Return what is wrong where a name is not among those that are there; None for nothing."""
    absent = sorted({*wanted} - {*there})
    return f"{absent[0]} is not in {where}" if absent else None
