"""Whole designs read match by match: all of them, in order, from one snapshot."""

import json

import numpy as np
import sqlalchemy as sa

from arena.measures import DTYPE
from arena.schedule import plan
from arena.store import Filter, streaming
from tests.arena.store import matches


def test_every_match_comes_once_with_its_scenario_and_measures(store, monkeypatch):
    monkeypatch.setattr(streaming, "CHUNK", 7)
    design = matches.design()
    made = {row.key: row for row in matches.fill(store, design)}
    other = matches.design(scenarios=5)
    scenarios = matches.freeze(store, other)
    extra = next(place for place in plan(other) if place.number == 4)
    store.add_matches([matches.row(other, extra, scenarios[extra.scenario])])
    chunks = list(store.whole(design))
    assert [len(chunk) for chunk in chunks] == [7, 7, 7, 7, 4]
    found = [whole for chunk in chunks for whole in chunk]
    assert [whole.match for whole in found] == store.matches(Filter(design=design))
    assert {whole.match.key for whole in found} == made.keys()
    for whole in found:
        assert whole.measures == made[whole.match.key].measures
        assert whole.scenario.key == whole.match.scenario_key
        terms = {term.name: term.options[0] for term in whole.scenario.terms}
        assert whole.match.agreed(whole.scenario) == terms


def test_withdrawn_matches_stay_and_void_attempts_follow(store):
    design = matches.design()
    scenarios = matches.freeze(store, design)
    scored, void = [matches.row(design, p, scenarios[p.scenario]) for p in plan(design)][:2]
    store.add_matches([scored])
    store.withdraw_match(scored.key, "a test")
    failed = void._replace(ending="provider_error", deal=None, seller_utility=None, buyer_utility=None)
    for _ in range(2):
        store.add_void(failed)
    found = [whole for chunk in store.whole(design) for whole in chunk]
    assert [(w.match.key, w.match.attempt, w.match.withdrawn_reason) for w in found] == [
        (scored.key, 0, "a test"),
        (void.key, 1, None),
        (void.key, 2, None),
    ]
    assert [w.measures is None for w in found] == [False, True, True]
    assert found[1].match.agreed(found[1].scenario) is None


def test_what_an_older_release_stored_meanwhile_is_measured(store):
    design = matches.design()
    matches.fill(store, design)
    with store._engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM measures"))
    found = [whole for chunk in store.whole(design) for whole in chunk]
    assert len(found) == 32
    assert {np.frombuffer(w.measures, DTYPE)[0]["terms"] for w in found} == {9}
    assert json.loads(found[0].match.deal) == [0] * 9


def test_a_design_that_nobody_played_has_none(store):
    design = matches.design()
    matches.freeze(store, design)
    assert list(store.whole(design)) == []


def test_writing_meanwhile_changes_nothing_of_what_is_read(store, monkeypatch):
    monkeypatch.setattr(streaming, "CHUNK", 4)
    design = matches.design()
    key = matches.fill(store, design)[0].key
    reading = store.whole(design)
    first = next(reading)
    store.withdraw_match(key, "later")
    rest = [whole for chunk in reading for whole in chunk]
    assert len(first) + len(rest) == 32
    assert {whole.match.withdrawn_at for whole in [*first, *rest]} == {None}
