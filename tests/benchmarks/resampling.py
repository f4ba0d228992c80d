"""How long a board's contrasts take, here and with scipy.stats.bootstrap, in one run on the same data.

    python -m tests.benchmarks.resampling

20 sellers play 1,152 cells each (9 domains x 64 scenarios x 2 buyers, one domain held out). Our side is
everything from the columns on: all 190 paired contrasts over the open domains with p, Holm and a
bootstrap interval of 10,000 draws, rank intervals from simultaneous contrasts, and every arm's buyer
splits and pooling alarm, with nothing kept from before. SciPy's side is the 190 percentile intervals
alone, on the scenario means of the differences, with a vectorised statistic; a few are timed and scaled.
SciPy can also resample many contrasts in one call, on shared draws as we do: that is measured too.
Ratios are of CPU time, so that other work on the machine does not decide them; what it took by the clock
stands beside it. ARENA_BENCHMARKS names a file to write the figures to as JSON.
"""

import os
import sys
import time
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from scipy import stats

from arena.analysis import Analysis
from arena.results import FloatArray, Results
from leaderboard.inference import bootstrap
from leaderboard.inference.bootstrap import bootstrap_intervals
from leaderboard.inference.cells import tabulate
from leaderboard.inference.holm import holm
from leaderboard.inference.ranks import ranked
from leaderboard.inference.splits import splits
from leaderboard.inference.statistic import estimate, score_weights
from scenarios.scenario import Role
from tests.benchmarks.figures import Figure, show
from tests.leaderboard.synthetic import design, play_all

SELLERS = 20
SCENARIOS = 64
SCIPYS = int(os.environ.get("ARENA_BENCHMARK_CONTRASTS", "10"))
"""How many contrasts SciPy is timed on."""
OPEN_D = np.arange(9) < 8


def world() -> Results:
    """Return the results: the first seller is everyone's base."""
    names = tuple(f"seller {number}" for number in range(SELLERS))
    bases = dict.fromkeys(names[1:], names[0])
    plan = design(names, domains=9, scenarios=SCENARIOS, analysis=Analysis(bases=bases))
    skill = {name: 0.5 + 0.004 * number for number, name in enumerate(names)}
    return play_all(plan, np.random.default_rng(20), skill)


def ours(results: Results) -> dict[str, Any]:
    """Compute everything once, cold; return how long it took and how much there was."""
    bootstrap._drawn.cache_clear()
    began = _now()
    table = tabulate(results, Role.SELLER)
    weight_B_D = score_weights(2, OPEN_D)
    cells = {pair: table.difference(*pair) for pair in combinations(range(SELLERS), 2)}
    estimates = {pair: estimate(one, weight_B_D) for pair, one in cells.items()}
    adjusted = holm([one.p for one in estimates.values()])
    intervals = bootstrap_intervals(list(cells.values()), weight_B_D)
    ranks = ranked(list(range(SELLERS)), estimates)
    found = splits(results)
    return {
        "what": "Bargaining Arena: contrasts, ranks, splits",
        "seconds": _now()[0] - began[0],
        "cpu_seconds": _now()[1] - began[1],
        "contrasts": len([1 for one in intervals if one is not None]),
        "holm": len(adjusted),
        "ranks": len(ranks),
        "splits": len(found),
    }


def scenario_means(results: Results) -> FloatArray:
    """Return each contrast's mean difference a scenario, shape (190, 512): what SciPy resamples."""
    table = tabulate(results, Role.SELLER)
    rows = []
    for a, b in combinations(range(SELLERS), 2):
        cells = table.difference(a, b)
        keep = OPEN_D[cells.domain_M]
        cluster_M = cells.cluster_M[keep]
        sums = np.bincount(cluster_M, cells.y_M[keep])
        rows.append((sums / np.bincount(cluster_M).clip(1))[np.unique(cluster_M)])
    return np.array(rows)


def theirs(means_K_G: FloatArray, together: bool) -> dict[str, Any]:
    """Time SciPy on the first contrasts, one call each or all in one; scale to all of them."""
    some = means_K_G[:SCIPYS]
    scale = len(means_K_G) / len(some)
    began = _now()
    intervals = [_scipy(some)] if together else [_scipy(row) for row in some]
    ended = _now()
    return {
        "what": f"scipy.stats.bootstrap, {'one call for all' if together else 'a call a contrast'}",
        "seconds": (ended[0] - began[0]) * scale,
        "cpu_seconds": (ended[1] - began[1]) * scale,
        "contrasts": len(means_K_G),
        "intervals": [end.tolist() for interval in intervals for end in interval],
    }


def _scipy(data: FloatArray) -> Any:
    return stats.bootstrap(
        (data,),
        np.mean,
        n_resamples=bootstrap.DRAWS,
        # All at once for one contrast; for many, few enough draws to stay in memory.
        batch=None if data.ndim == 1 else 1_000,
        method="percentile",
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(21),
    ).confidence_interval


def _now() -> tuple[float, float]:
    """Seconds of the clock and of this process's CPUs."""
    return time.perf_counter(), time.process_time()


def compare() -> dict[str, Any]:
    """Run all sides; return their figures and the ratios of their times."""
    results = world()
    means_K_G = scenario_means(results)
    halves = [ours(results), theirs(means_K_G, together=False), theirs(means_K_G, together=True)]
    mine, apart, together = (half["cpu_seconds"] for half in halves)
    return {"halves": halves, "ratio": apart / mine, "ratio_together": together / mine}


def table(result: Mapping[str, Any]) -> str:
    """Return the figures as lines."""
    lines = [
        f"{half['what']:44}{half['contrasts']:>5} contrasts"
        f"{half['cpu_seconds']:>8.2f} CPU s{half['seconds']:>8.2f} s"
        for half in result["halves"]
    ]
    lines.append(f"{result['ratio']:.1f} times faster than a call a contrast")
    lines.append(f"{result['ratio_together']:.1f} times faster than one call for all")
    return "\n".join(lines)


def shown(result: Mapping[str, Any]) -> list[Figure]:
    """Return our time against SciPy's, a call a contrast and one call for all."""
    mine, *others = result["halves"]
    return [
        Figure(
            f"a board's {mine['contrasts']} contrasts, with ranks and splits",
            mine["cpu_seconds"],
            "CPU s",
            f"SciPy {scipy.__version__} bootstrap, {how}, intervals alone",
            other["cpu_seconds"],
            result[ratio],
            least=least,
            conditions=f"{SELLERS} sellers x 1,152 cells, {bootstrap.DRAWS:,} draws; "
            f"SciPy timed on {SCIPYS} contrasts",
        )
        for other, how, ratio, least in (
            (others[0], "a call a contrast", "ratio", 50.0),
            (others[1], "one call for all", "ratio_together", None),
        )
    ]


def main() -> int:
    """Print the table; write the JSON where ARENA_BENCHMARKS says."""
    result = compare()
    show(table(result), result, shown(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
