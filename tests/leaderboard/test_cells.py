"""Cells: what the matches of a board are arranged by."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leaderboard.inference.cells import _distinct, tabulate
from scenarios.scenario import Role
from tests.leaderboard.synthetic import design, play_all


@given(
    st.sampled_from([6, 10**12]).flatmap(
        lambda most: arrays(np.int64, st.integers(0, 9), elements=st.integers(0, most))
    )
)
def test_ids_are_numbered_in_order(id_M):
    """Those that lie close together, and those that lie far apart."""
    id_C, place_M = _distinct(id_M)
    assert id_C.tolist() == sorted(set(id_M.tolist()))
    assert id_C[place_M].tolist() == id_M.tolist()


def test_a_table_is_made_once_for_each_role_and_panel():
    results = play_all(design(scenarios=4), np.random.default_rng(1))
    asked = [(role, feasible) for role in Role for feasible in (True, False)]
    tables = [tabulate(results, *one) for one in asked]
    assert [tabulate(results, *one) for one in asked] == tables
    assert len({id(table) for table in tables}) == 4
    part = results.where(results.seller_M == 0)
    assert (tabulate(part, Role.SELLER).match_A_C[1:] == -1).all()
