"""What storing and planning very many matches takes, beside plain sqlite3 on the same rows.

    python -m tests.benchmarks.store

stores ARENA_BENCHMARK_MATCHES finished matches (a million unless that says otherwise) with transcripts,
measures and packs, 2,000 at a time, as a tournament commits them. Each batch is then put by plain
``sqlite3.executemany``, in one transaction, into two tables of a file of its own that has nothing but
the keys for an index. Then a tournament of them all is planned that finds them all there, beside plain
sqlite3 reading what tells a match's place of each row; and one that finds nothing. Times are of the
processor; what the clock said stands beside them. ARENA_BENCHMARKS names a file to write the figures to
as JSON.
"""

import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from arena.record import Played
from arena.store import Store
from arena.tournament import Tournament
from tests.benchmarks import many
from tests.benchmarks.figures import Figure, lines, show

MATCHES = int(os.environ.get("ARENA_BENCHMARK_MATCHES", "1000000"))
COLUMNS = Played._fields[:-3]
PLACE = "scenario_key, opener, seller_version, buyer_version, replicate, withdrawn_at"


class Taken:
    """Seconds that some work took, added up."""

    def __init__(self) -> None:
        self.cpu_seconds = self.seconds = 0.0

    def by(self, work: Callable[[], Any]) -> Any:
        """Do the work; return what it returns."""
        clock, cpu = time.perf_counter(), time.process_time()
        found = work()
        self.cpu_seconds += time.process_time() - cpu
        self.seconds += time.perf_counter() - clock
        return found


def plain(path: Path) -> sqlite3.Connection:
    """Return a connection to a new file with the two tables, set as ours is."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute(f"CREATE TABLE matches ({', '.join(COLUMNS)}, withdrawn_at, PRIMARY KEY (key))")
    connection.execute("CREATE TABLE measures (key PRIMARY KEY, content, words) WITHOUT ROWID")
    return connection


def put(connection: sqlite3.Connection, rows: Sequence[Played]) -> None:
    """Insert the rows in one transaction."""
    connection.execute("BEGIN")
    places = ", ".join("?" * len(COLUMNS))
    connection.executemany(
        f"INSERT INTO matches ({', '.join(COLUMNS)}) VALUES ({places})",
        [row[: len(COLUMNS)] for row in rows],
    )
    connection.executemany(
        "INSERT INTO measures VALUES (?, ?, ?)", [(row.key, row.measures, row.words) for row in rows]
    )
    connection.execute("COMMIT")


def stored(folder: Path, matches: int) -> dict[str, Any]:
    """Store about so many matches both ways; return what it took, and the bytes of each file."""
    ours, theirs, count = Taken(), Taken(), 0
    files = [folder / "ours.db", folder / "theirs.db"]
    with Store.open(str(files[0])) as store, closing(plain(files[1])) as other:
        played = many.frozen(store, matches)
        for batch in many.batches(played):
            rows = [match.row for match in batch]
            ours.by(lambda batch=batch: many.add(store, batch))
            theirs.by(lambda rows=rows: put(other, rows))
            count += len(batch)
    return {"matches": count, "ours": vars(ours), "theirs": vars(theirs), "bytes": [*map(_size, files)]}


def planned(folder: Path, matches: int) -> dict[str, Any]:
    """Plan a tournament of the stored matches, and one that nobody played; return what it took."""
    none, all_, theirs = Taken(), Taken(), Taken()
    with Store.open(str(folder / "none.db")) as store:
        played = many.lineup(store, matches)
        todo = none.by(lambda: Tournament(store, played)).quick
    with Store.open(str(folder / "ours.db")) as store:
        again = many.lineup(store, matches)
        summary = all_.by(lambda: Tournament(store, again)).summary
    with closing(sqlite3.connect(folder / "theirs.db")) as other:
        theirs.by(lambda: sum(1 for _ in other.execute(f"SELECT {PLACE} FROM matches")))
    return {
        "todo": todo,
        "already": summary.already,
        "none": vars(none),
        "ours": vars(all_),
        "theirs": vars(theirs),
    }


def compare(matches: int = MATCHES) -> dict[str, Any]:
    """Return all figures, of about so many matches."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {"stored": stored(folder, matches), "planned": planned(folder, matches)}


def shown(result: Mapping[str, Any]) -> list[Figure]:
    """Return the rows of the table."""
    put, plan = result["stored"], result["planned"]
    count, million = put["matches"], put["matches"] / 1e6
    clock = count / put["ours"]["seconds"]
    rates = [count / put[side]["cpu_seconds"] for side in ("ours", "theirs")]
    sizes = [size / count for size in put["bytes"]]
    times = [plan[side]["cpu_seconds"] / million for side in ("ours", "theirs", "none")]
    of = f"{count:,} matches with their turns"
    how = f"{of}, {many.BATCH:,} a transaction; {clock:,.0f} a second by the clock"
    peer = "sqlite3, the same rows"
    reading = "sqlite3, reading six columns of each"
    return [
        Figure(
            "storing matches",
            *(rates[0], "matches / CPU s", peer, rates[1], rates[0] / rates[1]),
            least=5_000,
            absolute=True,
            conditions=how,
        ),
        Figure("a match in the file", sizes[0], "bytes", peer, sizes[1], sizes[1] / sizes[0]),
        Figure(
            "planning a million",
            *(times[0], "CPU s", reading, times[1], times[1] / times[0]),
            most=10,
            absolute=True,
            conditions=f"{of}, all there",
        ),
        Figure("planning a million anew", times[2], "CPU s", conditions="none of them there"),
    ]


def _size(path: Path) -> int:
    return path.stat().st_size


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    result = compare()
    figures = shown(result)
    show(lines(figures), result, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
