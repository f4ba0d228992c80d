"""A page of matches that is found by packs is the one that the database would list."""

import random
from collections.abc import Callable

from arena.store import Filter, Store
from tests.arena.store.test_packing import DESIGNS, ENDINGS, played

NEVER = 0.4
"""How often a filter is left open."""


def filters(chance: random.Random) -> Filter:
    """Return some filter."""
    plan_of = chance.choice(DESIGNS)

    def maybe(choose: Callable[[], object]) -> object:
        return None if chance.random() < NEVER else choose()

    versions = [player.version for player in plan_of.players()]
    chosen = {
        "design": maybe(lambda: plan_of),
        "sellers": maybe(lambda: chance.sample(versions, 3)),
        "buyers": maybe(lambda: chance.sample(versions, 3)),
        "domains": maybe(lambda: chance.sample(["coffee_import", "car_sale", "nowhere"], 2)),
        "ending": maybe(lambda: chance.choice(ENDINGS)) if chance.random() < NEVER else None,
        "opener": maybe(lambda: chance.choice(["seller", "buyer"])),
        "replicate": maybe(lambda: chance.choice([0, 1])) if chance.random() < NEVER else None,
        "begun_before": maybe(lambda: "2030") if chance.random() < NEVER else None,
    }
    flags = {name: chance.random() < NEVER for name in ("withdrawn", "faulty")}
    return Filter(**chosen, **flags)  # type: ignore[arg-type]


def test_pages_found_by_packs_are_those_that_the_database_lists(store: Store) -> None:
    chance = random.Random(12)
    for plan_of in DESIGNS:
        rows = played(store, plan_of, chance)
        store.add_matches(rows)
        store.withdraw_match(rows[4].key, "a test")
    full = 0
    for _ in range(60):
        wanted = filters(chance)
        every = store.matches(wanted)  # without a limit, by the database
        full += len(every) > 5
        assert store.count(wanted) == len(every)
        start, size = chance.randrange(len(every) + 1), chance.randrange(1, 30)
        assert store.matches(wanted, limit=size, offset=start) == every[start : start + size]
    assert full > 20


def test_what_was_found_is_found_anew_once_the_record_changes(store: Store, address: str) -> None:
    rows = played(store, DESIGNS[0], random.Random(13))
    wanted = Filter(design=DESIGNS[0])
    store.add_matches(rows[:30])
    before = store.count(wanted)
    with Store.open(address) as other:
        other.add_matches(rows[30:])
    assert store.count(wanted) > before
    listed = store.matches(wanted, limit=3)
    with Store.open(address) as other:
        other.withdraw_match(listed[0].key, "a test")
    assert store.matches(wanted, limit=2) == listed[1:]
