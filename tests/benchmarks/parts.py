"""Where the processor time of a scripted tournament goes, part by part.

    python -m tests.benchmarks.parts

plays the strategies of :mod:`tests.benchmarks.ratio` in one process, everything stored, under Python's
cProfile, and prints each part's share of the time. A function of Python's own counts for whoever called
it. The profiler weighs on small functions, so shares are rough; matches a CPU-second are measured
without it, the best of three.
"""

import cProfile
import os
import pstats
import tempfile
from collections import Counter
from pathlib import Path

from tests.benchmarks.ratio import ours
from tests.benchmarks.running import ROOT

SCENARIOS = 20
PARTS = {
    "rules of play": ("arena/play.py", "arena/protocol.py", "arena/replies.py", "arena/drivers.py"),
    "strategies": ("agents/",),
    "utilities, draws, frontiers": ("scenarios/",),
    "measures": ("arena/measures.py", "arena/differences.py", "arena/disclosures.py"),
    "rows and transcripts": ("arena/record.py", "arena/transcript.py"),
    "the store": ("arena/store/", "arena/ledger.py", "sqlalchemy/"),
}
REST = "all else"


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Return each part's share of the profiled time, the largest first."""
    found: Counter[str] = Counter()
    stats = pstats.Stats(profile).stats
    for (file, _, _), (_, _, own, _, callers) in stats.items():
        if file == "~":  # built in
            for (caller, _, _), timed in callers.items():
                found[part(caller)] += timed[2]
        else:
            found[part(file)] += own
    return {name: seconds / found.total() for name, seconds in found.most_common()}


def part(file: str) -> str:
    """Return the part that a source file belongs to."""
    _, _, library = file.partition("site-packages/")
    inside = library or os.path.relpath(file, ROOT)
    return next((name for name, starts in PARTS.items() if inside.startswith(starts)), REST)


def play() -> float:
    """Play the tournament; return matches a CPU-second."""
    with tempfile.TemporaryDirectory() as folder:
        figures = ours(Path(folder), scenarios=SCENARIOS)
    return float(figures["matches"] / figures["cpu_seconds"])


def main() -> None:
    """Print the shares."""
    best = max(play() for _ in range(3))
    with cProfile.Profile() as profile:
        play()
    print(f"{best:,.0f} matches / CPU s, load {os.getloadavg()[0]:.1f}")
    for name, share in shares(profile).items():
        print(f"{share:6.1%}  {name}")


if __name__ == "__main__":
    main()
