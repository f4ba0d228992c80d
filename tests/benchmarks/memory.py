"""How much memory a tournament of many matches takes, and whether that grows with how many were played.

    python -m tests.benchmarks.memory

plays 100,000 matches of scripted agents (or as many as ARENA_BENCHMARK_MATCHES says), in one process and
with two workers, each time in a process of its own, and prints what that one and its workers take as
they go on. Peaks are those that the system counts (`VmHWM`), so this needs Linux.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import active_children
from pathlib import Path
from typing import Any

from arena.store import Store, database
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.benchmarks.figures import Figure, show
from tests.benchmarks.many import lineup

MATCHES = int(os.environ.get("ARENA_BENCHMARK_MATCHES", "100000"))
POINTS = 10
MOST_MB = 512.0
"""What a process may take, however many matches it plays. This project's choice."""


def memory(pid: int | str = "self") -> tuple[float, float]:
    """Return what a process takes now and took at most, in MB (10^6 bytes); zeros once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    found = {line.partition(":")[0]: line.split() for line in lines}
    now, most = (int(found[name][1]) * 1024e-6 if name in found else 0.0 for name in ("VmRSS", "VmHWM"))
    return now, most


def play(matches: int, workers: int, folder: str, cache_kib: int | None = None) -> dict[str, Any]:
    """Play in this process and its workers; return how much they took at each of some points.

    `cache_kib`: what SQLite may keep of the file in memory, None for what it otherwise may.
    """
    if cache_kib is not None:
        database.CACHE_KIB = cache_kib
    points: list[dict[str, float]] = []
    with Store.open(str(Path(folder) / "arena.db")) as store:
        tournament = Tournament(store, lineup(store, matches), Settings(workers=workers))
        planned = tournament.summary.planned

        def tick(summary: Summary) -> None:
            if summary.played >= len(points) * planned / POINTS:
                theirs = [memory(child.pid or 0) for child in active_children()]
                now, most = memory()
                points.append(
                    {
                        "played": summary.played,
                        "now": now,
                        "most": most,
                        "worker_now": max((one for one, _ in theirs), default=0.0),
                        "worker_most": max((one for _, one in theirs), default=0.0),
                    }
                )

        began = memory()[1]
        summary = tournament.run(tick)
    assert summary.complete
    return {
        "workers": workers,
        "matches": summary.played,
        "seconds": summary.seconds,
        "began": began,
        "most": memory()[1],
        "worker_most": max(point["worker_most"] for point in points),
        "points": points,
    }


def apart(matches: int, workers: int, cache_kib: int | None = None) -> dict[str, Any]:
    """Do the same in a process of its own, so that nothing is kept from before."""
    with tempfile.TemporaryDirectory() as folder:
        asked = json.dumps([matches, workers, folder, cache_kib])
        command = [sys.executable, "-m", "tests.benchmarks.memory", asked]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def table(found: Mapping[str, Any]) -> str:
    """Return the figures as lines."""
    lines = []
    for run in found["runs"]:
        who = "in one process" if run["workers"] == 1 else f"with {run['workers']} workers"
        lines.append(f"{run['matches']:,} matches {who}, {run['seconds']:.0f} s; MB")
        lines.append(f"{'played':>10}{'now':>8}{'peak':>8}{'worker':>8}{'peak':>8}")
        for point in run["points"]:
            lines.append(
                f"{point['played']:>10,}"
                + "".join(
                    f"{point[name]:>8.0f}" for name in ("now", "most", "worker_now", "worker_most")
                )
            )
        lines.append(f"{'the end':>10}{'':>8}{run['most']:>8.0f}{'':>8}{run['worker_most']:>8.0f}")
    return "\n".join(lines)


def figures(found: Mapping[str, Any]) -> list[Figure]:
    """Return what the table of all benchmarks shows."""
    shown = []
    for run in found["runs"]:
        what = f"peak memory of the process that writes, {run['workers']} worker(s)"
        told = f"{run['matches']:,} matches, {run['began']:.0f} MB before the first"
        if run["workers"] > 1:
            told += f"; a worker takes {run['worker_most']:.0f} MB at most"
        shown.append(Figure(what, run["most"], "MB", most=MOST_MB, conditions=told))
    return shown


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    if len(sys.argv) > 1:
        print(json.dumps(play(*json.loads(sys.argv[1]))))
        return 0
    if not Path("/proc/self/status").exists():
        print("memory is read from /proc, which only Linux has", file=sys.stderr)
        return 2
    found = {"runs": [apart(MATCHES, workers) for workers in (1, 2)]}
    show(table(found), found, figures(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
