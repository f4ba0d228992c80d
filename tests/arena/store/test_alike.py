"""Whatever is asked of a store, each database answers the same, in the same order."""

import random
from datetime import UTC, datetime
from pathlib import Path

from agents.agent import Trouble
from agents.language_model.book import Came
from arena.replays import replays
from arena.schedule import plan
from arena.store import Bill, Call, Filter, Store
from tests.arena.store.matches import design, freeze, row
from tests.arena.store.server import Server

PLAN = design(scenarios=6, replicates=2, infeasible=2)
REMOTE = {player.version for player in PLAN.sellers}


def fill(store: Store, seed: int) -> None:
    """Play the design in part, with voids, replays and calls."""
    chance = random.Random(seed)
    scenarios = freeze(store, PLAN)
    again = [place for places in replays(PLAN, REMOTE, 0.5).values() for place in places]
    scored = []
    for place in [*plan(PLAN), *again]:
        sides = {
            f"{side}_{what}": chance.choice([None, chance.uniform(1, 9)])
            for side in ("seller", "buyer")
            for what in ("cost_usd", "latency_s")
        }
        tokens = {
            f"{side}_tokens_{way}": chance.choice([None, chance.randrange(9_000)])
            for side in ("seller", "buyer")
            for way in ("in", "out")
        }
        played = row(PLAN, place, scenarios[place.scenario], **sides, **tokens)
        played = played._replace(
            started_at=f"2026-11-29T12:{chance.randrange(60):02}:00.000000+00:00",
            receipts=chance.choice([None, "{}", '{"seller":{"cached":1}}']),
            seller_utility=chance.random(),
        )
        for _ in range(chance.choice([0, 0, 1, 3])):
            how = {"at_fault": chance.choice([None, "seller", "buyer"]), "seller_utility": None}
            trouble = chance.choice([None, *Trouble])
            store.add_void(played._replace(ending="provider_error", trouble=trouble, **how))
        if chance.random() < 0.8:
            scored.append(played)
    store.add_matches(scored)
    calls = [
        Call(
            *("0" * 12, number, chance.choice(sorted(REMOTE)), None, chance.choice([1, 2]), "2026"),
            chance.choice([None, *Came]),
            None,
            *(chance.choice([None, chance.randrange(10**10)]) for _ in range(2)),
            *(chance.choice([None, chance.randrange(10**9)]) for _ in range(2)),
        )
        for number in range(200)
    ]
    store.enter(Bill("0" * 12, PLAN.hash, "2026", 10**12), calls, [])


def answers(store: Store) -> list[object]:
    """Ask all that is asked of a store."""
    since = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
    return [
        [list(part) for part in store.standing(PLAN)],
        store.pace(PLAN, since),
        store.void_counts(PLAN),
        store.results(PLAN).void_S_B_D.tolist(),
        store.replay_places(PLAN),
        store.replays(PLAN),
        store.costs(),
        store.charged(PLAN.hash),
        [store.mean_matches(player.version) for player in PLAN.players()],
        *(
            store.matches(Filter(design=design_of), voids=voids)
            for design_of in (None, PLAN)
            for voids in (0, 1)
        ),
        [[whole.match for whole in chunk] for chunk in store.whole(PLAN)],
    ]


def test_sqlite_and_postgresql_answer_alike(tmp_path: Path, postgres: Server, ready: str) -> None:
    with (
        postgres.database(ready) as address,
        Store.open(str(tmp_path / "arena.db")) as one,
        Store.open(address) as other,
    ):
        for store in (one, other):
            fill(store, 7)
        for ours, theirs in zip(answers(one), answers(other), strict=True):
            assert ours
            assert ours == theirs
