"""What batching gains in play, as a test: both ways have to play what they were asked to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="tiny models need pip install 'bargaining-arena[train]'")

from tests.benchmarks import local_play

LEAST = 3.0
"""How many times the answers of one match at a time 64 at once give, in processor time."""


@pytest.mark.slow
def test_matches_together_are_quicker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = tmp_path / "figures.json"
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    more = {"ARENA_BENCHMARKS": str(figures), "ARENA_LOCAL_BACKEND": "transformers"}
    subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.local_play"],
        env={**os.environ, **threads, **more},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )
    result = json.loads(figures.read_text())
    with capsys.disabled():
        print("\n" + local_play.table(result))
    assert result["together"]["answers"] >= local_play.TOGETHER
    assert result["alone"]["answers"] >= local_play.ALONE
    assert result["ratio"] >= LEAST
