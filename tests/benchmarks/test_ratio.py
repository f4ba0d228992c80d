"""The comparison with NegMAS as a test: both sides have to play all that they were asked to.

How long it took is reported and never judged here, because other work on a machine would decide it.
"""

from pathlib import Path

import pytest

from tests.benchmarks import ratio


@pytest.mark.slow
def test_both_play_all_that_they_were_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    python = ratio.negmas_python()
    if python is None:
        pytest.skip("NEGMAS_PYTHON names no Python that has negmas 0.16")
    result = ratio.compare(python)
    with capsys.disabled():
        print("\n" + ratio.table(result))
    mine, other = result["halves"]
    pairs = len(ratio.STRATEGIES) ** 2 * 2
    for half, scenarios in ((mine, ratio.FIVE.scenarios), (other, ratio.FIVE.theirs)):
        assert half["matches"] == pairs * scenarios
        assert 0 < half["agreements"] <= half["matches"]
        assert half["matches"] <= half["turns"] <= half["matches"] * 2 * ratio.ROUNDS


def test_our_half_plays_and_stores_all_that_it_plans(tmp_path: Path) -> None:
    figures = ratio.ours(tmp_path, scenarios=1)
    assert figures["matches"] == len(ratio.STRATEGIES) ** 2 * 2
    assert 0 < figures["agreements"] <= figures["matches"]
    assert (tmp_path / "ours.db").stat().st_size > 10_000
