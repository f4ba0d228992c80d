"""Made-up worlds hold what they say they hold."""

import numpy as np
import pytest

from leaderboard.board import board
from leaderboard.simulation.study import ARMS, BASES, study_world
from leaderboard.simulation.worlds import WALK_AWAY, World, planned


def test_the_means_and_spreads_are_those_planted():
    design = planned(["a", "b"], ["x", "y"], domains=4, scenarios=2_000)
    levels = np.array([[0.5, 0.6], [0.4, 0.4]])
    world = World(design, levels, scenario_sd=0.1, noise_sd_S=np.array([0.2, 0.05]))
    results = world.draw(np.random.default_rng(0))
    for seller in range(2):
        for buyer in range(2):
            chosen = (results.seller_M == seller) & (results.buyer_M == buyer)
            y_M = results.seller_utility_M[chosen]
            assert y_M.mean() == pytest.approx(levels[seller, buyer], abs=0.01)
            assert y_M.std() == pytest.approx(np.hypot(0.1, [0.2, 0.05][seller]), rel=0.03)


def test_a_scenario_moves_all_its_matches_together():
    design = planned(["a"], ["x", "y"], domains=1, scenarios=4_000)
    world = World(design, np.full((1, 2), 0.5), scenario_sd=0.1, noise_sd_S=0.2)
    results = world.draw(np.random.default_rng(1))
    x, y = (results.seller_utility_M[results.buyer_M == buyer] for buyer in range(2))
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.2, abs=0.04)


def test_masses_and_gaps_take_their_shares():
    design = planned(["a"], ["x"], domains=1, scenarios=10_000)
    world = World(design, np.full((1, 1), 0.5), missing=0.05, walk_away_share=0.3, zero_share=0.1)
    y_M = world.draw(np.random.default_rng(2)).seller_utility_M
    assert len(y_M) == pytest.approx(9_500, abs=100)
    assert np.mean(y_M == WALK_AWAY) == pytest.approx(0.3, abs=0.02)
    assert np.mean(y_M == 0) == pytest.approx(0.1, abs=0.02)


def test_the_study_has_its_cells_and_its_reported_levels():
    results = study_world().draw(np.random.default_rng(3))
    rows = board(results).by_agent
    assert set(rows) == {*BASES, *(arm.name for arm in ARMS)}
    assert {row.planned for row in rows.values()} == {1_152}
    assert {row.open.pooled.cells for row in rows.values()} == {1_024}
    # 0.525 + 0.063 + 0.013 = 0.601, as the study reports its levels.
    assert rows["12B at 3e-6"].open.pooled.value == pytest.approx(0.601, abs=0.03)
    gain = rows["31B at 1e-6"].open.pooled.value - rows["31B"].open.pooled.value
    assert gain == pytest.approx(0.078, abs=4 * 0.0071)
