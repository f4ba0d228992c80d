"""What counts towards a served model's turn limit, through whole tournaments over real HTTP."""

from typing import Any

import pytest

from arena.entry import entry_from
from arena.lineup import request_from, resolve
from arena.registry import Registry
from arena.store import Filter, Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.agents.language_model.conftest import _warm, faulty
from tests.agents.language_model.faulty_api import FaultyApi, always

__all__ = ["_warm", "faulty"]
MATCHES = 6


def run(store: Store, api: FaultyApi, turn_timeout: float, **setting: Any) -> Summary:
    entry = {"name": "m", "model": "hosted_vllm/m", "api_base": api.address, **setting}
    Registry(store).register([entry_from(entry)])
    asked = {"sellers": ["m"], "buyers": ["linear"], "domains": ["car_sale"], "opener": "seller"}
    lineup = resolve(request_from(asked | {"scenarios": MATCHES}), store)
    return Tournament(store, lineup, Settings(concurrency=MATCHES, turn_timeout=turn_timeout)).run()


def test_waiting_for_others_is_not_the_providers_silence(store: Store, faulty: FaultyApi) -> None:
    """All matches queue for one place: from call to call each waits for longer than a turn may take."""
    faulty.plan, faulty.latency_s = always("refusal"), 0.5  # three answers end a match
    summary = run(store, faulty, turn_timeout=2.0, max_concurrent=1)
    assert (summary.played, summary.void) == (MATCHES, 0)
    assert len(faulty.requests) == 3 * MATCHES
    assert store.matches(Filter(), voids=True) == []
    assert faulty.most_busy == 1


@pytest.mark.parametrize("timeout", [None, 300])
def test_a_stream_that_still_talks_at_the_turns_limit_forfeits(
    store: Store, faulty: FaultyApi, timeout: int | None
) -> None:
    faulty.plan = always("stream_without_end")
    summary = run(store, faulty, turn_timeout=2.0, stream=True, timeout=timeout)
    assert (summary.played, summary.void) == (MATCHES, 0)
    found = {(m.ending, m.at_fault, m.turn_timeout_s) for m in store.matches(Filter())}
    assert found == {("forfeit_timeout", "seller", 2.0)}
    assert len(faulty.requests) == MATCHES
