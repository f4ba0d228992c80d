"""What the arena adds to calls of a model, as a test: all ways have to ask what they were to ask."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import gateway

LEAST = 0.75
"""Of LiteLLM's requests a second of processor time, how many a tournament makes. The aim is 0.9; the
printed ratio is the figure, and the floor leaves room for a busy machine."""
MOST_MB = 100.0
"""By how much memory may grow over 1,000 matches; a conversation has about 20 kB. What was said in them
would be 20 MB, and all that LiteLLM makes of it several times as much."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_tournament_asks_nearly_as_much_as_litellm_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.gateway"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "ARENA_BENCHMARKS": str(figures)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(figures.read_text())
    with capsys.disabled():
        print("\n" + gateway.table(result))
    for each in result["rounds"]:
        asked = each[gateway.PLAIN]["requests"]
        for name in gateway.TOURNAMENTS:
            assert each[name]["matches"] == gateway.SCENARIOS * 8 * 2 * 2
            assert each[name]["agreements"] > 0
            assert each[name]["requests"] == asked
    assert result["ratio"] >= LEAST
    assert all(each[gateway.ARENA]["mb_grown_per_1000"] < MOST_MB for each in result["rounds"])


def test_the_tournament_asks_what_is_sent_by_itself() -> None:
    asked = gateway.requests(scenarios=1)
    assert {request.spec.sampling["temperature"] for request in asked} == set(gateway.TEMPERATURES)
    with gateway.bargaining_server(latency_s=0.0) as address:
        found = gateway.tournament(address, 8, scenarios=1)
    assert found["requests"] == len(asked)
    assert found["matches"] == 8 * 2 * 2
    assert 0 < found["agreements"] <= found["matches"]
