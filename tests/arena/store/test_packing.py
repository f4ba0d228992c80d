"""What boards read is what the rows of the matches say, however these came there."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from arena.design import Design
from arena.measures import DTYPE, Yardstick
from arena.record import Played
from arena.results import Results
from arena.schedule import plan
from arena.store import Store, packing, packs
from arena.store.models import MATCHES, MEASURES, PACKS
from scenarios.scenario import Role
from tests.arena.store.matches import design, freeze, row
from tests.arena.store.raw import connected, contents, execute, make_as_of

ENDINGS = ("agreement", "walk_away", "deadline", "forfeit_format", "forfeit_timeout", "forfeit_code")
DESIGNS = (
    design(scenarios=6, replicates=2, infeasible=2),
    design(scenarios=3, opener="both", turns=4),
    design(scenarios=3, opener="buyer", seed=1),
    design(scenarios=5, replicates=3),
)
"""They share some of their matches."""


def played(store: Store, plan_of: Design, chance: random.Random) -> list[Played]:
    """Return made-up matches at most places of a design, and at replicates that it does not plan."""
    scenarios = freeze(store, plan_of)
    places = [place for place in plan(plan_of) if chance.random() < 0.9]
    places += [place._replace(replicate=3 + chance.randrange(10**6)) for place in places[:5]]
    found = []
    for place in places:
        measures = np.zeros((), DTYPE)
        for name in ("turns", "faults", "walk_away"):
            measures[name] = chance.randrange(9)
        measures["distance"] = chance.choice([np.nan, 0.25])
        usage = {
            f"{side}_{what}": chance.choice([None, chance.randrange(9_000)])
            for side in ("seller", "buyer")
            for what in ("tokens_in", "tokens_out", "cost_usd", "latency_s")
        }
        made = row(plan_of, place, scenarios[place.scenario], **usage)
        found.append(
            made._replace(
                ending=chance.choice(ENDINGS),
                at_fault=chance.choice([None, "seller", "buyer"]),
                seller_utility=chance.random(),
                buyer_faults=chance.choice([0, 0, 7]),
                started_at=chance.choice([made.started_at, "2999-01-01T00:00:00.000000+00:00"]),
                measures=measures.tobytes(),
                words=chance.choice([None, None, '[["oké"],[]]']),
            )
        )
    return found


def told(found: Results) -> dict[str, list[str]]:
    """Return what the columns say of each match, by its key."""
    names = ("seller_M", "buyer_M", "domain_M", "feasible_M", "seller_opens_M", "replicate_M")
    names += ("seller_utility_M", "buyer_utility_M", "deal_M", "seller_forfeits_M", "buyer_forfeits_M")
    names += ("seller_faults_M", "buyer_faults_M", "fresh_M", "scenario_M")
    names += ("tokens_M_R", "cost_M_R", "latency_M_R", "words_M")
    columns = [getattr(found, name) for name in names]
    plain = [one.tolist() if isinstance(one, np.ndarray) else one for one in columns]
    rows = zip(*plain, [one.tobytes() for one in found.measures_M], strict=True)
    keys = found.key_M.tolist()
    assert len(keys) == len(set(keys))
    return {key: [*map(repr, row)] for key, row in zip(keys, rows, strict=True)}


def expected(address: str, plan_of: Design) -> dict[str, list[str]]:
    """Say the same from the rows alone, one by one."""
    tables = contents(address)
    planned = {
        place.key(plan_of, scenario["key"]).text: place
        for scenario in tables["scenarios"]
        for place in plan(plan_of)
        if scenario["split"] == "eval"
        and place.scenario
        == (scenario["domain_version"], scenario["number"], bool(scenario["feasible"]))
    }
    rows = {m["key"]: m for m in tables["matches"] if m["withdrawn_at"] is None and m["key"] in planned}
    measured = {m["key"]: m for m in tables["measures"]}
    frozen = {d["hash"]: d["created_at"] for d in tables["designs"]}[plan_of.hash]
    scenario = sorted({m["scenario_key"] for m in rows.values()})
    sellers, buyers, domains = (
        [one.version for one in side] for side in (plan_of.sellers, plan_of.buyers, plan_of.domains)
    )

    def by_role(m: dict[str, object], *names: str) -> list[float]:
        values = [[m[f"{role.value}_{name}"] for name in names] for role in Role]
        return [float("nan") if None in some else float(sum(some)) for some in values]

    said = {}
    for key, m in rows.items():
        place, forfeit = planned[key], str(m["ending"]).startswith("forfeit")
        said[key] = [
            sellers.index(m["seller_version"]),
            buyers.index(m["buyer_version"]),
            domains.index(place.domain_version),
            place.feasible,
            m["opener"] == "seller",
            place.replicate,
            *(m["seller_utility"], m["buyer_utility"], m["ending"] == "agreement"),
            *(forfeit and m["at_fault"] == role.value for role in Role),
            *(m["seller_faults"], m["buyer_faults"], m["started_at"] >= frozen),
            scenario.index(m["scenario_key"]),
            by_role(m, "tokens_in", "tokens_out"),
            by_role(m, "cost_usd"),
            by_role(m, "latency_s"),
            measured[key]["words"],
        ]
        said[key] = [*map(repr, [*said[key], bytes(measured[key]["content"])])]
    return said


def check(store: Store, address: str) -> None:
    """Every match is in one pack, and every design's columns say what its rows say."""
    for plan_of in DESIGNS:
        assert told(store.results(plan_of)) == expected(address, plan_of)
    tables = contents(address)
    with connected(address) as connection:
        found = [packs.unpacked(one) for one in connection.execute(sa.select(PACKS))]
    text = "".join(packs.as_text(pack.column["key"]) for pack in found)
    held = sorted(text[start : start + 32] for start in range(0, len(text), 32))
    assert held == sorted(m["key"] for m in tables["matches"])


@pytest.mark.parametrize("seed", range(3))
def test_columns_say_what_the_rows_say(store: Store, address: str, seed: int) -> None:
    chance = random.Random(seed)
    for plan_of in DESIGNS:
        rows = played(store, plan_of, chance)
        while rows:
            size = chance.choice([1, 1, 1, 2, 40])
            batch, rows = rows[:size], rows[size:]
            store.add_matches([*batch, *chance.sample(batch, 1)])
            again = batch[0]._replace(seller_utility=0.125)  # the first one stays
            store.add_matches([again] if chance.random() < 0.5 else [])
            if chance.random() < 0.1:
                store.withdraw_match(batch[-1].key, "a test")
    assert any(len(store.results(plan_of).key_M) > 20 for plan_of in DESIGNS)
    check(store, address)


def older(address: str, rows: list[Played], *, measured: bool = True) -> None:
    """Store matches as a release does that knows no packs, and perhaps no measures."""
    execute(address, "UPDATE state SET revision = revision + 1")
    with connected(address) as connection:
        connection.execute(sa.insert(MATCHES), [one.columns() for one in rows])
        if measured:
            connection.execute(sa.insert(MEASURES), [one.measured() for one in rows])


def test_what_an_older_release_stores_meanwhile_is_there_too(store: Store, address: str) -> None:
    rows = played(store, DESIGNS[0], random.Random(5))
    real = [row._replace(measures=made_anew(store, row), words=None) for row in rows[-4:]]
    store.add_matches(rows[:8])
    older(address, rows[8:-4])
    store.add_matches(rows[:12])
    for plan_of in DESIGNS[1:]:
        freeze(store, plan_of)
    check(store, address)
    older(address, real, measured=False)
    check(store, address)
    assert packing_state(address)


def made_anew(store: Store, row: Played) -> bytes:
    """Return what is measured on a made-up match, whose transcript is empty."""
    scenario = store.scenarios([row.scenario_key])[row.scenario_key]
    deal = None if row.deal is None else tuple(json.loads(row.deal))
    return Yardstick(scenario).row([], deal)


def packing_state(address: str) -> bool:
    (state,) = contents(address)["state"]
    return state["packed"] == state["revision"]


def test_packing_that_was_interrupted_goes_on_where_it_was(
    unopened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(tmp_path / "source.db")
    with Store.open(source) as store:
        rows = [row for plan_of in DESIGNS for row in played(store, plan_of, random.Random(6))]
        store.add_matches(rows)
    make_as_of(unopened, "0005", source)
    monkeypatch.setattr(packing, "ROWS", 16)

    def interrupt(done: int, total: int) -> None:
        if done == 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store.open(unopened, progress=interrupt)
    with connected(unopened) as connection:
        assert connection.execute(sa.select(sa.func.sum(PACKS.c.matches))).scalar() == 32
    told: list[tuple[int, int]] = []
    with Store.open(unopened, progress=lambda *counts: told.append(counts)) as store:
        check(store, unopened)
    total = len({row.key for row in rows}) - 32
    assert told[0] == (16, total)
    assert told[-1] == (total, total)


def test_others_write_while_it_is_packed(
    unopened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One opens it as well, packs all that is left, and plays on: nothing is packed twice."""
    source = str(tmp_path / "source.db")
    with Store.open(source) as store:
        for plan_of in DESIGNS:
            freeze(store, plan_of)
        rows = played(store, DESIGNS[0], random.Random(7))
        store.add_matches(rows[:-20])
    make_as_of(unopened, "0005", source)
    monkeypatch.setattr(packing, "ROWS", 16)

    def meanwhile(done: int, total: int) -> None:
        if done == 32:
            with Store.open(unopened) as other:
                other.add_matches(rows)

    with Store.open(unopened, progress=meanwhile) as store:
        check(store, unopened)


def test_two_writers_at_once_pack_each_match_once(address: str) -> None:
    with Store.open(address) as store:
        for plan_of in DESIGNS:
            freeze(store, plan_of)
        rows = played(store, DESIGNS[0], random.Random(8))

    def write(seed: int) -> None:
        mine = random.Random(seed).sample(rows, len(rows))
        with Store.open(address) as store:
            for start in range(0, len(mine), 7):
                store.add_matches(mine[start : start + 7])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    with Store.open(address) as store:
        check(store, address)


def test_a_batch_is_kept_whole_or_not_at_all(
    store: Store, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may end between any two statements."""
    for plan_of in DESIGNS:
        freeze(store, plan_of)
    rows = played(store, DESIGNS[0], random.Random(9))
    store.add_matches(rows[:9])

    def fail(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(packing, "add", fail)
        with pytest.raises(KeyboardInterrupt):
            store.add_matches(rows[9:])
    assert len(contents(address)["matches"]) == 9
    check(store, address)
    store.add_matches(rows[9:])
    check(store, address)


def test_small_packs_are_joined(store: Store, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "JOINED_EVERY", 8)
    monkeypatch.setattr(packing, "FEW", 20)
    for plan_of in DESIGNS:
        freeze(store, plan_of)
    rows = played(store, DESIGNS[0], random.Random(10))
    for one in rows:
        store.add_matches([one])
    assert len(contents(address)["packs"]) < len(rows) / 4
    check(store, address)


def test_packs_of_what_is_gone_are_made_anew(store: Store, address: str) -> None:
    """Somebody took rows out by hand, whose backup is from before they were packed."""
    for plan_of in DESIGNS:
        freeze(store, plan_of)
    rows = played(store, DESIGNS[0], random.Random(11))
    store.add_matches(rows)
    for table in ("measures", "matches"):
        execute(address, f"DELETE FROM {table} WHERE key = :key", key=rows[3].key)
    execute(address, "UPDATE state SET revision = revision + 1")
    check(store, address)
