"""The concession ladder, against all packages sorted one by one."""

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from agents.scripted.ladder import ladder
from scenarios.scenario import SCALE, Preferences

values = st.lists(st.integers(1, 99), max_size=2).map(lambda inner: (0, *inner, 100))


@st.composite
def preferences(draw: st.DrawFn) -> Preferences:
    """Two to four terms of two to four options; many packages are worth the same."""
    cuts = sorted(draw(st.sets(st.integers(1, 9), min_size=1, max_size=3)))
    edges = [0, *(10 * cut for cut in cuts), 100]
    weights = tuple(after - before for before, after in pairwise(edges))
    rows = tuple(tuple(draw(values.flatmap(st.permutations))) for _ in weights)
    return Preferences(weights, rows, draw(st.integers(0, SCALE)))


@given(preferences())
def test_a_small_space_is_listed_whole_in_order(side: Preferences) -> None:
    packages = product(*(range(len(row)) for row in side.table))
    pairs = sorted((side.points(package), package) for package in packages)
    rational = [pair for pair in pairs if pair[0] >= side.walk_away_points]
    found = ladder(side)
    assert [*zip(found.points, found.packages, strict=True)] == (rational or pairs)
    assert {type(option) for package in found.packages for option in package} == {int}
    assert {type(points) for points in found.points} == {int}
