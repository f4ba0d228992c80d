"""What a tournament commits, and in which order."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from arena import ledger as ledgers
from arena import patience
from arena.ledger import Ledger
from arena.patience import Patience
from arena.record import Drawn, Played, drawn
from arena.schedule import plan
from arena.store import Filter, Store, StoreError, Unavailable
from scenarios.draw import DRAW_VERSION
from tests.arena.store.matches import design, freeze, row

AWAY = Unavailable("the server is started again")


def test_no_match_is_kept_before_the_calls_it_was_played_with() -> None:
    """So that a kill between the two leaves no match whose costs nobody knows."""
    plan_of, kept = design(), []
    with Store.open("sqlite://") as store:
        scenarios = freeze(store, plan_of)
        with Ledger(store, beside=lambda: kept.append(store.count(Filter()))) as ledger:
            for place in list(plan(plan_of))[:2]:
                scenario = scenarios[place.scenario]
                ledger.add(drawn(scenario, DRAW_VERSION), row(plan_of, place, scenario))
                ledger.flush()
        assert kept == [0, 1, 2]
        assert store.count(Filter()) == 2


@pytest.fixture
def finished(store: Store) -> Iterator[tuple[Drawn, Played]]:
    """Matches that are yet to be kept, with their scenarios."""
    plan_of = design()
    scenarios = freeze(store, plan_of)
    return (
        (drawn(scenarios[place.scenario], DRAW_VERSION), row(plan_of, place, scenarios[place.scenario]))
        for place in plan(plan_of)
    )


def fails(what: Callable[..., Any], times: int, before: bool) -> Callable[..., Any]:
    """Return `what` as a server does it that is away some times: `before` it is done, or after, when
    nobody can tell."""
    left = [times]

    def done(*given: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0 and before:
            raise AWAY
        found = what(*given, **more)
        if left[0] >= 0:
            raise AWAY
        return found

    return done


@pytest.mark.parametrize("before", [True, False])
def test_what_a_database_could_not_take_is_kept_for_it(
    store: Store,
    finished: Iterator[tuple[Drawn, Played]],
    monkeypatch: pytest.MonkeyPatch,
    before: bool,
) -> None:
    """Once, also where it is not known what came of the first try."""
    told: list[str | None] = []
    monkeypatch.setattr(ledgers, "PAUSE_S", 0.0)
    monkeypatch.setattr(store, "add_matches", fails(store.add_matches, 3, before))
    monkeypatch.setattr(store, "add_void", fails(store.add_void, 2, before))
    with Ledger(store, patience=Patience(told.append)) as ledger:
        for _ in range(3):
            ledger.add(*next(finished))
            ledger._due = 0.0
            ledger.flush_if_due()
        assert len(ledger.unwritten) == 3
        scenario, void = next(finished)
        ledger.add_void(scenario, void._replace(ending="provider_error"))
    assert not ledger.unwritten
    assert store.count(Filter()) == 3
    assert store.count(Filter(), voids=True) == 1
    assert told[0] == str(AWAY)
    assert told[-1] is None
    assert told.count(None) == 1


def test_no_more_is_kept_than_is_committed_at_once(
    store: Store, finished: Iterator[tuple[Drawn, Played]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it waits for the database, and is given matches no sooner."""
    monkeypatch.setattr(ledgers, "PAUSE_S", 0.0)
    monkeypatch.setattr(ledgers, "COMMIT_ROWS", 2)
    monkeypatch.setattr(store, "add_matches", fails(store.add_matches, 5, before=True))
    with Ledger(store) as ledger:
        for kept in (1, 0):
            ledger.add(*next(finished))
            ledger.flush_if_due()
            assert len(ledger.unwritten) == kept
    assert store.count(Filter()) == 2


@pytest.mark.parametrize("error", [AWAY, StoreError("the disk is full")])
def test_patience_ends(
    store: Store,
    finished: Iterator[tuple[Drawn, Played]],
    monkeypatch: pytest.MonkeyPatch,
    error: StoreError,
) -> None:
    """At once where waiting is of no use. What could not be written is there to be counted."""
    tries = []

    def away(rows: object) -> None:
        tries.append(rows)
        raise error

    monkeypatch.setattr(patience, "PATIENCE_S", 0.02)
    monkeypatch.setattr(ledgers, "PAUSE_S", 0.01)
    monkeypatch.setattr(store, "add_matches", away)
    ledger = Ledger(store)
    with pytest.raises(StoreError, match=str(error)), ledger:
        ledger.add(*next(finished))
    assert len(ledger.unwritten) == 1
    assert (len(tries) > 1) == (error is AWAY)
