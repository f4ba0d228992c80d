"""The frequency model by hand, and the trade-off against brute force."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.scripted.ladder import ladder, space_size
from agents.scripted.opponent import FrequencyModel, best_for_other
from scenarios.scenario import Preferences
from tests.agents.table import brief, drawn


def test_frequency_model_by_hand() -> None:
    told = brief((50, 50), ((0, 50, 100), (0, 100)), 0.3)
    model = FrequencyModel(told)
    model.learn((2, 0))
    assert model.weights == [0.5, 0.5]
    assert model.counts == [[1, 1, 2], [2, 1]]
    # The first term stays: it gains 0.2/2 = 0.1, and the weights are renormalised by 1.1.
    model.learn((2, 1))
    assert model.weights == pytest.approx([0.6 / 1.1, 0.5 / 1.1])
    assert model.counts == [[1, 1, 3], [2, 2]]
    # Both change: nothing is gained.
    model.learn((0, 0))
    assert model.weights == pytest.approx([0.6 / 1.1, 0.5 / 1.1])
    assert model.table()[0] == pytest.approx([0.6 / 1.1 * 2 / 3, 0.6 / 1.1 / 3, 0.6 / 1.1])
    assert model.table()[1] == pytest.approx([0.5 / 1.1, 0.5 / 1.1 * 2 / 3])


def test_trade_off_gives_first_what_gives_most_per_point() -> None:
    # Ten points to spare: in the second term they buy 30 for the other side, in the first only 10.
    mine, theirs = [[10, 0], [10, 0]], [[0.0, 10.0], [0.0, 30.0]]
    assert best_for_other(mine, theirs, 10) == (0, 1)
    assert best_for_other(mine, theirs, 0) == (1, 1)
    assert best_for_other(mine, theirs, 20) == (0, 0)


def test_trade_off_leaves_out_options_below_the_hull() -> None:
    # The middle option gives 1 for 10 points, the last 10 for 30: the middle one only where the last
    # costs too much, and then not at all, since it lies below the line between the others.
    mine, theirs = [[30, 20, 0]], [[0.0, 1.0, 10.0]]
    assert best_for_other(mine, theirs, 0) == (2,)
    assert best_for_other(mine, theirs, 1) == (0,)


def test_trade_off_takes_what_costs_nothing() -> None:
    assert best_for_other([[10, 10, 3]], [[1.0, 2.0, 0.0]], 10) == (1,)


tables = st.integers(1, 4).flatmap(
    lambda terms: st.lists(
        st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=4),
        min_size=terms,
        max_size=terms,
    )
)


@given(tables, st.floats(0, 1))
def test_trade_off_reaches_the_target_and_misses_the_best_by_less_than_one_step(
    pairs: list[list[tuple[int, int]]], share: float
) -> None:
    mine = [[own for own, _ in row] for row in pairs]
    theirs = [[float(other) for _, other in row] for row in pairs]
    least = int(share * sum(max(row) for row in mine))

    def worth(table: list[list[float]] | list[list[int]], package: tuple[int, ...]) -> float:
        return sum(row[option] for row, option in zip(table, package, strict=True))

    found = best_for_other(mine, theirs, least)
    assert worth(mine, found) >= least
    space = product(*(range(len(row)) for row in mine))
    best = max(worth(theirs, package) for package in space if worth(mine, package) >= least)
    # The bound of the greedy rule: what one step of one term can give.
    assert best - worth(theirs, found) <= max(max(row) - min(row) for row in theirs)


sides = st.builds(
    lambda values, r: Preferences((50, 30, 20), tuple(map(tuple, values)), r),
    st.lists(
        st.lists(st.integers(1, 99), min_size=0, max_size=3).map(lambda row: [0, *row, 100]),
        min_size=3,
        max_size=3,
    ),
    st.integers(0, 10_000),
)


@given(sides, st.integers(0, 10_000))
def test_ladder_equals_brute_force_on_small_spaces(mine: Preferences, target: int) -> None:
    rungs = ladder(mine)
    space = list(product(*(range(len(row)) for row in mine.table)))
    assert len(space) == space_size(mine)
    assert sorted(rungs.packages) == [p for p in space if mine.points(p) >= mine.walk_away_points]
    reaching = [mine.points(p) for p in space if mine.points(p) >= max(target, mine.walk_away_points)]
    assert mine.points(rungs.at_least(target)) == min(reaching)


@pytest.mark.parametrize("domain", range(9))
def test_ladder_of_a_large_space_is_fine_and_sorted(domain: int) -> None:
    for index in range(4):
        scenario = drawn(domain, index)
        for mine in (scenario.seller, scenario.buyer):
            rungs = ladder(mine)
            points = [mine.points(package) for package in rungs.packages]
            assert list(rungs.points) == points == sorted(points)
            assert points[-1] == 10_000
            assert points[0] >= mine.walk_away_points
            # Fine below the first concessions, which the weights of single options decide.
            gaps = [b - a for a, b in pairwise(points) if b < 9_000]
            assert max(gaps) < 150
