"""Bradley-Terry with intervals on 100,000 comparisons, against arena-rank 0.1.1 in one run.

arena-rank is looked for in the interpreter that the variable ARENA_RANK_PYTHON names. Both sides start
from arrays or a table in memory; neither imports nor arena-rank's preparation of its table is counted,
and the faster of its two fits is. ARENA_BENCHMARKS_BT names a file to write the figures to as JSON.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from leaderboard.inference.bradley_terry import Comparisons, fit

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


@pytest.mark.slow
def test_twenty_times_faster_than_arena_rank_and_the_same_strengths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = arena_rank_python()
    if python is None:
        pytest.skip("ARENA_RANK_PYTHON names no Python that has arena-rank 0.1.1")
    compared = battles()
    path = tmp_path / "battles.npz"
    np.savez(path, first_K=compared.first_K, second_K=compared.second_K, won_K=compared.won_K)
    side = Path(__file__).with_name("arena_rank_side.py")
    done = subprocess.run([python, side, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs, mine = json.loads(done.stdout.splitlines()[-1]), ours(compared)
    ratio = min(theirs["seconds"]) / mine["seconds"]
    figures = {
        "comparisons": COMPARISONS,
        "arena_rank_seconds": theirs["seconds"],
        "arena_rank_prepare_seconds": theirs["prepare_seconds"],
        "arena_rank_cpu_seconds": theirs["cpu_seconds"],
        "seconds": mine["seconds"],
        "cpu_seconds": mine["cpu_seconds"],
        "ratio": ratio,
        "ratio_of_cpu": min(theirs["cpu_seconds"]) / mine["cpu_seconds"],
    }
    with capsys.disabled():
        print("\n" + json.dumps(figures))
    if to := os.environ.get("ARENA_BENCHMARKS_BT"):
        Path(to).write_text(json.dumps(figures, indent=1) + "\n")
    their_theta_A = np.array(theirs["ratings"])
    own = fit(compared)
    # It keeps a small ridge on the sum of its ratings and stops at a loss within 1e-9.
    np.testing.assert_allclose(own.theta_A, their_theta_A - their_theta_A.mean(), atol=2e-3)
    # Its interval takes every comparison for a cluster of its own, in one stratum.
    alone_K = np.arange(COMPARISONS)
    single = Comparisons(
        ARMS, *(compared.first_K, compared.second_K, compared.won_K), alone_K, 0 * alone_K
    )
    np.testing.assert_allclose(fit(single).se_A, np.sqrt(theirs["variances"]), rtol=0.01)
    assert ratio >= LEAST_RATIO


def test_a_hundred_thousand_comparisons_recover_the_order_of_clear_strengths() -> None:
    compared = battles()
    theta_A = np.random.default_rng(7).normal(0, 0.7, ARMS)
    found = fit(compared)
    assert not found.drawn
    assert np.corrcoef(found.theta_A, theta_A)[0, 1] > 0.999
