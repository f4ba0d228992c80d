"""The comparison of one core with two as a test: both play all that was planned.

How long it took is reported and never judged here.
"""

import pytest

from tests.benchmarks import cores


@pytest.mark.slow
def test_one_worker_and_two_play_all_that_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    result = cores.compare(rounds=1, scenarios=1)
    with capsys.disabled():
        print("\n" + cores.table(result))
    assert [run["matches"] for run in result["workers"]] == [9 * 10 * 6] * 2
    assert all(run["cpu_seconds"] > 0 for run in result["workers"])
