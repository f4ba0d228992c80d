"""What batching gains and what a rollout costs, as a test: all sides have to do what they were asked."""

import pytest

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

from tests.benchmarks import rollouts
from tests.benchmarks.running import run

LEAST = 4.0
"""How many times the seller tokens of one dialogue at a time 64 at once give, in processor time. The aim
is 5; the printed ratio is the figure, and the floor leaves room for a busy machine."""
MOST = 0.2
"""What a rollout may add to its calls of generate, as a share. The aim is 0.15."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_dialogues_together_are_quicker_and_a_rollout_adds_little(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = run("rollouts")
    with capsys.disabled():
        print("\n" + ran.printed)
    assert not ran.trouble
    result = ran.result
    speed, cost = result["batching"], result["overhead"]
    assert speed["together_turns"] > 2 * rollouts.TOGETHER
    assert speed["alone_turns"] > 2 * rollouts.ALONE
    assert speed["ratio"] >= LEAST
    assert cost["overhead"] <= MOST
