"""The comparison with arena-rank as a test: both sides have to find the same strengths."""

import numpy as np
import pytest

from leaderboard.inference.bradley_terry import Comparisons, fit
from tests.benchmarks import bradley_terry
from tests.benchmarks.bradley_terry import ARMS, COMPARISONS, battles
from tests.benchmarks.running import run


@pytest.mark.slow
def test_twenty_times_faster_than_arena_rank_and_the_same_strengths(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if bradley_terry.arena_rank_python() is None:
        pytest.skip("ARENA_RANK_PYTHON names no Python that has arena-rank 0.1.1")
    ran = run("bradley_terry")
    with capsys.disabled():
        print("\n" + ran.printed)
    assert not ran.trouble
    compared, theirs = battles(), ran.result["theirs"]
    their_theta_A = np.array(theirs["ratings"])
    own = fit(compared)
    # It keeps a small ridge on the sum of its ratings and stops at a loss within 1e-9.
    np.testing.assert_allclose(own.theta_A, their_theta_A - their_theta_A.mean(), atol=2e-3)
    # Its interval takes every comparison for a cluster of its own, in one stratum.
    alone_K = np.arange(COMPARISONS)
    single = Comparisons(
        ARMS, *(compared.first_K, compared.second_K, compared.won_K), alone_K, 0 * alone_K
    )
    np.testing.assert_allclose(fit(single).se_A, np.sqrt(theirs["variances"]), rtol=0.01)
    assert ran.result["ratio_of_seconds"] >= bradley_terry.LEAST_RATIO


def test_a_hundred_thousand_comparisons_recover_the_order_of_clear_strengths() -> None:
    compared = battles()
    theta_A = np.random.default_rng(7).normal(0, 0.7, ARMS)
    found = fit(compared)
    assert not found.drawn
    assert np.corrcoef(found.theta_A, theta_A)[0, 1] > 0.999
