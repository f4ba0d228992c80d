"""How much sooner two worker processes end a tournament than one process does.

    python -m tests.benchmarks.cores

plays `arena run-tournament` on the nine domains, once with each number of workers in turn, three rounds
in all, and prints the best round of each by the clock, with processor time a match. On a machine with
other work, or fewer than two free cores, only the processor time says something: half of what two
workers take together, beside one's, is the most that two free cores would give.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.benchmarks.figures import Figure, show

ROUNDS = 3
SCENARIOS = 64
"""A domain: 34,560 matches, those of a default tournament."""


def played(workers: int, scenarios: int) -> dict[str, Any]:
    """Play a tournament in a new database; return its matches, seconds, and CPU-seconds of all its
    processes, the start of the program included."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "arena.cli", "run-tournament", "--json"]
        options = {"db": f"{folder}/arena.db", "workers": workers, "scenarios": scenarios}
        command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"matches": json.loads(done.stdout)["played"], "seconds": seconds, "cpu_seconds": cpu}


def compare(rounds: int = ROUNDS, scenarios: int = SCENARIOS) -> dict[str, Any]:
    """Return, for one worker and two, the best of each figure over the rounds, and how many times
    sooner two end: by the clock, and at most by processor time."""
    runs = [[played(workers, scenarios) for workers in (1, 2)] for _ in range(rounds)]
    best = [
        {figure: min(run[figure] for run in same) for figure in same[0]}
        for same in zip(*runs, strict=True)
    ]
    one, two = best
    return {
        "workers": best,
        "load": os.getloadavg()[0],
        "ratio": one["seconds"] / two["seconds"],
        "ratio_at_most": 2 * one["cpu_seconds"] / two["cpu_seconds"],
    }


def table(result: dict[str, Any]) -> str:
    """Return the figures as lines."""
    lines = [f"{'workers':10}{'matches':>12}{'seconds':>10}{'CPU us a match':>16}"]
    for workers, run in enumerate(result["workers"], 1):
        cpu = 1e6 * run["cpu_seconds"] / run["matches"]
        lines.append(f"{workers:<10}{run['matches']:>12,}{run['seconds']:>10.1f}{cpu:>16.0f}")
    lines.append(f"{result['ratio']:.2f} times sooner, load {result['load']:.1f}")
    lines.append(f"{result['ratio_at_most']:.2f} times by processor time, on two free cores")
    return "\n".join(lines)


def main() -> None:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    result = compare()
    one, two = result["workers"]
    figure = Figure(
        "a tournament in two worker processes",
        two["matches"] / two["seconds"],
        "matches / s",
        "one process",
        one["matches"] / one["seconds"],
        result["ratio"],
        least=1.8,
        conditions=f"best of {ROUNDS}, {two['matches']:,} matches, load {result['load']:.1f}; "
        f"by processor time {result['ratio_at_most']:.2f} on two free cores",
    )
    show(table(result), result, [figure])


if __name__ == "__main__":
    main()
