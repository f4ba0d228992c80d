"""The benchmark of the store as a test: both ways have to keep, and both plans to count, every match."""

import pytest

from tests.benchmarks import store
from tests.benchmarks.figures import lines


@pytest.mark.slow
def test_what_is_stored_is_planned(capsys: pytest.CaptureFixture[str]) -> None:
    result = store.compare(20_000)
    figures = store.shown(result)
    with capsys.disabled():
        print("\n" + lines(figures))
    stored, planned = result["stored"], result["planned"]
    assert stored["matches"] == planned["already"] == planned["todo"] == 20 * 6 * 9 * 19
    assert all(size > 300 * stored["matches"] for size in stored["bytes"])
    assert all(figure.ours > 0 for figure in figures)
