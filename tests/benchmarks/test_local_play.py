"""What batching gains in play, as a test: both ways have to play what they were asked to."""

import pytest

pytest.importorskip("trl", reason="tiny models need pip install 'bargaining-arena[train]'")

from tests.benchmarks import local_play
from tests.benchmarks.running import run

LEAST = 3.0
"""How many times the answers of one match at a time 64 at once give, in processor time."""


@pytest.mark.slow
def test_matches_together_are_quicker(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run("local_play")
    with capsys.disabled():
        print("\n" + ran.printed)
    assert not ran.trouble
    result = ran.result
    assert result["together"]["answers"] >= local_play.TOGETHER
    assert result["alone"]["answers"] >= local_play.ALONE
    assert result["ratio"] >= LEAST
