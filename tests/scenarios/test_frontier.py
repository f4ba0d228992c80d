"""The frontier and every reference point equal brute force; and they are quick."""

from fractions import Fraction
from math import dist, sqrt
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings

from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.frontier import Point, frontier, reference_points
from scenarios.scenario import Preferences, Scenario, Split
from tests.scenarios.spaces import packages, scenario_of, small_scenarios

Pair = tuple[Fraction, Fraction]


def pair(scenario: Scenario, package: tuple[int, ...]) -> Pair:
    """Return both utilities from weights and values, by the definition and in exact arithmetic."""

    def utility(side: Preferences) -> Fraction:
        parts = zip(side.weights, side.values, package, strict=True)
        return sum(
            (Fraction(weight, 100) * Fraction(row[i], 100) for weight, row, i in parts), Fraction()
        )

    return utility(scenario.seller), utility(scenario.buyer)


def brute_frontier(scenario: Scenario) -> set[Pair]:
    pairs = {pair(scenario, package) for package in packages(scenario)}
    return {
        one
        for one in pairs
        if not any(other != one and other[0] >= one[0] and other[1] >= one[1] for other in pairs)
    }


def limits(scenario: Scenario) -> Pair:
    return Fraction(scenario.seller.walk_away_points, 10_000), Fraction(
        scenario.buyer.walk_away_points, 10_000
    )


def assert_is(point: Point | None, expected: Pair, scenario: Scenario) -> None:
    assert point is not None
    assert (point.seller, point.buyer) == tuple(map(float, expected))
    assert pair(scenario, point.package) == expected


@settings(max_examples=200, deadline=None)
@given(small_scenarios())
def test_frontier_equals_brute_force(scenario: Scenario) -> None:
    found = frontier(scenario)
    pairs = [pair(scenario, found.package(i)) for i in range(len(found))]
    assert set(pairs) == brute_frontier(scenario)
    assert len(set(pairs)) == len(pairs)
    # The arrays say the same as the packages, the seller's best first.
    assert [(float(seller), float(buyer)) for seller, buyer in pairs] == [
        (seller / 10_000, buyer / 10_000)
        for seller, buyer in zip(found.seller_F.tolist(), found.buyer_F.tolist(), strict=True)
    ]
    assert pairs == sorted(pairs, reverse=True)


@settings(max_examples=200, deadline=None)
@given(small_scenarios())
def test_reference_points_equal_brute_force(scenario: Scenario) -> None:
    found = reference_points(scenario)
    limit = limits(scenario)
    everything = [pair(scenario, package) for package in packages(scenario)]
    rational = [one for one in everything if one[0] >= limit[0] and one[1] >= limit[1]]
    if not rational:
        assert (found.nash, found.kalai, found.kalai_smorodinsky) == (None, None, None)
        assert (found.utilitarian, found.opposition) == (None, None)
        return

    def gains(one: Pair) -> Pair:
        return one[0] - limit[0], one[1] - limit[1]

    def ties(one: Pair) -> tuple[Fraction, Fraction]:
        return min(gains(one)), one[0]

    most = max(one[0] for one in rational), max(one[1] for one in rational)
    reach = gains(most)

    def shares(one: Pair) -> list[Fraction]:
        return [g / r if r else Fraction() for g, r in zip(gains(one), reach, strict=True)]

    pareto = brute_frontier(scenario)
    # Nash is defined on Pareto packages; the others are Pareto-optimal by what they maximise, so they
    # are looked for in the whole space.
    nash = max(
        (one for one in rational if one in pareto),
        key=lambda one: (gains(one)[0] * gains(one)[1], *ties(one)),
    )
    assert_is(found.nash, nash, scenario)
    kalai = max(rational, key=lambda one: (*sorted(gains(one)), *ties(one)))
    assert_is(found.kalai, kalai, scenario)
    kalai_smorodinsky = max(rational, key=lambda one: (*sorted(shares(one)), *ties(one)))
    assert_is(found.kalai_smorodinsky, kalai_smorodinsky, scenario)
    utilitarian = max(everything, key=lambda one: (one[0] + one[1], *ties(one)))
    assert_is(found.utilitarian, utilitarian, scenario)
    assert found.opposition == pytest.approx(min(dist(one, most) for one in rational), abs=1e-12)


def test_by_hand() -> None:
    """One price, one compatible extra: every figure worked out on paper."""
    seller = Preferences((80, 20), ((0, 50, 100), (0, 100)), 1_000)
    buyer = Preferences((60, 40), ((100, 50, 0), (0, 100)), 2_000)
    found = reference_points(scenario_of(seller, buyer))
    # With the extra: (0.2, 1.0), (0.6, 0.7), (1.0, 0.4); gains (0.1, 0.8), (0.5, 0.5), (0.9, 0.2).
    assert found.nash == Point((1, 1), 0.6, 0.7)
    assert found.kalai == Point((1, 1), 0.6, 0.7)
    assert found.kalai_smorodinsky == Point((1, 1), 0.6, 0.7)
    assert found.utilitarian == Point((2, 1), 1.0, 0.4)
    assert found.opposition == pytest.approx(sqrt(0.4**2 + 0.3**2))


def test_two_losses_are_no_nash_point() -> None:
    """Gains of -0.6 and -0.6 have the largest product; only an individually rational package counts."""
    seller = Preferences((100,), ((100, 0, 60),), 6_000)
    buyer = Preferences((100,), ((0, 100, 60),), 6_000)
    assert reference_points(scenario_of(seller, buyer)).nash == Point((2,), 0.6, 0.6)


def test_no_package_lies_beyond_the_frontier_of_a_full_size_scenario() -> None:
    generator = np.random.default_rng(5)
    for domain in bundled().values():
        scenario = draw(domain, Split.DEV, 1)
        found = frontier(scenario)
        for _ in range(300):
            package = [int(generator.integers(len(term.options))) for term in scenario.terms]
            seller, buyer = scenario.seller.points(package), scenario.buyer.points(package)
            assert np.any((found.seller_F >= seller) & (found.buyer_F >= buyer))


def test_frontier_and_points_of_nine_terms_by_six_options_take_about_a_millisecond() -> None:
    """Measured on the hardest case, nine opposed terms; the bound leaves room for slow machines."""
    generator = np.random.default_rng(9)

    def side(direction: int) -> Preferences:
        rows = [sorted(map(int, generator.choice(101, 6, replace=False)))[::direction] for _ in range(9)]
        return Preferences((12, *[11] * 8), tuple(map(tuple, rows)), 3_000)

    scenario = scenario_of(side(1), side(-1))
    assert len(frontier(scenario)) > 100
    seconds = []
    for _ in range(20):
        start = process_time()
        reference_points(scenario)
        seconds.append(process_time() - start)
    assert min(seconds) < 0.004, f"{min(seconds) * 1000:.2f} ms"
