"""Which matches are replayed, when, and that no design plans any of them."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.analysis import Analysis, Contrast
from arena.design import Design
from arena.replays import BLOCKS, bases, block_of, blocks, replays, replicates, with_replays
from arena.schedule import Place, plan
from tests.leaderboard import synthetic

REMOTE = {"x", "b"}


def design(**settings: object) -> Design:
    made = synthetic.design(("a", "b", "c"), ("x", "y"), stochastic=("x", "b"), **settings)
    domains = [domain.model_copy(update={"version": domain.name}) for domain in made.domains]
    return made.model_copy(update={"domains": tuple(domains)})


designs = st.builds(
    design,
    scenarios=st.integers(1, 20),
    infeasible=st.integers(0, 3),
    replicates=st.integers(1, 2),
    seed=st.integers(0, 3),
    opener=st.sampled_from(["alternate", "both", "buyer"]),
)
shares = st.floats(0.001, 1.0)


@given(designs, shares)
def test_replays_are_of_the_first_block_and_nobody_plans_them(played: Design, share: float) -> None:
    planned = set(plan(played))
    found = replays(played, REMOTE, share)
    every = [place for places in found.values() for place in places]
    assert len(set(every)) == len(every)
    assert not set(every) & planned
    for block, places in found.items():
        assert {place.replicate for place in places} <= {replicates(played)[block]}
        for place in places:
            assert place._replace(replicate=0) in planned
            assert block_of(played, place) == 0
            assert place.feasible
            assert place.buyer_version in REMOTE or place.seller_version in REMOTE
    assert found.keys() == set(range(1, blocks(played)))


@given(designs, shares)
def test_a_block_s_share_of_a_pair_s_cells_is_replayed(played: Design, share: float) -> None:
    found = replays(played, REMOTE, share)
    for seller in bases(played, REMOTE):
        for buyer in ("x", "y"):
            cells = {
                place
                for place in plan(played)
                if (place.seller_version, place.buyer_version) == (seller, buyer)
                and (place.feasible, place.replicate) == (True, 0)
                and block_of(played, place) == 0
            }
            remote = bool({seller, buyer} & REMOTE)
            for places in found.values():
                own = [p for p in places if (p.seller_version, p.buyer_version) == (seller, buyer)]
                assert len(own) == remote * max(1, round(share * len(cells)))


@given(designs, shares, shares)
def test_a_larger_share_holds_the_cells_of_a_smaller_one(played: Design, one: float, two: float) -> None:
    small, large = (replays(played, REMOTE, share) for share in sorted((one, two)))
    for block, places in small.items():
        assert set(places) <= set(large[block])


def test_every_block_meets_other_cells_while_there_are_any() -> None:
    played = design(scenarios=64)
    found = replays(played, REMOTE, 1 / 8)
    cells = [place._replace(replicate=0) for places in found.values() for place in places]
    assert len(set(cells)) == len(cells) == 2 * 7 * 3


@given(designs, shares, st.integers(0, 400))
def test_replays_come_after_their_block_and_before_the_next(
    played: Design, share: float, already: int
) -> None:
    queue = [place for place in plan(played) if {place.seller_version, place.buyer_version} & REMOTE]
    queue = queue[already:]
    again = replays(played, REMOTE, share)
    block = {place: number for number, places in again.items() for place in places}
    order = with_replays(queue, again, played, REMOTE)
    assert isinstance(order, deque)
    assert [place for place in order if place not in block] == queue
    assert sorted(order) == sorted([*queue, *block])
    now = [block.get(place, block_of(played, place)) for place in order]
    if not played.infeasible:
        assert now == sorted(now)


def test_blocks_are_even_and_as_many_as_there_are_scenarios() -> None:
    for scenarios in (1, 2, 7, 8, 9, 64, 100):
        played = design(scenarios=scenarios, seed=3)
        sizes: dict[int, set[int]] = {}
        for place in plan(played):
            sizes.setdefault(block_of(played, place), set()).add(place.number)
        assert list(sizes) == list(range(min(BLOCKS, scenarios)))
        lengths = [len(numbers) for numbers in sizes.values()]
        assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize(
    ("declared", "remote", "found"),
    [
        (None, {"x"}, ["a"]),
        (None, {"x", "b"}, ["b"]),
        (None, {"c"}, ["c"]),
        (None, set(), []),
        (Analysis(bases={"a": "c"}), {"x"}, ["c"]),
        (Analysis(bases={"a": "c"}), {"x", "b"}, ["c"]),
        (Analysis(bases={"a": "c"}), {"b"}, ["b"]),
        (Analysis(bases={"a": "c", "b": "c"}), {"c"}, ["c"]),
        (Analysis(contrasts=(Contrast(plus=("a",), minus=("b",)),)), {"x"}, ["b"]),
        (Analysis(), {"x"}, ["a"]),
    ],
)
def test_who_is_the_base(declared: Analysis | None, remote: set[str], found: list[str]) -> None:
    played = synthetic.design(("a", "b", "c"), ("x", "y"), analysis=declared)
    assert bases(played, remote) == found


def test_numbers_fit_a_database_and_are_out_of_any_design_s_range() -> None:
    largest = Design.model_fields["replicates"].metadata[1].le
    seen = {replicates(design(scenarios=scenarios)) for scenarios in range(1, 200)}
    for numbers in seen:
        assert largest < numbers.start
        assert numbers[-1] < 2**31
    assert len(seen) > 150  # designs replay for themselves


def test_a_replay_s_key_is_its_own() -> None:
    played = design(scenarios=8)
    again = [place for places in replays(played, REMOTE, 0.5).values() for place in places]
    keys = {place.key(played, "scenario").text for place in again}
    first = {place._replace(replicate=0).key(played, "scenario").text for place in again}
    assert not keys & first
    assert isinstance(again[0], Place)
