"""A server that is started again while language models are asked: nothing is paid for twice, or void."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.lineup import request_from, resolve
from arena.money import NANO
from arena.store import Filter, Store
from arena.summary import Summary
from arena.tournament import Settings, Tournament
from tests.agents.language_model.faulty_api import FaultyApi
from tests.arena.store.server import Breakable
from tests.arena.test_spending import charge, ledger
from tests.arena.tournament.test_money import DESIGN, api, bill, registered

__all__ = ["api", "bill"]


def play(address: str, api: FaultyApi, tick: Callable[[Summary], None], **settings: Any) -> Summary:
    with Store.open(address) as store:
        registered(store, api.address)
        tournament = Tournament(
            store, resolve(request_from(DESIGN), store), Settings(concurrency=8, **settings)
        )
        return tournament.run(tick)


def endings(address: str) -> dict[str, tuple[object, ...]]:
    with Store.open(address) as store:
        return {
            row.key: (row.ending, row.seller_utility, row.buyer_utility)
            for row in store.matches(Filter())
        }


@pytest.mark.slow
@pytest.mark.parametrize("cache", [False, True])
def test_calls_outlast_a_server_that_is_started_again(
    tmp_path: Path, server: Breakable, on_server: str, api: FaultyApi, bill: list[int], cache: bool
) -> None:
    other = str(tmp_path / "arena.db")
    assert play(other, api, lambda summary: None, budget=1000.0, cache=cache).complete
    asked = len(bill)
    seen: list[str] = []

    def break_in(summary: Summary) -> None:
        if summary.played > 2 and not seen:
            seen.append("it plays")
            server.crash()
        elif summary.away is not None and seen == ["it plays"]:
            seen.append("it has noticed")
        elif summary.away is not None and seen[-1] == "it has noticed":
            seen.append("it has noticed again")
            server.start()

    summary = play(on_server, api, break_in, budget=1000.0, cache=cache)
    assert seen == ["it plays", "it has noticed", "it has noticed again"]
    assert summary.away is None
    assert summary.complete
    assert not summary.void_attempts
    assert endings(on_server) == endings(other)
    calls, total = ledger(on_server)
    made = [row for row in calls if row["came"] != "cached"]
    assert [row["came"] for row in made] == ["answer"] * asked
    assert len(bill) == 2 * asked
    assert sum(bill[asked:]) == sum(map(charge, calls)) == total < 1000 * NANO
