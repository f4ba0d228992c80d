"""A part of a design's results: the scores of chosen domains and openers, recomputed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from leaderboard.board import board
from leaderboard.inference.chosen import part
from scenarios.scenario import Role
from tests.leaderboard.synthetic import choose, design, play_all


@pytest.fixture(scope="module")
def full():
    plan = design(domains=4, scenarios=5, stochastic=("b",), replicates=2)
    results = play_all(plan, np.random.default_rng(1), {"a": 0.7, "c": 0.4})
    order = np.random.default_rng(2).permutation(len(results.seller_M))
    return choose(results, order)


def test_no_choice_is_all_of_it(full):
    assert part(full) is full


@pytest.mark.parametrize("opener", [None, *Role])
def test_a_score_is_the_mean_over_the_chosen_domains_and_openers(full, opener):
    found = board(part(full, ["domain_2", "domain_0"], opener)).by_agent
    opens = (
        full.seller_opens_M | True if opener is None else full.seller_opens_M == (opener is Role.SELLER)
    )
    for arm, name in enumerate("abc"):
        mine = (full.seller_M == arm) & opens
        means = [
            full.seller_utility_M[mine & (full.buyer_M == b) & (full.domain_M == d)].mean()
            for b in range(2)
            for d in (0, 2)
        ]
        assert found[name].open.pooled.value == pytest.approx(np.mean(means), abs=1e-12)
        assert found[name].matches == (mine & np.isin(full.domain_M, [0, 2])).sum()
        assert found[name].complete, "what was planned is that part, and it is all there"
        assert found[name].held_out is None


def test_held_out_domains_can_be_chosen_too(full):
    found = board(part(full, ["domain_3"])).by_agent["a"]
    mine = (full.seller_M == 0) & (full.domain_M == 3)
    assert found.held_out.pooled.value == pytest.approx(full.seller_utility_M[mine].mean(), abs=1e-12)
    assert found.open.pooled.value is None


def test_voids_follow_the_domains_and_are_unknown_by_opener(full):
    void = np.arange(full.void_S_B_D.size).reshape(full.void_S_B_D.shape)
    some = replace(full, void_S_B_D=void)
    assert np.array_equal(part(some, ["domain_1", "domain_3"]).void_S_B_D, void[:, :, [1, 3]])
    assert not part(some, ["domain_1"], Role.BUYER).void_S_B_D.any()


def test_every_column_keeps_to_its_match(full):
    marked = replace(full, key_M=np.arange(len(full.seller_M)).astype(str), words_M=list(full.key_M))
    some = part(marked, ["domain_1"], Role.SELLER)
    for key, seller, buyer, scenario, utility in zip(
        some.key_M.astype(int), some.seller_M, some.buyer_M, some.scenario_M, some.seller_utility_M,
        strict=True,
    ):  # fmt: skip
        assert (full.seller_M[key], full.buyer_M[key], full.scenario_M[key]) == (seller, buyer, scenario)
        assert full.seller_utility_M[key] == utility
        assert full.domain_M[key] == 1
