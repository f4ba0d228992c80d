"""Drift end to end: a served buyer that changes while a tournament goes on is found, one that stays the
same is not, and replays disturb nothing."""

import json
import sqlite3
from pathlib import Path
from random import Random

import numpy as np
import pytest

from arena.entry import entry_from
from arena.lineup import Lineup, request_from, resolve
from arena.registry import Registry
from arena.replays import replicates
from arena.store import Filter, Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from arena.waiting import MOST_ATTEMPTS
from leaderboard.inference.drift import Drift, drift
from tests.agents.language_model.scripted_api import Answer, chat, error, scripted_api
from tests.arena.running import rows

SCENARIOS = 64
SHARE = 0.5
FIRST_BLOCK = SCENARIOS // 8
REPLAYS = 7 * FIRST_BLOCK // 2
ASKED = {
    "sellers": ["linear", "conceder"],
    "buyers": ["served"],
    "domains": ["car_sale"],
    "opener": "seller",
    "scenarios": SCENARIOS,
    "analysis": {"bases": {"conceder": "linear"}},
}


class Served:
    """Answers for ever, as a list would that never ends: the buyer takes what it is first offered with
    the probability that `takes` gives for the number of answers so far, else it walks away."""

    def __init__(self, takes) -> None:
        self.takes, self.count, self.rng = takes, 0, Random(7)
        self.down = False

    def pop(self, _: int) -> Answer:
        if self.down:
            return error(401, "no")
        self.count += 1
        accepts = self.rng.random() < self.takes(self.count)
        return chat(json.dumps({"action": "accept" if accepts else "walk_away"}))


@pytest.fixture
def api():
    with scripted_api() as running:
        yield running


def lined_up(store: Store, address: str, **changes: object) -> Lineup:
    entry = {"name": "served", "model": "openai/test-model", "api_base": address, "price_in": 0.0}
    Registry(store).register([entry_from(entry | {"price_out": 0.0})])
    return resolve(request_from(ASKED | changes), store)


def played(store: Store, api, share: float = SHARE, **changes: object) -> Summary:
    lineup = lined_up(store, api.address, **changes)
    return Tournament(store, lineup, Settings(concurrency=1, drift=share)).run()


def found(store: Store) -> Drift | None:
    design = store.design().design
    return drift(design, store.replays(design))


def by_hand(path: Path, first: int) -> list[float]:
    """Return each replay's seller score less that of the first play, straight from the file."""
    with sqlite3.connect(path) as connection:
        return [
            again - before
            for again, before in connection.execute(
                "SELECT a.seller_utility, b.seller_utility FROM matches a JOIN matches b ON "
                "a.scenario_key = b.scenario_key AND a.seller_version = b.seller_version AND "
                "a.buyer_version = b.buyer_version AND b.replicate = 0 WHERE a.replicate > ?",
                [first],
            )
        ]


def test_a_buyer_that_changes_is_found_and_no_board_sees_the_replays(
    store: Store, api, tmp_path: Path
) -> None:
    """It takes every second offer at first, and none from the middle of the tournament on."""
    middle = SCENARIOS + REPLAYS // 2
    api.answers = Served(lambda count: 0.9 if count <= middle else 0.0)
    summary = played(store, api)
    assert (summary.planned, summary.played, summary.void) == (2 * SCENARIOS, 2 * SCENARIOS, 0)
    assert summary.complete
    assert summary.replayed == REPLAYS
    seen = found(store)
    differences = by_hand(tmp_path / "arena.db", 0)
    assert len(differences) == REPLAYS
    assert seen.overall.value == pytest.approx(np.mean(differences))
    assert seen.overall.p < 0.05
    assert seen.overall.value < -0.1
    early, late = ([seen.by_block[block].value for block in span] for span in ((1, 2, 3), (5, 6, 7)))
    assert max(late) < min(early)
    assert list(seen.by_seller) == ["linear"]
    results = store.results(store.design().design)
    assert len(results.seller_M) == 2 * SCENARIOS
    assert len(store.matches(Filter(design=store.design().design))) == 2 * SCENARIOS


def test_a_buyer_that_stays_the_same_is_not(store: Store, api) -> None:
    api.answers = Served(lambda count: 0.5)
    assert played(store, api).replayed == REPLAYS
    seen = found(store)
    low, high = seen.overall.interval()
    assert low < 0 < high
    assert set(seen.by_block) == set(range(1, 8))


def test_replays_follow_their_blocks(store: Store, api) -> None:
    api.answers = Served(lambda count: 0.5)
    played(store, api)
    design = store.design().design
    order = sorted(store.matches(Filter()), key=lambda match: match.started_at)
    last = 0
    for match in order:
        if match.replicate:
            assert match.replicate - replicates(design).start == last
        else:
            assert match.number * 8 // SCENARIOS in (last, last + 1)
            last = match.number * 8 // SCENARIOS


def test_a_run_that_goes_on_replays_nothing_twice(store: Store, api) -> None:
    api.answers = Served(lambda count: 0.5)
    lineup = lined_up(store, api.address)
    settings = Settings(concurrency=1, drift=SHARE)
    replayed = 0
    for stop_after in (20, 40, 70):
        run = Tournament(store, lineup, settings)
        begun = run.summary.already

        def tick(summary: Summary, run=run, enough=stop_after - begun) -> None:
            if summary.played >= enough:
                run.stop()

        replayed += run.run(tick).replayed
    assert replayed > 0
    rest = Tournament(store, lineup, settings)
    assert rest.replays <= REPLAYS - replayed
    summary = rest.run()
    assert summary.complete
    every = [match for match in store.matches(Filter()) if match.replicate]
    assert len(every) == len({match.key for match in every}) == REPLAYS
    asked = api.answers.count
    again = Tournament(store, lineup, settings)
    assert (again.replays, again.waiting) == (0, 0)
    assert again.run().complete
    assert api.answers.count == asked


def test_the_design_s_hash_and_scores_are_those_of_a_run_without(tmp_path: Path, api) -> None:
    scores = {}
    for share in (0.0, SHARE):
        api.answers = Served(lambda count: 0.0)  # its answers do not depend on how often it is asked
        path = tmp_path / f"{share}.db"
        with Store.open(str(path)) as store:
            summary = played(store, api, share, scenarios=16)
        scored = {key: row["seller_utility"] for key, row in rows(path).items() if not row["replicate"]}
        scores[share] = summary.design, scored
    assert scores[0.0] == scores[SHARE]


@pytest.mark.slow
def test_void_replays_harm_nothing(store: Store, api, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no void match of the design's, and are tried as often as any other match."""
    api.answers = Served(lambda count: 0.5)
    lineup = lined_up(store, api.address, scenarios=16)
    assert Tournament(store, lineup, Settings(concurrency=1)).run().complete
    api.answers.down = True
    settings = Settings(concurrency=1, drift=SHARE)
    for _ in range(MOST_ATTEMPTS * 7 + 1):
        run = Tournament(store, lineup, settings)
        if not run.replays:
            break
        summary = run.run()
        assert summary.complete
        assert (summary.void, summary.replayed) == (0, 0)
    assert not run.replays
    design = store.design().design
    assert store.standing(design).voids == {}
    assert not store.results(design).void_S_B_D.any()
    assert store.void_counts(design) == []
    assert found(store) is None
    tried = store.replay_places(design)[1]
    assert set(tried.values()) == {MOST_ATTEMPTS}
    api.answers.down = False
    again = Tournament(store, lineup, Settings(concurrency=1, drift=SHARE, retry_voids=True))
    assert again.replays == len(tried) > 0
    assert again.run().replayed == len(tried)


def test_nothing_is_replayed_where_nobody_is_served(store: Store, api) -> None:
    lineup = lined_up(store, api.address, buyers=["boulware"], scenarios=16)
    run = Tournament(store, lineup, Settings(drift=1.0))
    assert run.replays == 0
    assert run.run().replayed == 0


def test_a_later_design_replays_what_an_earlier_one_played(store: Store, api) -> None:
    """Where only an arm is new, its base was played on another day: just then drift matters."""
    api.answers = Served(lambda count: 0.5)
    played(store, api, scenarios=16)
    first = store.design().design
    more = {"sellers": ["linear", "conceder", "boulware"], "analysis": {"bases": {"boulware": "linear"}}}
    summary = played(store, api, scenarios=16, **more)
    assert summary.already == 32
    assert summary.replayed == 7
    second = store.design().design
    assert second.hash != first.hash
    keys = [{replay.key for replay in store.replays(design)} for design in (first, second)]
    assert [len(own) for own in keys] == [7, 7]
    assert not keys[0] & keys[1]
