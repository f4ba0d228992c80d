"""Where a gain comes from: parts that are exclusive and add up, shares with honest intervals."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import UserError
from arena.store import Filter, Listed, Store
from leaderboard.inference.cells import tabulate
from leaderboard.inference.statistic import estimate, score_weights
from leaderboard.inference.value import DEALS, FORFEITS, NO_DEAL, Value, value
from scenarios.kinds import kind_of
from scenarios.scenario import Role, Scenario
from tests.leaderboard.lawful import lawful
from tests.leaderboard.synthetic import choose
from tests.leaderboard.tournament import make_design, play_into


def of(found: Value, label: str) -> float:
    return next(part.estimate.value for part in found.parts if part.label == label)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    weights=st.tuples(*[st.integers(0, 5)] * 4).filter(any),
    missing=st.floats(0, 0.3),
    replicates=st.sampled_from([1, 3]),
    held_out=st.booleans(),
)
def test_the_parts_sum_to_the_gain(seed, weights, missing, replicates, held_out) -> None:
    shares = tuple(weight / sum(weights) for weight in weights)
    full = lawful(seed, shares, replicates=replicates, stochastic=("a", "x"))
    rng = np.random.default_rng(seed)
    found = value(choose(full, rng.random(len(full.seller_M)) > missing), "a", "b", held_out)
    if found.gain.value is None:
        assert all(part.estimate.value is None for part in found.parts)
        return
    assert abs(sum(part.estimate.value for part in found.parts) - found.gain.value) < 1e-12
    kinds = found.parts[2:]
    assert abs(sum(part.estimate.value for part in kinds) - found.better.estimate.value) < 1e-12
    shares_shown = [part.share for part in found.parts]
    assert len({share is None for share in shares_shown}) == 1
    if shares_shown[0] is not None:
        assert abs(sum(share.value for share in shares_shown) - 1) < 1e-9
    # Every cell stands in one part at most; those left over differ by nothing.
    assert sum(part.cells for part in (*found.parts[:2], found.better)) <= found.gain.cells
    both = found.gain.value + found.buyers_share.estimate.value
    assert found.welfare.value == pytest.approx(both / 2, abs=1e-12)


def test_each_part_is_recomputed_cell_by_cell_in_plain_python() -> None:
    results = lawful(5)
    found = value(results, "a", "c")
    by_cell: dict = {}
    for m in range(len(results.seller_M)):
        if results.seller_M[m] != 1 and not results.design.domains[results.domain_M[m]].held_out:
            cell = (int(results.buyer_M[m]), int(results.domain_M[m]), int(results.scenario_M[m]))
            by_cell.setdefault(cell, {})[int(results.seller_M[m])] = m
    strata: dict = {}
    for (buyer, domain, _), pair in by_cell.items():
        a, c = pair[0], pair[2]
        gain = results.seller_utility_M[a] - results.seller_utility_M[c]
        forfeits, deals = results.seller_forfeits_M[[a, c]].sum(), results.deal_M[[a, c]].sum()
        label = FORFEITS if forfeits == 1 else (NO_DEAL, DEALS, "better")[deals]
        left = label == DEALS and results.buyer_forfeits_M[[a, c]].any()
        strata.setdefault((buyer, domain), []).append((label, gain, left))

    def mean(wanted) -> float:
        kept = [[row[1] if wanted(*row) else 0 for row in rows] for rows in strata.values()]
        return float(np.mean([np.mean(gains) for gains in kept]))

    assert of(found, FORFEITS) == pytest.approx(mean(lambda label, *_: label == FORFEITS), abs=1e-12)
    assert of(found, DEALS) == pytest.approx(mean(lambda label, *_: label == DEALS), abs=1e-12)
    better = mean(lambda label, *_: label == "better")
    assert found.better.estimate.value == pytest.approx(better, abs=1e-12)
    assert mean(lambda label, *_: label == NO_DEAL) == 0
    left = mean(lambda label, gain, left: left)
    assert left != 0
    assert found.deals_by_opponents_forfeits.estimate.value == pytest.approx(left, abs=1e-12)


def test_a_share_ends_where_part_less_share_times_gain_is_just_not_detectable() -> None:
    results = lawful(1, (0.9, 0.1, 0, 0), edge=0.15, scenarios=64)
    found = value(results, "a", "b")
    part = next(part for part in found.parts if part.label == "better deals: distributive")
    assert part.share is not None
    assert part.share.low < part.share.value < part.share.high
    table = tabulate(results, Role.SELLER)
    match_X_C, shared_C = table.shared([0, 1])
    both_C = results.deal_M[match_X_C].all(axis=0)
    got_M = results.measures_M["by_kind"][:, 0, 1] / 10_000
    part_C = np.where(both_C, got_M[match_X_C[0]] - got_M[match_X_C[1]], 0)
    gain_C = results.seller_utility_M[match_X_C[0]] - results.seller_utility_M[match_X_C[1]]
    weights = score_weights(2, np.array([True, True, False]))
    for end in (part.share.low, part.share.high):
        rest = estimate(table.cells(part_C - end * gain_C, shared_C), weights)
        assert rest.p == pytest.approx(0.05, abs=1e-9)


def test_no_share_is_given_of_a_gain_that_is_not_detectable() -> None:
    found = value(lawful(2), "b", "c")
    low, high = found.gain.interval()
    assert low < 0 < high
    assert all(part.share is None for part in (*found.parts, found.buyers_share))


def test_what_the_buyers_lose_is_their_share_of_the_gain() -> None:
    """On a fixed pie all that a seller gains comes out of the buyer's share: no welfare."""
    fair = lawful(3, (1, 0, 0, 0), edge=0.2, scenarios=32)
    found = value(replace(fair, buyer_utility_M=1 - fair.seller_utility_M), "a", "b")
    assert found.buyers_share.share.value == pytest.approx(1)
    assert found.buyers_share.share.low is None, (
        "all of it, everywhere: there is nothing to be unsure of"
    )
    assert found.welfare.value == pytest.approx(0, abs=1e-12)
    generous = value(replace(fair, buyer_utility_M=fair.seller_utility_M), "a", "b")
    assert generous.buyers_share.share.value == pytest.approx(-1)
    assert generous.welfare.value == pytest.approx(generous.gain.value)


def test_swapping_the_sellers_turns_every_sign() -> None:
    results = lawful(8, (0.85, 0.05, 0.05, 0.05), edge=0.2, scenarios=32)
    there, back = value(results, "a", "b"), value(results, "b", "a")
    for one, other in zip(there.parts, back.parts, strict=True):
        assert one.estimate.value == pytest.approx(-other.estimate.value, abs=1e-15)
        assert one.share.value == pytest.approx(other.share.value)
    assert there.welfare_advantage.value == pytest.approx(-back.welfare_advantage.value, abs=1e-15)


def test_cells_that_not_both_completed_are_counted_as_dropped() -> None:
    results = lawful(4)
    keep_M = np.ones(len(results.seller_M), bool)
    open_M = results.domain_M < 2
    keep_M[np.flatnonzero(open_M & (results.seller_M == 0))[:3]] = False
    keep_M[np.flatnonzero(open_M & (results.seller_M == 1))[2:5]] = False
    found = value(choose(results, keep_M), "a", "b")
    assert found.dropped == 5
    assert found.gain.cells == 2 * 2 * 8 - 5


def test_unknown_and_equal_names_are_refused() -> None:
    with pytest.raises(UserError, match="no seller is called z"):
        value(lawful(0), "a", "z")
    with pytest.raises(UserError, match="same seller"):
        value(lawful(0), "a", "a")


def test_a_seller_without_a_match_has_no_gain_and_crashes_nothing() -> None:
    results = lawful(0)
    found = value(choose(results, results.seller_M != 0), "a", "b")
    assert found.gain.value is None
    assert found.to_json()["gain"]["problem"] == "not every buyer and domain has a match yet"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a real tournament: its results, its matches, and its scenarios by key."""
    database, plan = (
        tmp_path_factory.mktemp("value") / "a.db",
        make_design(("logroller", "boulware", "random"), ("conceder", "linear"), scenarios=4),
    )
    play_into(database, plan)
    with Store.open(str(database)) as store:
        matches = store.matches(Filter(design=plan))
        return store.results(plan), matches, store.scenarios({m.scenario_key for m in matches})


@pytest.mark.parametrize(("other", "kinds"), [("random", 3), ("boulware", 0)])
def test_a_real_tournament_is_recomputed_from_its_scenarios_and_deals(played, other, kinds) -> None:
    results, matches, scenarios = played
    open_domains = {domain.name for domain in results.design.domains if not domain.held_out}
    names = {player.version: player.name for player in results.design.sellers}
    cells: dict = {}
    for match in matches:
        if match.domain in open_domains:
            cell = (match.buyer_version, match.scenario_key)
            cells.setdefault(cell, {})[names[match.seller_version]] = match
    assert len(cells) == 2 * 2 * 4
    parts: Counter[str] = Counter()
    advantage = []
    for (_, key), pair in cells.items():
        add_parts(parts, scenarios[key], pair["logroller"], pair[other], len(cells))
        advantage.append(
            welfare_in_advantage(scenarios[key], pair["logroller"])
            - welfare_in_advantage(scenarios[key], pair[other])
        )
    found = value(results, "logroller", other)
    assert sum(label.startswith("better") for label in parts) >= kinds
    for part in found.parts:
        assert part.estimate.value == pytest.approx(parts[part.label], abs=1e-12)
    assert found.welfare_advantage.value == pytest.approx(np.mean(advantage), abs=1e-12)
    assert found.gain.value == pytest.approx(sum(parts.values()), abs=1e-12)


def add_parts(parts: Counter[str], scenario: Scenario, one: Listed, other: Listed, cells: int) -> None:
    if (one.deal is None) != (other.deal is None):
        parts[DEALS] += (one.seller_utility - other.seller_utility) / cells
    elif one.deal is not None:
        side, across = scenario.seller, scenario.buyer
        options = [json.loads(match.deal) for match in (one, other)]
        for t in range(len(scenario.terms)):
            kind = kind_of(side.weights[t], side.values[t], across.weights[t], across.values[t])
            first, second = (side.weights[t] * side.values[t][deal[t]] / 10_000 for deal in options)
            parts[f"better deals: {kind.value}"] += (first - second) / cells


def welfare_in_advantage(scenario: Scenario, match: Listed) -> float:
    sides = ((scenario.seller, match.seller_utility), (scenario.buyer, match.buyer_utility))
    return sum((u - side.walk_away) / (1 - side.walk_away) for side, u in sides) / 2
