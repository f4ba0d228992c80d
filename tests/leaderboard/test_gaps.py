"""The cells on which two sellers differ most."""

from dataclasses import replace

import numpy as np
import pytest

from leaderboard.inference.gaps import widest
from tests.leaderboard import synthetic


def played(**scores: list[float]):
    """Results of two sellers and one buyer on an open and a held-out domain, five scenarios each."""
    plan = synthetic.design(tuple(scores), ("x",), domains=2, scenarios=5)
    results = synthetic.play_all(plan, np.random.default_rng(0))
    utility_M = results.seller_utility_M.copy()
    for seller, own in enumerate(scores.values()):
        utility_M[results.seller_M == seller] = own
    return replace(results, seller_utility_M=utility_M)


HELD_OUT = [0.0] * 5


def test_the_furthest_apart_come_first_either_way_and_equal_cells_not_at_all():
    results = played(a=[0.5, 0.9, 0.1, 0.5, 0.6, *([1.0] * 5)], b=[0.5, 0.4, 0.8, 0.3, 0.5, *HELD_OUT])
    found = widest(results, "a", "b")
    assert [round(gap.difference, 4) for gap in found] == [-0.7, 0.5, 0.2, 0.1]
    for gap in found:
        for seller, key, score in ((0, gap.key_a, gap.a), (1, gap.key_b, gap.b)):
            (row,) = np.flatnonzero(results.key_M == key)
            assert results.seller_M[row] == seller
            assert results.seller_utility_M[row] == score
    rows = [np.flatnonzero(results.key_M == key)[0] for key in (found[0].key_a, found[0].key_b)]
    assert len(set(results.scenario_M[rows])) == 1, "both on the same cell"


def test_only_as_many_as_asked_for_and_in_an_order_that_rows_do_not_change():
    results = played(a=[0.6] * 5 + HELD_OUT, b=[0.5] * 5 + HELD_OUT)
    found = widest(results, "a", "b", count=3)
    assert [gap.key_a for gap in found] == sorted(results.key_M[results.seller_M == 0][:5])[:3]
    shuffled = synthetic.choose(results, np.random.default_rng(1).permutation(len(results.key_M)))
    assert widest(shuffled, "a", "b", count=3) == found


def test_cells_that_one_of_them_lacks_are_left_out():
    results = played(a=[0.6] * 5 + HELD_OUT, b=[0.5] * 5 + HELD_OUT)
    gone = (results.seller_M == 1) & (results.scenario_M < 4)
    assert len(widest(synthetic.choose(results, ~gone), "a", "b")) == 1
    assert widest(synthetic.choose(results, results.seller_M == 0), "a", "b") == []


def test_a_stranger_is_no_seller():
    with pytest.raises(KeyError):
        widest(played(a=[0.6] * 5 + HELD_OUT, b=[0.5] * 5 + HELD_OUT), "a", "nobody")
