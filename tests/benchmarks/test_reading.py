"""The benchmark of a board over very many matches as a test: both ways have to read every match."""

import os

import pytest

from tests.benchmarks import reading
from tests.benchmarks.figures import lines


@pytest.mark.slow
def test_both_read_all_matches(capsys: pytest.CaptureFixture[str]) -> None:
    result = reading.compare(int(os.environ.get("ARENA_BENCHMARK_MATCHES", "10000")))
    figures = reading.shown(result)
    with capsys.disabled():
        print("\n" + lines(figures))
    assert result["matches"] == result["rows"] >= 1_080
    assert all(figure.ours > 0 for figure in figures)
