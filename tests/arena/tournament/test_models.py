"""Language models in a tournament: what is counted and kept of them, and what never is."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agents.language_model import gateway
from arena import workers
from arena.entry import entry_from
from arena.lineup import request_from, resolve
from arena.registry import Registry
from arena.store import Filter, Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.agents.language_model.scripted_api import chat, error, scripted_api

SECRET = "hunter2-do-not-store"
ASKED = {"sellers": ["m"], "buyers": ["linear"], "domains": ["car_sale"], "opener": "seller"}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    monkeypatch.setenv("TEST_MODEL_KEY", SECRET)
    with scripted_api() as running:
        yield running


def run(store: Store, address: str, **changes: object) -> Summary:
    entry = {
        "name": "m",
        "model": "openai/test-model",
        "api_base": address,
        "api_key_env": "TEST_MODEL_KEY",
        "price_in": 2.0,
        "price_out": 10.0,
    }
    Registry(store).register([entry_from(entry)])
    lineup = resolve(request_from(ASKED | changes), store)
    return Tournament(store, lineup, Settings(concurrency=3)).run()


def answer(**content: object) -> str:
    return json.dumps(content)


def test_tokens_cost_and_faults_are_counted(store: Store, api) -> None:
    walk = chat(answer(action="walk_away", message="no", reasoning="bad terms"))
    api.answers = [chat("no json here"), walk]
    assert run(store, api.address, scenarios=1).complete
    (match,) = store.matches(Filter())
    assert (match.ending, match.turns) == ("walk_away", 1)
    assert (match.seller_tokens_in, match.seller_tokens_out) == (2000, 100)
    assert match.tokens == 2100
    assert match.cost_usd == pytest.approx((2000 * 2 + 100 * 10) / 1e6)
    assert (match.seller_faults, match.buyer_faults) == (1, 0)
    assert match.seller_latency_s is not None
    assert match.seller_latency_s > 0
    assert match.buyer_tokens_in is match.buyer_cost_usd is None
    (turn,) = store.turns(match)
    assert turn.attempts[0].text == "no json here"
    assert store.receipts(match)["seller"]["model"] == "openai/test-model"


def test_a_key_is_sent_and_never_stored(store: Store, api, tmp_path: Path) -> None:
    refusal = error(401, f"Incorrect API key provided: {SECRET}")
    api.answers = [refusal, chat(answer(action="walk_away"))] + [refusal] * 50
    assert not run(store, api.address, scenarios=2).complete
    assert any(SECRET in headers.get("authorization", "") for headers in api.headers)
    assert len(store.matches(Filter(), voids=True)) > 0
    for file in tmp_path.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


def test_a_provider_that_is_down_voids_and_the_next_run_goes_on(store: Store, api) -> None:
    api.answers = [error(500, "out of order")] * 500
    summary = run(store, api.address, scenarios=12)
    assert (summary.played, summary.void, summary.left) == (0, 0, 12)
    assert summary.set_aside
    voids = store.matches(Filter(), voids=True)
    assert {(v.ending, v.at_fault, v.seller_utility) for v in voids} == {
        ("provider_error", "seller", None)
    }
    assert len(voids) < 12
    api.answers = [chat(answer(action="walk_away"))] * 12
    again = run(store, api.address, scenarios=12)
    assert (again.already, again.played, again.left) == (0, 12, 0)


def test_matches_are_under_way_at_once(store: Store, api) -> None:
    late = chat(answer(action="walk_away"))
    late.delay_s = 0.3
    api.answers = [late] * 9
    summary = run(store, api.address, scenarios=9)
    assert summary.complete
    played = [
        (datetime.fromisoformat(match.started_at), timedelta(seconds=match.seconds))
        for match in store.matches(Filter())
    ]
    first, second, third, fourth, *others = sorted(played)
    assert len(others) == 5
    ends = [begun + took for begun, took in (first, second, third)]
    assert third[0] < min(ends) <= fourth[0]


def test_a_plug_in_has_its_own_limit_against_a_model(
    store: Store, api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the time that a model has for its provider's retries; and its own limit is on record."""
    monkeypatch.setattr(workers, "PLUGIN_TIMEOUT_S", 0.2)
    entry = {"name": "hang", "plugin": "tests.arena.bots:Hang"}
    Registry(store).register([entry_from(entry)])
    late = chat(answer(action="walk_away"))
    late.delay_s = 0.5
    api.answers = [late]
    monkeypatch.setattr(workers, "MODEL_TIMEOUT_S", 5.0)
    assert run(store, api.address, sellers=["hang"], buyers=["m"], scenarios=1).complete
    assert run(store, api.address, scenarios=1).complete
    found = {(m.ending, m.at_fault, m.turn_timeout_s) for m in store.matches(Filter())}
    assert found == {("forfeit_timeout", "seller", 0.2), ("walk_away", None, 5.0)}
