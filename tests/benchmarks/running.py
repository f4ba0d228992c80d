"""Running a benchmark in a process of its own, so that nothing is kept from before."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARENA_LOCAL_BACKEND": "transformers"}
"""One thread a process, as the peers have, and models on the CPU."""
PACKAGE = "tests.benchmarks"
LONGEST_S = 3600.0
"""After which a benchmark hangs."""
MISSING = 2
"""Exit code of a benchmark that needs what this machine has not; its last line says what."""


@dataclass(frozen=True)
class Ran:
    """What came of one benchmark."""

    seconds: float = 0.0
    load: float = 0.0
    """Of the machine, as it began."""
    printed: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    """As it was shown; empty where nothing was measured."""
    trouble: str = ""
    """Why something is not in the table; empty where all is well."""
    failed: bool = False
    """Whether that is a mistake, and not only something that this machine lacks."""


def run(name: str, **more: str) -> Ran:
    """Run the benchmark of this name, with `more` in its environment; return what it showed, or
    why it did not. What fails is printed to stderr, too."""
    began, load = time.perf_counter(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        try:
            done = subprocess.run(
                [sys.executable, "-m", f"{PACKAGE}.{name}"],
                env={**os.environ, **ALONE, **more, "ARENA_BENCHMARKS": str(figures)},
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            why = f"did not end within {LONGEST_S / 60:.0f} minutes"
            return Ran(time.perf_counter() - began, load, trouble=why, failed=True)
        result = json.loads(figures.read_text()) if figures.exists() else {}
    return Ran(
        seconds=time.perf_counter() - began,
        load=load,
        printed=done.stdout,
        result=result,
        trouble=_trouble(done, result),
        failed=done.returncode not in (0, MISSING),
    )


def _trouble(done: "subprocess.CompletedProcess[str]", result: Mapping[str, Any]) -> str:
    last = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
    if done.returncode == MISSING:
        return last
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        return f"failed with exit code {done.returncode}: {last}"
    return "" if result.get("figures") else "showed no figures for this table"
