"""What a tournament plays, keeps and counts, played in this process."""

from pathlib import Path

import pytest

from agents.scripted import strategies
from arena.entry import entry_from
from arena.errors import UserError
from arena.lineup import Lineup, request_from, resolve
from arena.play import Turn
from arena.registry import Registry
from arena.schedule import plan
from arena.store import Filter, Store
from arena.store.checking import check
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from arena.transcript import decode
from scenarios.scenario import Role
from tests.arena import bots
from tests.arena.running import outcomes, rows

SMALL = {
    "sellers": ["boulware", "random"],
    "buyers": ["linear", "logroller"],
    "domains": ["coffee_import", "car_sale"],
    "scenarios": 2,
}


@pytest.fixture(autouse=True)
def _fresh_bots() -> None:
    bots.calls.clear()


def lineup(store: Store, **changes: object) -> Lineup:
    return resolve(request_from(SMALL | changes), store)


def run(store: Store, settings: Settings | None = None, **changes: object) -> Summary:
    return Tournament(store, lineup(store, **changes), settings or Settings(workers=1)).run()


def plug_in(store: Store, name: str, target: str, **parameters: object) -> None:
    entry = {"name": name, "plugin": f"tests.arena.bots:{target}", "set": parameters}
    Registry(store).register([entry_from(entry)])


def test_it_plays_the_plan_and_then_nothing(store: Store, tmp_path: Path) -> None:
    first = run(store)
    assert (first.planned, first.already, first.played, first.left) == (16, 0, 16, 0)
    before = rows(tmp_path / "arena.db")
    again = run(store)
    assert (again.planned, again.already, again.played, again.left) == (16, 16, 0, 0)
    assert again.complete
    assert rows(tmp_path / "arena.db") == before


def test_designs_share_matches(store: Store) -> None:
    run(store)
    wider = run(store, sellers=["boulware", "random", "hardliner"], scenarios=3)
    assert (wider.planned, wider.already, wider.played) == (36, 16, 20)
    assert len(store.designs()) == 2
    assert store.design().design.hash == wider.design


def test_a_design_is_frozen_before_its_first_match(store: Store) -> None:
    run(store)
    first = store.design()
    started = min(match.started_at for match in store.matches(Filter()))
    assert first.created_at < started
    run(store)
    again = store.design()
    assert again.created_at == first.created_at
    assert again.last_run_at > first.last_run_at


def test_what_is_asked_first_does_not_matter(store: Store, tmp_path: Path) -> None:
    """Row order: another order of agents and domains gives the same design and the same matches."""
    run(store)
    with Store.open(str(tmp_path / "other.db")) as other:
        turned = {key: SMALL[key][::-1] for key in ("sellers", "buyers", "domains")}
        summary = run(other, **turned)
    assert summary.design == store.design().design.hash
    assert outcomes(tmp_path / "other.db") == outcomes(tmp_path / "arena.db")


def test_a_stochastic_buyer_draws_the_same_against_two_sellers(store: Store) -> None:
    """On one cell, as long as the sellers say the same."""
    sellers = ["hardliner", "stall"]
    run(store, sellers=sellers, buyers=["random"], scenarios=8)
    cells: dict[tuple[object, ...], list[list[Turn]]] = {}
    for match in store.matches(Filter()):
        cell = (match.scenario_key, match.opener, match.replicate)
        cells.setdefault(cell, []).append(store.turns(match))
    compared, first_offers = 0, set()
    for one, other in cells.values():
        for mine, theirs in zip(one, other, strict=False):
            if mine.role is Role.SELLER and mine != theirs:
                break
            assert mine == theirs
            compared += mine.role is Role.BUYER
        first_offers.add(next(turn.offer for turn in one if turn.role is Role.BUYER))
    assert len(cells) == 16
    assert compared > 40
    assert len(first_offers) > 10  # it does draw differently on different cells


def test_replicates_differ_where_a_side_plays_by_chance(store: Store) -> None:
    summary = run(store, replicates=3)
    assert summary.planned == 8 + 3 * 8
    transcripts: dict[tuple[object, ...], set[bytes]] = {}
    for row in rows(Path(store.address)).values():
        cell = (row["scenario_key"], row["seller_version"], row["buyer_version"])
        transcripts.setdefault(cell, set()).add(row["transcript"])
    variety = sorted(len(found) for found in transcripts.values())
    assert variety[:8] == [1] * 8
    assert sum(variety[8:]) > 20  # of 24: two replicates may come out alike


def test_replicates_of_deterministic_agents_are_refused_with_the_reason(store: Store) -> None:
    with pytest.raises(UserError, match="every agent here is deterministic"):
        lineup(store, sellers=["boulware"], replicates=2)


def test_a_void_is_tried_three_times_more_over_all_runs(store: Store) -> None:
    plug_in(store, "flaky", "Unreachable", failures=10**6)
    asked = {"sellers": ["flaky"], "buyers": ["linear"], "domains": ["car_sale"], "scenarios": 1}
    summary = run(store, **asked)
    assert (summary.planned, summary.played, summary.void, summary.left) == (1, 0, 1, 0)
    assert not summary.complete
    assert [m.attempt for m in store.matches(Filter(), voids=True)] == [1, 2, 3, 4]
    again = run(store, **asked)
    assert (again.void, again.left, sum(again.void_attempts.values())) == (1, 0, 0)
    more = run(store, Settings(workers=1, retry_voids=True), **asked)
    assert (more.void, sum(more.void_attempts.values())) == (1, 3)
    assert len(store.matches(Filter(), voids=True)) == 7


def test_a_void_that_passes_is_scored(store: Store) -> None:
    plug_in(store, "flaky", "Unreachable", failures=2)
    asked = {"sellers": ["flaky"], "buyers": ["linear"], "domains": ["car_sale"], "scenarios": 2}
    summary = run(store, **asked)
    assert (summary.played, summary.void, summary.left) == (2, 0, 0)
    assert summary.complete
    assert sum(summary.void_attempts.values()) == 2
    assert store.results(store.design().design).void_S_B_D.sum() == 0


def test_attempts_count_across_runs(store: Store) -> None:
    """A run that is stopped between two attempts does not grant its matches new ones."""
    plug_in(store, "flaky", "Unreachable", failures=10**6)
    asked = {"sellers": ["flaky"], "buyers": ["linear"], "domains": ["car_sale"], "scenarios": 1}
    tournament = Tournament(store, lineup(store, **asked), Settings(workers=1))
    voids = []

    def stop_after_two(summary: Summary) -> None:
        voids.append(sum(summary.void_attempts.values()))
        if voids[-1] == 2:
            tournament.stop()

    assert tournament.run(stop_after_two).left == 1
    assert run(store, **asked).void == 1
    assert [m.attempt for m in store.matches(Filter(), voids=True)] == [1, 2, 3, 4]


def test_coroutines_are_played_on_the_event_loop(store: Store) -> None:
    """By one child of its own, which counts the matches that it begins."""
    plug_in(store, "awaited", "Awaited", failures=2)
    asked = {"sellers": ["awaited", "boulware"], "buyers": ["linear"], "scenarios": 4}
    tournament = Tournament(store, lineup(store, **asked), Settings(workers=1, concurrency=1))
    assert (tournament.quick, tournament.waiting) == (8, 8)
    summary = tournament.run()
    assert (summary.played, summary.void, summary.left) == (16, 0, 0)
    assert sum(summary.void_attempts.values()) == 2


def test_a_provider_that_keeps_failing_is_set_aside(store: Store) -> None:
    plug_in(store, "down", "Awaited", failures=10**6)
    asked = {"sellers": ["down", "boulware"], "buyers": ["linear"], "scenarios": 16}
    summary = run(store, Settings(workers=1, concurrency=1), **asked)
    assert summary.played == 32
    assert [aside.detail for aside in summary.set_aside.values()] == ["connection refused"]
    assert sum(summary.void_attempts.values()) == 5
    assert (summary.void, summary.left) == (0, 32)


@pytest.mark.parametrize(
    ("target", "parameters", "voids", "stopped"),
    [("Locked", {}, 1, True), ("Unreachable", {"failures": 10**6}, 5, False)],
)
def test_a_plug_in_that_is_set_aside_is_not_tried_again(
    store: Store, target: str, parameters: dict[str, int], voids: int, stopped: bool
) -> None:
    """Neither as a seller nor as a buyer; what a worker has in hand is one match each."""
    plug_in(store, "down", target, **parameters)
    plug_in(store, "slow", "Slow")
    asked = {"sellers": ["boulware", "down", "slow"], "buyers": ["linear", "down"], "scenarios": 3}
    summary = run(store, **asked)
    assert [aside.at_once for aside in summary.set_aside.values()] == [stopped]
    assert voids <= sum(summary.void_attempts.values()) <= voids + 1
    assert (summary.planned, summary.played, summary.void) == (36, 12, 0)
    assert summary.left == summary.waiting == summary.put_off == 24


class _Buggy:
    def begin(self, brief: object, rng: object) -> object:
        raise KeyError("price")


def test_a_bug_of_ours_stops_the_run_and_keeps_what_was_played(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = strategies.Entry(lambda **values: _Buggy(), "broken")
    monkeypatch.setitem(strategies.STRATEGIES, "walk_away", changed)
    asked = {"sellers": ["boulware", "walk_away"], "buyers": ["linear"], "scenarios": 8}
    summary = run(store, **asked)
    assert summary.trouble is not None
    assert "a bug of bargaining-arena" in summary.trouble
    assert "KeyError: 'price'" in summary.trouble
    (void,) = store.matches(Filter(), voids=True)
    assert void.ending == "harness_error"
    assert "KeyError" in void.detail
    scored = store.matches(Filter())
    assert len(scored) == summary.played == 1
    assert summary.left == summary.planned - 1


def test_plug_ins_are_stopped_at_the_turn_timeout(store: Store) -> None:
    plug_in(store, "hang", "Hang")
    asked = {"sellers": ["hang"], "buyers": ["linear"], "domains": ["car_sale"], "scenarios": 1}
    assert run(store, Settings(workers=1, turn_timeout=0.2), **asked).complete
    (match,) = store.matches(Filter())
    assert (match.ending, match.at_fault, match.seller_utility) == ("forfeit_timeout", "seller", 0.0)


def test_a_worker_that_dies_loses_nothing_that_was_played(store: Store, tmp_path: Path) -> None:
    plug_in(store, "crash", "Crash")
    run(store)
    before = rows(tmp_path / "arena.db")
    # Two plug-ins at one table: which of them did it cannot be told.
    summary = run(store, Settings(workers=2), sellers=["boulware", "random", "crash"], buyers=["crash"])
    assert summary.trouble is not None
    assert "worker process" in summary.trouble
    assert not summary.complete
    after = rows(tmp_path / "arena.db")
    assert {key: after[key] for key in before} == before


@pytest.mark.parametrize("politely", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_plug_in_that_ends_its_process_forfeits(store: Store, politely: bool) -> None:
    """Each of its matches, and nobody else's; the tournament goes on to its end."""
    plug_in(store, "crash", "Crash", politely=politely)
    summary = run(store, Settings(workers=2), sellers=["crash", "boulware"], buyers=["linear"])
    assert summary.complete
    assert summary.trouble is None
    crash = next(p.version for p in store.design().design.sellers if p.name == "crash")
    for match in store.matches(Filter()):
        crashed = match.seller_version == crash
        assert (match.ending == "forfeit_code") == crashed
        assert match.at_fault == ("seller" if crashed else None)
        if crashed:
            scenario = store.scenarios([match.scenario_key])[match.scenario_key]
            assert (match.seller_utility, match.buyer_utility) == (0, scenario.buyer.walk_away)
    assert [one for one in check(store.address).checks if one.wrong] == []


def test_one_worker_and_four_give_equal_matches(store: Store, tmp_path: Path) -> None:
    asked = {"scenarios": 24, "infeasible": 2, "opener": "both", "replicates": 2}
    one = run(store, Settings(workers=1), **asked)
    with Store.open(str(tmp_path / "four.db")) as other:
        four = run(other, Settings(workers=4), **asked)
    assert one.complete
    assert four.complete
    assert outcomes(tmp_path / "arena.db") == outcomes(tmp_path / "four.db")
    assert len(outcomes(tmp_path / "arena.db")) == one.planned
    assert len({row["worker"] for row in rows(tmp_path / "arena.db").values()}) == 1
    assert len({row["worker"] for row in rows(tmp_path / "four.db").values()}) > 1


def test_transcripts_are_whole(store: Store) -> None:
    run(store)
    for row in rows(Path(store.address)).values():
        turns = decode(row["transcript"])
        assert len(turns) == row["turns"] > 0
        first = turns[0].role
        assert first.value == row["opener"]
        assert all(turn.role is (first if n % 2 == 0 else first.other) for n, turn in enumerate(turns))


def test_a_withdrawn_match_is_missing_and_not_played_again(store: Store) -> None:
    run(store)
    match = store.matches(Filter())[0]
    store.withdraw_match(match.key, "by mistake")
    again = run(store)
    assert (again.already, again.played, again.left, again.withdrawn) == (15, 0, 1, 1)
    assert not again.complete


def test_a_withdrawn_agent_plays_no_more(store: Store) -> None:
    registry = Registry(store)
    registry.register([entry_from({"name": "mine", "scripted": "boulware", "set": {"exponent": 0.1}})])
    run(store, sellers=["mine"])
    registry.withdraw("mine", "superseded")
    with pytest.raises(UserError, match="withdrawn: superseded"):
        lineup(store, sellers=["mine"])
    stored = store.design().design.model_dump(mode="json")
    with pytest.raises(UserError, match="withdrawn: superseded"):
        resolve(request_from(stored), store)


def test_a_stored_design_resolves_to_itself(store: Store) -> None:
    asked = lineup(store, infeasible=1, replicates=2, turns=3, seed=4, opener="both")
    again = resolve(request_from(asked.design.model_dump(mode="json")), store)
    assert again.design == asked.design
    assert again.agents.keys() == asked.agents.keys()


def test_a_design_of_an_older_recipe_is_shown_but_not_played(store: Store) -> None:
    stored = lineup(store).design.model_dump(mode="json")
    with pytest.raises(UserError, match="use the release that made it"):
        resolve(request_from(stored | {"draw": stored["draw"] + 1}), store)


def test_an_agent_too_small_for_a_domain(store: Store) -> None:
    with pytest.raises(UserError, match="micro cannot play this"):
        lineup(store, sellers=["micro"])
    Registry(store).register([entry_from({"name": "small", "scripted": "micro"})])
    default = lineup(store, sellers=None)
    assert "small" not in {player.name for player in default.design.sellers}
    assert any("small is left out" in note for note in default.notes)


def test_planned_and_plan_agree(store: Store) -> None:
    design = lineup(store, infeasible=3, replicates=2, opener="both").design
    assert len(list(plan(design))) == len(set(plan(design))) == 2 * 2 * 5 * (2 * 1 + 2 * 2)
