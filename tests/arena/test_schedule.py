"""A plan: its order, and that positions, marks and places say the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.design import Design
from arena.schedule import Place, Plan
from tests.arena.store.matches import design

DESIGNS = st.builds(
    design,
    scenarios=st.integers(1, 4),
    infeasible=st.integers(0, 3),
    replicates=st.integers(1, 3),
    opener=st.sampled_from(["alternate", "seller", "buyer", "both"]),
    seed=st.integers(0, 2),
)


def spelled_out(design: Design) -> list[Place]:
    """Return the plan's matches by what the design says, in the order in which they are played."""
    found = []
    for feasible, count in ((True, design.scenarios), (False, design.infeasible)):
        for number in range(design.seed * 1_000_000, design.seed * 1_000_000 + count):
            alternating = ("seller", "buyer")[number % 2]
            opening = {"alternate": [alternating], "both": ["seller", "buyer"]}
            for domain in design.domains:
                for opener in opening.get(design.opener, [design.opener]):
                    for seller in design.sellers:
                        for buyer in design.buyers:
                            again = (
                                1 if seller.deterministic and buyer.deterministic else design.replicates
                            )
                            who = (seller.version, buyer.version, opener)
                            found += [
                                Place(domain.version, number, feasible, *who, replicate)
                                for replicate in range(again)
                            ]
    return found


@given(DESIGNS, st.randoms(use_true_random=False))
def test_a_plan_is_what_the_design_says(design: Design, rng) -> None:
    expected, plan = spelled_out(design), Plan(design)
    assert [*plan] == expected
    assert len(plan) == len(expected)
    assert [plan.position(place) for place in expected] == [*range(len(expected))]
    marked = [rng.random() < 0.3 for _ in expected]
    batches = [*plan.batches(np.array(marked))]
    assert [place for batch in batches for place in batch] == [
        place for place, chosen in zip(expected, marked, strict=True) if chosen
    ]
    assert all(len({place.scenario for place in batch}) == 1 for batch in batches)
    assert len({batch[0].scenario for batch in batches}) == len(batches)
    some = {design.sellers[0].version, design.buyers[1].version}
    seated = [not some.isdisjoint(place.versions) for place in expected]
    assert plan.seated_M(some).tolist() == seated


def test_an_agent_that_the_design_does_not_know_has_no_position() -> None:
    plan = Plan(design())
    with pytest.raises(KeyError):
        plan.position(next(iter(plan))._replace(seller_version="nobody"))
