"""A tournament takes no more memory for four times the matches."""

from pathlib import Path

import pytest

from tests.benchmarks.memory import apart, table

FEW, MANY = 4_000, 16_000
CACHE_KIB = 2_000
"""Beside SQLite's pages, which fill up to their limit."""
MOST_BYTES = 500
"""More memory for each further match: half of what one takes that is kept in memory. What is remembered
up to a bound, such as scenarios that were drawn, fills up between these sizes."""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_memory_does_not_grow_with_matches(workers: int, capsys: pytest.CaptureFixture[str]) -> None:
    few, many = (apart(matches, workers, CACHE_KIB) for matches in (FEW, MANY))
    with capsys.disabled():
        print("\n" + table({"runs": [few, many]}))
    more = many["matches"] - few["matches"]
    for who in ("most", "worker_most"):
        assert (many[who] - few[who]) * 1e6 / more < MOST_BYTES
