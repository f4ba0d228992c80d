"""How fast a design is played: which matches count, and since when."""

from datetime import UTC, datetime

from arena.schedule import plan
from arena.store import Store
from tests.arena.store.matches import design, freeze, row


def test_matches_are_counted_since_a_time_and_withdrawn_ones_are_not(store: Store) -> None:
    plan_of = design()
    scenarios = freeze(store, plan_of)
    times = [f"2026-11-29T10:0{minute}:00.000000+00:00" for minute in range(6)]
    rows = [
        row(plan_of, place, scenarios[place.scenario], started_at=time)
        for place, time in zip(plan(plan_of), times, strict=False)
    ]
    store.add_matches(rows)
    since = datetime(2026, 11, 29, 10, 3, tzinfo=UTC)
    found = store.pace(plan_of, since)
    assert found == (6, 3, rows[3].started_at, rows[5].started_at)
    store.withdraw_match(rows[5].key, "a test")
    assert store.pace(plan_of, since) == (5, 2, rows[3].started_at, rows[4].started_at)
    assert store.pace(design(seed=1), since) == (0, 0, None, None)
