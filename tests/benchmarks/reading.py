"""What a board over very many matches takes, from the file to the last figure, beside pandas.

    python -m tests.benchmarks.reading

fills a database with ARENA_BENCHMARK_MATCHES matches (a million unless that says otherwise; or takes the
one that ARENA_BENCHMARK_DATABASE names, of which it reads the design run last). Then it reads a design's
matches as columns, beside ``pandas.read_sql_query`` of the same columns from the same tables, which come
without the measures' own columns and without the numbers of agents and scenarios; computes the board of
its sellers with all that is said of them; and runs `arena standings`, a process of its own. Times are of
the processor, the best of three; memory is the most that a process of its own held. ARENA_BENCHMARKS
names a file to write the figures to as JSON.
"""

import gc
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from arena.store import Store
from leaderboard.board import board
from leaderboard.verdicts import verdicts
from tests.benchmarks import many
from tests.benchmarks.figures import Figure, lines, show
from tests.benchmarks.store import MATCHES

TIMES = 3
_SIDES = ("utility", "faults", "tokens_in", "tokens_out", "cost_usd", "latency_s")
_COLUMNS = ", ".join(
    (
        *("m.key", "m.scenario_key", "m.seller_version", "m.buyer_version", "m.replicate"),
        *("m.opener", "m.ending", "m.at_fault", "m.started_at"),
        *(f"m.{side}_{name}" for side in ("seller", "buyer") for name in _SIDES),
        *("s.domain_version", "s.feasible", "x.content", "x.words"),
    )
)
QUERY = f"""
    SELECT {_COLUMNS} FROM matches m JOIN scenarios s ON m.scenario_key = s.key
    JOIN measures x ON m.key = x.key WHERE m.withdrawn_at IS NULL
"""


def best(work: Callable[[], Any], times: int = TIMES) -> float:
    """Return the fewest seconds of the processor that some work took."""
    taken = []
    for _ in range(times):
        gc.collect()
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def standings(path: Path) -> tuple[float, float]:
    """Run `arena standings`; return the seconds of the processor that it took, and the most memory, in
    MB, that any process of ours so far held."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "arena.cli", "standings", "--db", str(path)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss / 1024


def measured(path: Path) -> dict[str, Any]:
    """Return what a board of the database at `path` takes."""
    alone = [standings(path) for _ in range(TIMES)]
    with Store.open(str(path), create=False) as store:
        design = store.design().design
        ours = best(lambda: store.results(design))
        results = store.results(design)
        first = best(lambda: (board(results), verdicts(results)), 1)  # cells are arranged but once
    with closing(sqlite3.connect(path)) as plain:
        rows = len(frame := pd.read_sql_query(QUERY, plain))
        del frame
        theirs = best(lambda: pd.read_sql_query(QUERY, plain), 1)
    return {
        "matches": len(results.seller_M),
        "rows": rows,
        "ours": ours,
        "theirs": theirs,
        "board": first,
        "standings": min(seconds for seconds, _ in alone),
        "memory_mb": max(memory for _, memory in alone),
    }


def compare(matches: int = MATCHES) -> dict[str, Any]:
    """Return all figures, of about so many matches."""
    if path := os.environ.get("ARENA_BENCHMARK_DATABASE"):
        return measured(Path(path))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "many.db"
        with Store.open(str(made)) as store:
            many.fill(store, matches)
        return measured(made)


def shown(result: Mapping[str, Any]) -> list[Figure]:
    """Return the rows of the table."""
    of = f"{result['matches']:,} matches"
    peer = f"pandas {pd.__version__}, the same columns from the same file"
    ours, theirs = result["ours"], result["theirs"]
    start = f"{of}; a process of its own, {result['memory_mb']:,.0f} MB at its peak"
    return [
        Figure("reading a design", ours, "CPU s", peer, theirs, theirs / ours, conditions=of),
        Figure("its board, read", result["board"], "CPU s", conditions=of),
        Figure("its board, cold", ours + result["board"], "CPU s", most=2, conditions=of),
        Figure("arena standings", result["standings"], "CPU s", conditions=start),
    ]


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    result = compare()
    figures: Sequence[Figure] = shown(result)
    show(lines(figures), result, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
