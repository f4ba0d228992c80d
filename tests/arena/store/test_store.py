"""The store: what is committed stays as it was, and comes back as it went in."""

import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from agents.agent import ActionKind, Usage
from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.measures import DTYPE
from arena.play import Attempt, Turn
from arena.record import spent, storable
from arena.schedule import plan, planned
from arena.store import Filter, Registration, Store, StoreError
from scenarios.scenario import Role
from tests.arena.running import rows
from tests.arena.store.matches import design, fill, freeze, row


def test_a_committed_match_is_never_overwritten(store: Store, address: str) -> None:
    made = fill(store, design())
    before = rows(address)
    again = [match._replace(seller_utility=0.9, worker="2") for match in made]
    store.add_matches(again)
    assert rows(address) == before
    assert len(before) == len(made) == planned(design())


def test_a_batch_is_stored_whole_or_not_at_all(store: Store, address: str) -> None:
    plan_of = design()
    scenarios = freeze(store, plan_of)
    good, bad = list(plan(plan_of))[:2]
    unknown = row(plan_of, bad, scenarios[bad.scenario], scenario_key="0" * 32)
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        store.add_matches([row(plan_of, good, scenarios[good.scenario]), unknown])
    assert rows(address) == {}


def test_every_planned_match_has_a_key_of_its_own(store: Store) -> None:
    plan_of = design(infeasible=2, replicates=2, opener="both")
    scenarios = freeze(store, plan_of)
    keys = [place.key(plan_of, scenarios[place.scenario].key).text for place in plan(plan_of)]
    assert len(keys) == len(set(keys)) == planned(plan_of)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"replicates": 3},
        {"opener": "both"},
        {"opener": "buyer", "turns": 4},
        {"infeasible": 3, "seed": 2},
    ],
    ids=str,
)
def test_a_design_reads_its_own_matches_only(store: Store, settings: dict[str, object]) -> None:
    """Matches of neighbouring designs lie in the same tables; each reads what it plans."""
    neighbours = [design(), design(replicates=3, opener="both"), design(turns=4), design(seed=2)]
    for other in neighbours:
        fill(store, other)
    plan_of = design(**settings)
    fill(store, plan_of)
    found = store.results(plan_of)
    assert len(found.seller_M) == planned(plan_of)
    now = store.standing(plan_of)
    assert now.scored_M.all()
    assert not now.withdrawn_M.any()
    assert not now.voids
    assert found.planned_S_B_D.sum() == found.feasible_M.sum()
    assert len(store.matches(Filter(design=plan_of))) == planned(plan_of)


def test_columns_say_what_the_rows_say(store: Store) -> None:
    plan_of = design(infeasible=1)
    scenarios = freeze(store, plan_of)
    places = list(plan(plan_of))
    for number, place in enumerate(places):
        utility, ending = number / 1000, ("deadline", "agreement", "forfeit_code")[number % 3]
        changes = {"seller_utility": utility, "buyer_utility": 1 - utility, "ending": ending}
        if ending == "forfeit_code":
            changes["at_fault"] = ("seller", "buyer")[number % 2]
        changes |= {"seller_faults": number % 5, "buyer_faults": number % 7}
        store.add_matches([row(plan_of, place, scenarios[place.scenario], **changes)])
    found = store.results(plan_of)
    order = np.argsort(found.seller_utility_M)
    for number, at in enumerate(order):
        place = places[number]
        assert plan_of.sellers[found.seller_M[at]].version == place.seller_version
        assert plan_of.buyers[found.buyer_M[at]].version == place.buyer_version
        assert plan_of.domains[found.domain_M[at]].version == place.domain_version
        assert found.seller_opens_M[at] == (place.opener == Role.SELLER)
        assert found.feasible_M[at] == place.feasible
        assert found.replicate_M[at] == place.replicate
        assert found.deal_M[at] == (number % 3 == 1)
        forfeits = (found.seller_forfeits_M[at], found.buyer_forfeits_M[at])
        assert forfeits == (number % 6 == 2, number % 6 == 5)
        assert (found.seller_faults_M[at], found.buyer_faults_M[at]) == (number % 5, number % 7)
        assert found.buyer_utility_M[at] == 1 - number / 1000
    clusters = {(found.scenario_M[at], *places[n].scenario) for n, at in enumerate(order)}
    assert len(clusters) == len({place.scenario for place in places})


def test_columns_of_usage_are_unknown_where_any_part_is(store: Store) -> None:
    plan_of = design()
    scenarios = freeze(store, plan_of)
    first, second, third, *_ = plan(plan_of)
    known = {
        "buyer_tokens_in": 900,
        "buyer_tokens_out": 100,
        "buyer_cost_usd": 0.5,
        "buyer_latency_s": 9.0,
    }
    changes = {
        first: known,
        second: known | {"buyer_tokens_out": None, "buyer_cost_usd": None},
        third: {},
    }
    made = {
        row(plan_of, place, scenarios[place.scenario], **usage).key: usage
        for place, usage in changes.items()
    }
    store.add_matches(row(plan_of, at, scenarios[at.scenario], **usage) for at, usage in changes.items())
    found = store.results(plan_of)
    assert sorted(found.key_M) == sorted(made)
    for number, key in enumerate(found.key_M):
        usage = made[str(key)]
        tokens = usage.get("buyer_tokens_in"), usage.get("buyer_tokens_out")
        expected = np.nan if None in tokens else sum(tokens)
        np.testing.assert_equal(found.tokens_M_R[number], [np.nan, expected])
        cost, latency = (usage.get(f"buyer_{what}") for what in ("cost_usd", "latency_s"))
        np.testing.assert_equal(found.cost_M_R[number], [np.nan, np.nan if cost is None else cost])
        np.testing.assert_equal(
            found.latency_M_R[number], [np.nan, np.nan if latency is None else latency]
        )


def test_a_match_is_fresh_if_it_began_after_the_freeze(store: Store) -> None:
    plan_of = design()
    scenarios = freeze(store, plan_of)
    frozen = store.design().created_at
    times = (frozen, "2000-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000000+00:00")
    made = [
        row(plan_of, place, scenarios[place.scenario], started_at=at)
        for place, at in zip(plan(plan_of), times, strict=False)
    ]
    store.add_matches(made)
    found = store.results(plan_of)
    fresh = dict(zip(found.key_M, found.fresh_M, strict=True))
    assert [fresh[match.key] for match in made] == [True, False, True]
    larger = design(scenarios=5)
    assert not store.results(larger).fresh_M.any()
    freeze(store, larger)
    assert store.results(larger).fresh_M.tolist() == [key == made[2].key for key in found.key_M]


def test_measures_come_back_beside_their_match(store: Store) -> None:
    plan_of = design()
    scenarios = freeze(store, plan_of)
    made = {}
    for number, place in enumerate(plan(plan_of)):
        measures = np.zeros((), DTYPE)
        measures["turns"] = number, number + 1
        said = None if number % 3 else f'[["word {number}"],[]]'
        found = row(plan_of, place, scenarios[place.scenario], measures=measures.tobytes(), words=said)
        made[found.key] = (number, said)
        store.add_matches([found])
    results = store.results(plan_of)
    assert results.measures_M.dtype == DTYPE
    found = {
        str(key): (measures["turns"][0], said)
        for key, measures, said in zip(results.key_M, results.measures_M, results.words_M, strict=True)
    }
    assert found == made


def test_a_design_without_matches_has_empty_columns(store: Store) -> None:
    found = store.results(design())
    assert len(found.key_M) == len(found.measures_M) == len(found.words_M) == 0
    assert found.tokens_M_R.shape == found.cost_M_R.shape == found.latency_M_R.shape == (0, 2)
    assert found.measures_M.dtype == DTYPE


def test_withdrawn_matches_stay_visible_and_leave_the_results(store: Store) -> None:
    plan_of = design()
    first, *others = fill(store, plan_of)
    store.withdraw_match(first.key, "played by mistake")
    assert len(store.results(plan_of).seller_M) == len(others)
    assert first.key not in {match.key for match in store.matches(Filter())}
    shown = next(m for m in store.matches(Filter(withdrawn=True)) if m.key == first.key)
    assert shown.withdrawn_reason == "played by mistake"
    now = store.standing(plan_of)
    assert (now.withdrawn_M.tolist(), now.scored_M.tolist()) == (
        [True] + [False] * len(others),
        [False] + [True] * len(others),
    )


def test_void_cells_are_those_that_were_tried_in_vain(store: Store) -> None:
    plan_of = design()
    scenarios = freeze(store, plan_of)
    one, two, *_ = places = list(plan(plan_of))
    void = {"ending": "provider_error", "seller_utility": None, "buyer_utility": None, "deal": None}
    for place in (one, one, two):
        store.add_void(row(plan_of, place, scenarios[place.scenario], **void))
    store.add_matches([row(plan_of, two, scenarios[two.scenario])])
    assert store.standing(plan_of).voids == {one: 2}
    assert store.results(plan_of).void_S_B_D.sum() == 1
    attempts = [m.attempt for m in store.matches(Filter(), voids=True)]
    assert sorted(attempts) == [1, 1, 2]
    assert len(places) == planned(plan_of)


def test_every_write_raises_the_revision(store: Store) -> None:
    plan_of, seen = design(), [store.revision()]
    made = fill(store, plan_of)
    seen.append(store.revision())
    store.withdraw_match(made[0].key, "why not")
    seen.append(store.revision())
    agent = Registration("a", spec_of("linear"), "both", Profile(), Connection(), "2026")
    store.add_registrations([agent])
    seen.append(store.revision())
    assert seen == sorted(set(seen))
    assert store.results(plan_of).revision == seen[-1]


def test_results_are_of_one_moment(store: Store, address: str) -> None:
    """Another process writes between two statements of the reading."""
    made, plan_of = fill(store, design()), design()
    before, wrote = store.results(plan_of), []
    with Store.open(address) as other:

        def meanwhile(connection: object, cursor: object, statement: str, *rest: object) -> None:
            if "FROM state" in statement and not wrote:
                wrote.append(other.withdraw_match(made[0].key, "meanwhile"))

        sa.event.listen(store._engine, "after_cursor_execute", meanwhile)
        found = store.results(plan_of)
    assert wrote
    assert (found.revision, len(found.key_M)) == (before.revision, len(made))
    assert store.results(plan_of).revision == found.revision + 1


def test_readers_see_whole_batches_while_one_writes(store: Store, address: str) -> None:
    """WAL: a reader neither waits for the writer nor ever sees half of a transaction."""
    plan_of = design(scenarios=16)
    scenarios = freeze(store, plan_of)
    made = [row(plan_of, place, scenarios[place.scenario]) for place in plan(plan_of)]
    batch = 8
    assert len(made) % batch == 0
    seen: list[int] = []
    done = threading.Event()

    def read() -> None:
        with Store.open(address, create=False) as reader:
            while not done.is_set():
                seen.append(len(reader.results(plan_of).seller_M))

    thread = threading.Thread(target=read)
    thread.start()
    for start in range(0, len(made), batch):
        store.add_matches(made[start : start + batch])
        time.sleep(0.005)
    done.set()
    thread.join()
    assert len(set(seen)) > 2
    assert seen == sorted(seen)
    assert all(count % batch == 0 for count in seen)


def test_two_writers_wait_for_each_other(store: Store, address: str) -> None:
    plan_of = design(scenarios=16)
    scenarios = freeze(store, plan_of)
    made = [row(plan_of, place, scenarios[place.scenario]) for place in plan(plan_of)]

    def write() -> None:
        with Store.open(address) as other:
            for match in made:
                other.add_matches([match])

    thread = threading.Thread(target=write)
    thread.start()
    for match in reversed(made):
        store.add_matches([match])
    thread.join()
    assert len(rows(address)) == len(made)


def test_scenarios_come_back_as_they_were_drawn(store: Store) -> None:
    scenarios = freeze(store, design(infeasible=1))
    back = store.scenarios(scenario.key for scenario in scenarios.values())
    assert set(back.values()) == set(scenarios.values())


def test_another_draw_of_a_stored_scenario_is_refused(store: Store) -> None:
    from arena.record import drawn
    from scenarios.draw import DRAW_VERSION

    scenario = next(iter(freeze(store, design()).values()))
    other = drawn(scenario, DRAW_VERSION)._replace(key="f" * 32)
    with pytest.raises(StoreError, match="another release"):
        store.add_scenarios([other])


def test_pragmas(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "arena.db")) as store:
        fill(store, design())
    with sqlite3.connect(tmp_path / "arena.db") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_match_is_found_by_the_start_of_its_key(store: Store) -> None:
    made = fill(store, design())
    key = made[0].key
    assert store.match(key).key == store.match(key[:12].upper()).key == key
    with pytest.raises(StoreError, match="no match"):
        store.match("g123")
    with pytest.raises(StoreError, match="more than one"):
        store.match("")


def test_odd_text_is_storable(store: Store) -> None:
    assert storable("a\ud800b\0c") == "a\\ud800b\\x00c"
    assert storable("прайс 価格") == "прайс 価格"


def test_more_tokens_than_can_be_true_are_not_known(store: Store) -> None:
    """A provider said so, and a column of PostgreSQL holds no more than 2,147,483,647."""
    plan_of = design()
    scenarios = freeze(store, plan_of)
    for place, calls in zip(plan(plan_of), (1, 2), strict=False):
        attempts = (Attempt("x", None, Usage(10**9, 10**9, 0.5, 1.0)),) * calls
        took = spent([Turn(Role.SELLER, ActionKind.TALK, None, "", "", attempts)], Role.SELLER)
        told = {f"seller_{name}": value for name, value in took._asdict().items()}
        store.add_matches([row(plan_of, place, scenarios[place.scenario], **told)])
    tokens = store.results(plan_of).tokens_M_R[:, 0]
    np.testing.assert_equal(sorted(tokens), [2 * 10**9, np.nan])
