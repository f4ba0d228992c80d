"""Bradley-Terry with intervals on 100,000 comparisons, against arena-rank 0.1.1 in one run.

    python -m tests.benchmarks.bradley_terry

arena-rank is looked for in the interpreter that the variable ARENA_RANK_PYTHON names. Both sides start
from arrays or a table in memory; neither imports nor arena-rank's preparation of its table is counted,
and the faster of its two fits is. ARENA_BENCHMARKS names a file to write the figures to as JSON.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from leaderboard.inference.bradley_terry import Comparisons, fit
from tests.benchmarks.figures import Figure, show

COMPARISONS, ARMS, SCENARIOS, DOMAINS = 100_000, 20, 512, 8
LEAST_RATIO = 20


def arena_rank_python() -> str | None:
    """Return an interpreter that has arena-rank 0.1.1, or None."""
    found = os.environ.get("ARENA_RANK_PYTHON")
    if not found or not shutil.which(found):
        return None
    version = "import importlib.metadata as m; print(m.version('arena-rank'))"
    done = subprocess.run([found, "-c", version], capture_output=True, text=True, check=False)
    return found if done.stdout.strip() == "0.1.1" else None


def battles(comparisons: int = COMPARISONS) -> Comparisons:
    """Return comparisons of arms of known strengths, a tenth of them ties."""
    rng = np.random.default_rng(7)
    theta_A = rng.normal(0, 0.7, ARMS)
    first_K = rng.integers(0, ARMS, comparisons)
    second_K = (first_K + rng.integers(1, ARMS, comparisons)) % ARMS
    won_K = (rng.random(comparisons) < expit(theta_A[first_K] - theta_A[second_K])).astype(float)
    won_K[rng.random(comparisons) < 0.1] = 0.5
    cluster_K = rng.integers(0, SCENARIOS, comparisons)
    return Comparisons(ARMS, first_K, second_K, won_K, cluster_K, cluster_K % DOMAINS)


def ours(compared: Comparisons) -> dict[str, float]:
    """Return the seconds of the fastest of five fits, by the clock and by the CPU."""
    clocks, cpus = [], []
    for _ in range(5):
        clock, cpu = time.perf_counter(), time.process_time()
        fit(compared)
        clocks.append(time.perf_counter() - clock)
        cpus.append(time.process_time() - cpu)
    return {"seconds": min(clocks), "cpu_seconds": min(cpus)}


def theirs(python: str, compared: Comparisons) -> dict[str, Any]:
    """Have arena-rank fit the same comparisons; return its figures, ratings and variances."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "battles.npz"
        np.savez(path, first_K=compared.first_K, second_K=compared.second_K, won_K=compared.won_K)
        side = Path(__file__).with_name("arena_rank_side.py")
        done = subprocess.run([python, side, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"arena-rank failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(python: str | None) -> dict[str, Any]:
    """Return both sides' figures and the ratios of their times; ours alone without arena-rank."""
    compared = battles()
    result: dict[str, Any] = {"comparisons": COMPARISONS, "ours": ours(compared)}
    if python is not None:
        other = result["theirs"] = theirs(python, compared)
        for what in ("seconds", "cpu_seconds"):
            result[f"ratio_of_{what}"] = min(other[what]) / result["ours"][what]
    return result


def table(result: Mapping[str, Any]) -> str:
    """Return the figures as lines."""
    mine, other = result["ours"], result.get("theirs")
    lines = [f"Bargaining Arena{mine['seconds']:10.3f} s{mine['cpu_seconds']:10.3f} CPU s"]
    if other is not None:
        lines.append(
            f"arena-rank 0.1.1{min(other['seconds']):10.3f} s{min(other['cpu_seconds']):10.3f} CPU s"
        )
        lines.append(f"{result['ratio_of_seconds']:.1f} times faster by the clock")
        lines.append(f"{result['ratio_of_cpu_seconds']:.1f} times faster by processor time")
    return "\n".join(lines)


def shown(result: Mapping[str, Any]) -> Figure:
    """Return our processor time against arena-rank's."""
    other = result.get("theirs")
    missing = "" if other else "; ARENA_RANK_PYTHON names no Python that has it"
    return Figure(
        f"Bradley-Terry with intervals, {COMPARISONS:,} comparisons",
        result["ours"]["cpu_seconds"],
        "CPU s",
        "arena-rank 0.1.1",
        min(other["cpu_seconds"]) if other else None,
        result.get("ratio_of_cpu_seconds"),
        least=LEAST_RATIO,
        conditions=f"{ARMS} arms, the faster of two fits against the fastest of five{missing}",
    )


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    result = compare(arena_rank_python())
    show(table(result), result, [shown(result)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
