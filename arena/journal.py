"""A log of tournaments for people and machines that follow them: JSON lines, one object an event.

It tells of a run; the record is the database. A line is written at once and whole, at the end of the
file, so that others may read along, a kill loses no line that was written, and several runs may share
one file. `docs/tournaments.md` documents the keys.
"""

import json
import os
import stat
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena.errors import UserError
from arena.protocol import Ending
from arena.record import Played, cost_of, tokens_of, utc_now
from arena.tally import Tally

TORN_S = 0.5
"""A last line that is not whole after so long was cut off."""
TORN_CHECKS = 10
_DATABASE = b"SQLite format 3"
"""How a file of SQLite's begins."""


class Journal:
    """A log file that is open for appending. A context; leaving it closes the file."""

    def __init__(self, path: str | Path) -> None:
        """Open or create the file. Raises UserError where it cannot be written, or is no log."""
        self.run = uuid.uuid4().hex[:8]
        """Stands in every line, so that runs that share a file can be told apart."""
        self.failure: str | None = None
        """Why lines are missing, where one could not be written."""
        self._names: Mapping[str, str] = {}
        self._torn = False
        try:
            self._file = os.open(path, os.O_APPEND | os.O_CREAT | _access(path), 0o666)
        except OSError as error:
            raise UserError(f"--log-file: cannot write {path}: {error.strerror}") from None
        if stat.S_ISREG(os.fstat(self._file).st_mode):
            self._continue(path)

    def _continue(self, path: str | Path) -> None:
        """Make sure that lines may follow what is in the file: a log, the last line of which may have
        been cut off by a power cut."""
        size = os.fstat(self._file).st_size
        if size == 0:
            return
        start = os.pread(self._file, len(_DATABASE), 0)
        if start[:1] not in (b"{", b"\n"):
            os.close(self._file)
            found = "is a database" if start == _DATABASE else "holds something else"
            raise UserError(f"--log-file: {path} {found}, and is left as it is: name another file")
        if self._ends_torn():
            os.write(self._file, b"\n")

    def _ends_torn(self) -> bool:
        """Return whether the last line is cut off, and not one that another run is just writing."""
        for _ in range(TORN_CHECKS):
            size = os.fstat(self._file).st_size
            if os.pread(self._file, 1, size - 1) == b"\n":
                return False
            time.sleep(TORN_S / TORN_CHECKS)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def start(self, names: Mapping[str, str], **content: object) -> None:
        """Write that a run started. `names`: of its agents, by version."""
        self._names = names
        self.write("run_started", **content)

    def match(self, scenario: str, row: Played, *, replay: bool) -> None:
        """Write a match that is finished, or a void attempt at one; `scenario` is its label."""
        void = Ending(row.ending).void
        content: dict[str, Any] = {
            "key": row.key,
            "seller": self._names.get(row.seller_version),
            "buyer": self._names.get(row.buyer_version),
            "scenario": scenario,
            "opener": row.opener,
            "replicate": row.replicate,
            "replay": replay,
            "ending": row.ending,
            "at_fault": row.at_fault,
        }
        if void:
            content |= {"trouble": row.trouble, "detail": row.detail}
        else:
            content |= {"seller_utility": row.seller_utility, "buyer_utility": row.buyer_utility}
        self.write(
            "void_attempt" if void else "match_finished",
            **content,
            turns=row.turns,
            faults=row.seller_faults + row.buyer_faults,
            tokens=tokens_of(row),
            cost_usd=cost_of(row),
            started_at=row.started_at,
            seconds=round(row.seconds, 6),
        )

    def set_aside(self, tally: Tally) -> None:
        """Write that an agent plays no more in this run."""
        assert tally.set_aside is not None
        why = {"detail": tally.set_aside.detail, "trouble": tally.set_aside.trouble}
        self.write("agent_set_aside", agent=tally.name, version=tally.version, **why)

    def write(self, event: str, **content: object) -> None:
        """Append one event, with its time and run. What cannot be written is noted in `failure`: a full
        disk is no reason to end a tournament."""
        content = {"at": utc_now(), "run": self.run, "event": event, **content}
        line = ("\n" if self._torn else "") + json.dumps(content) + "\n"
        try:
            self._torn = os.write(self._file, line.encode()) < len(line)
        except OSError as error:
            self.failure = self.failure or (error.strerror or str(error))


def _access(path: str | Path) -> int:
    """Return how to open `path`: a file is looked at, too; pipes and devices are only written."""
    return os.O_WRONLY if os.path.exists(path) and not os.path.isfile(path) else os.O_RDWR
