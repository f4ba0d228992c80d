"""Each thing that can be wrong with a record is found, and nothing else is said to be."""

import json
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from agents.language_model.book import Came
from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.measures import Yardstick
from arena.play import Failure, briefs, play
from arena.protocol import Ending
from arena.record import played, utc_now
from arena.schedule import plan
from arena.store import Bill, Call, Registration, RunStatus, Store, StoreError
from arena.store.checking import Checked, check
from arena.store.checking.plans import Played
from scenarios.catalogue import bundled
from scenarios.scenario import Role
from tests.arena.running import invoke
from tests.arena.store.matches import design, freeze
from tests.arena.store.raw import contents, execute, make_as_of
from tests.arena.store.server import Server

VOID = design(seed=3)
AGENT = spec_of("linear")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with a row in every table, all of it true."""
    address = str(tmp_path_factory.mktemp("sound") / "arena.db")
    asked = ("--sellers", "boulware,random", "--buyers", "linear", "--scenarios", 2, "--workers", 1)
    invoke("run-tournament", *asked, "--domains", "coffee_import,car_sale", "--db", address)
    with Store.open(address) as store:
        stored, scenarios = store.design().design, freeze(store, VOID)
        place = next(iter(plan(VOID)))
        scenario, key = scenarios[place.scenario], place.key(VOID, scenarios[place.scenario].key)
        domain = next(one for one in bundled().values() if one.version == place.domain_version)
        game = play(scenario, briefs(domain, scenario, VOID.rules), VOID.rules, Role(place.opener))
        next(game)
        try:
            game.send(Failure(Ending.PROVIDER_ERROR, "503"))
        except StopIteration as over:
            store.add_void(played(key, over.value, Yardstick(scenario), utc_now(), 0.1, "1"))
        lineage = {"run": "run", "step": 1}
        registrations = [
            Registration("a", AGENT, "both", Profile(), Connection(), "2026"),
            Registration("run-1", AGENT, "seller", Profile(lineage=lineage), Connection(), "2026"),
        ]
        store.add_registrations(registrations)
        store.add_deviation(stored.hash, "n", "fewer", "no money")
        store.add_audit(AGENT.version, {"exploitable": False})
        store.add_training_run("run", {"seed": 1})
        store.add_training_steps("run", [(1, {"reward": float("nan")})])
        store.end_training_run("run", RunStatus.DONE)
        calls = [
            Call("0" * 12, 1, AGENT.version, key.text, 1, "2026", Came.ANSWER, None, 9, 7),
            Call("0" * 12, 2, AGENT.version, key.text, 1, "2026", None, None, 9),
        ]
        answer = (zlib.compress(json.dumps(["text"]).encode()),)
        store.enter(Bill("0" * 12, stored.hash, "2026", 16), calls, [], [("f" * 32, *answer)])
    assert all(contents(address).values())
    return address


def wrong(found: Checked) -> dict[str, int]:
    return {one.what: one.wrong for one in found.checks if one.wrong}


def test_a_sound_record_is_said_to_be(sound: str) -> None:
    told: list[tuple[int, int]] = []
    found = check(sound, lambda done, total: told.append((done, total)))
    assert found.sound
    assert wrong(found) == {}
    assert all(one.looked_at for one in found.checks), [one.what for one in found.checks]
    assert {one.what for one in found.checks} >= EXPECTED
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0
    with Store.open(sound) as store:
        hashes = [stored.design.hash for stored in store.designs()]
    played_out = Played(hashes[1], 8, 8, 0, 0, 0)
    assert sorted(found.designs) == sorted([played_out, Played(VOID.hash, 32, 0, 0, 1, 31)])


FIRST = "WHERE key = (SELECT min(key) FROM matches)"
ONE = "WHERE key = (SELECT min(key) FROM measures)"
OTHER = "'aaaaaaaaaaaa'"
CORRUPTIONS = {
    "a spec": ("agents", "UPDATE agents SET spec = replace(spec, 'random', 'linear')"),
    "a spec that is no JSON": (
        "agents",
        f"UPDATE agents SET spec = '{{' WHERE version = '{AGENT.version}'",
    ),
    "an address": ("registrations", "UPDATE registrations SET connection = '[]' WHERE name = 'a'"),
    "a role": ("registrations", "UPDATE registrations SET role = 'judge' WHERE name = 'a'"),
    "a domain": ("domains", "UPDATE domains SET content = replace(content, 'offee', 'ocoa')"),
    "a domain's name": ("domains", "UPDATE domains SET name = 'tea' WHERE name = 'car_sale'"),
    "a scenario": ("scenarios", "UPDATE scenarios SET content = X'78' WHERE number = 0"),
    "a scenario's label": ("scenarios", "UPDATE scenarios SET label = 'x' WHERE number = 0"),
    "a scenario's number": ("scenarios", "UPDATE scenarios SET number = 999 WHERE number = 1"),
    "a design": ("designs", "UPDATE designs SET content = replace(content, 'alternate', 'both')"),
    "a bill": ("bills", "UPDATE bills SET charged_nano = charged_nano - 1"),
    "an answer": ("cached answers", "UPDATE answers SET content = X'00'"),
    "an audit": ("audits", "UPDATE audits SET content = 'null'"),
    "a recipe": ("training runs", "UPDATE training_runs SET recipe = '{'"),
    "a status": ("training runs", "UPDATE training_runs SET status = 'well'"),
    "metrics": ("training steps", "UPDATE training_steps SET metrics = ''"),
    "a key": ("keys of matches", f"UPDATE matches SET replicate = 7 {FIRST}"),
    "an opener": ("keys of matches", f"UPDATE matches SET opener = 'nobody' {FIRST}"),
    "a transcript": ("transcripts of matches", f"UPDATE matches SET transcript = X'00' {FIRST}"),
    "a cut transcript": (
        "transcripts of matches",
        f"UPDATE matches SET transcript = substr(transcript, 1, length(transcript) - 9) {FIRST}",
    ),
    "another's transcript": (
        "transcripts of matches",
        f"UPDATE matches SET transcript = (SELECT transcript FROM matches ORDER BY key DESC) {FIRST}",
    ),
    "a score": (
        "transcripts of matches",
        f"UPDATE matches SET seller_utility = seller_utility + 0.0001 {FIRST}",
    ),
    "another score": (
        "transcripts of matches",
        "UPDATE matches SET seller_utility = 2 WHERE key = (SELECT max(key) FROM matches)",
    ),
    "an ending": (
        "transcripts of matches",
        f"UPDATE matches SET ending = iif(ending = 'deadline', 'walk_away', 'deadline') {FIRST}",
    ),
    "no ending": ("transcripts of matches", f"UPDATE matches SET ending = 'draw' {FIRST}"),
    "a deal": ("transcripts of matches", f"UPDATE matches SET deal = '[0]' {FIRST}"),
    "a fault": ("transcripts of matches", f"UPDATE matches SET at_fault = 'seller' {FIRST}"),
    "turns": ("transcripts of matches", f"UPDATE matches SET turns = turns + 1 {FIRST}"),
    "tokens": ("transcripts of matches", f"UPDATE matches SET buyer_tokens_in = 1 {FIRST}"),
    "no measures": ("measures of matches", f"DELETE FROM measures {ONE}"),
    "old measures": ("measures of matches", f"UPDATE measures SET version = 1 {ONE}"),
    "measures": (
        "measures of matches",
        f"UPDATE measures SET content = zeroblob(length(content)) {ONE}",
    ),
    "words": ("measures of matches", f"UPDATE measures SET words = '[[],[]]' {ONE}"),
    "a void's key": ("keys of void attempts", "UPDATE voids SET message_limit = 1"),
    "a void that was scored": (
        "transcripts of void attempts",
        "UPDATE voids SET seller_utility = 0.5",
    ),
    "a void's ending": ("transcripts of void attempts", "UPDATE voids SET ending = 'agreement'"),
    "a pack": ("packs of matches", "UPDATE packs SET content = X'00'"),
    "no packs": ("packs of matches", "DELETE FROM packs"),
    "a pack twice": (
        "packs of matches",
        "INSERT INTO packs (matches, names, content, words) "
        "SELECT matches, names, content, words FROM packs",
    ),
    "who played, in a pack": (
        "packs of matches",
        f"UPDATE packs SET names = replace(names, '{spec_of('boulware').version}', {OTHER[1:-1]!r})",
    ),
    "a registration of nobody": (
        "what registrations refer to",
        f"UPDATE registrations SET version = {OTHER} WHERE name = 'a'",
    ),
    "a scenario of no domain": (
        "what scenarios refer to",
        "INSERT INTO scenarios SELECT 'f', label, 'x', split, number, feasible, draw_version, content "
        "FROM scenarios LIMIT 1",
    ),
    "measures of no match": (
        "what measures refer to",
        "INSERT INTO measures SELECT 'f', version, content, words FROM measures LIMIT 1",
    ),
    "a match on no scenario": (
        "what matches refer to",
        f"DELETE FROM scenarios WHERE key = (SELECT scenario_key FROM matches {FIRST})",
    ),
    "a void on no scenario": (
        "what voids refer to",
        "DELETE FROM scenarios WHERE key = (SELECT scenario_key FROM voids)",
    ),
    "a call on no bill": (
        "what calls refer to",
        "INSERT INTO calls (bill, number, agent_version, sending, at) "
        "SELECT 'x', 3, agent_version, 1, at FROM calls LIMIT 1",
    ),
    "a bill of no design": ("what bills refer to", f"UPDATE bills SET design_hash = {OTHER}"),
    "a note on no design": ("what deviations refer to", f"UPDATE deviations SET design_hash = {OTHER}"),
    "a step of no run": (
        "what training_steps refer to",
        "INSERT INTO training_steps VALUES ('x', 1, '{}')",
    ),
}
"""What is done to a sound record, by what it is done to, and which check is to find it."""
ALSO = {
    "a scenario of no domain": {"scenarios"},
    "a void on no scenario": set(),
}
EXPECTED = {what for what, _ in CORRUPTIONS.values()}


TOGETHER = (
    *("a spec", "a role", "a domain's name", "a scenario's label", "a design", "a bill", "an answer"),
    *("an audit", "a recipe", "metrics", "a key", "another score", "no measures", "a void's ending"),
    *("a registration of nobody", "measures of no match", "a call on no bill", "a step of no run"),
    "no packs",
)
"""What can be wrong at once without hiding one another."""


def test_all_that_is_wrong_is_found(sound: str, tmp_path: Path) -> None:
    address = str(tmp_path / "arena.db")
    shutil.copy(sound, address)
    execute(address, *(CORRUPTIONS[name][1] for name in TOGETHER))
    before = Path(address).read_bytes()
    found = check(address)
    assert not found.sound
    assert wrong(found).keys() == {CORRUPTIONS[name][0] for name in TOGETHER}
    for one in found.checks:
        assert len(one.examples) == min(one.wrong, 3)
        assert one.to_json()["remedy"] if one.wrong else not one.to_json()["remedy"]
    assert Path(address).read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_is_wrong_is_found_and_nothing_else(sound: str, tmp_path: Path, name: str) -> None:
    address = str(tmp_path / "arena.db")
    shutil.copy(sound, address)
    what, statement = CORRUPTIONS[name]
    execute(address, statement)
    found = wrong(check(address))
    assert found.keys() - ALSO.get(name, set()) == {what}


def test_a_damaged_file_is_looked_at_as_far_as_it_goes(sound: str, tmp_path: Path) -> None:
    address = tmp_path / "arena.db"
    shutil.copy(sound, address)
    with closing(sqlite3.connect(address)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        index = "SELECT rootpage FROM sqlite_master WHERE name = 'ix_matches_scenario_key'"
        (page,) = connection.execute(index).fetchone()
    with open(address, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    found = check(str(address))
    assert not found.sound
    assert wrong(found).keys() == {"the file itself"}
    assert found.checks[0].examples[-1] == "the rest cannot be read"
    execute(str(address), "DELETE FROM packs", "UPDATE state SET packed = -1")
    with pytest.raises(StoreError, match="is damaged: arena db check says where"):
        Store.open(str(address))


def test_what_is_no_record_of_this_release_is_refused_untouched(sound: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database"):
        check(str(tmp_path / "nowhere.db"))
    assert not (tmp_path / "nowhere.db").exists()
    (tmp_path / "notes").write_text("no database at all, but long enough to be taken for one" * 9)
    with pytest.raises(StoreError, match="is not a database"):
        check(str(tmp_path / "notes"))
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="holds no record"):
        check(str(tmp_path / "empty.db"))
    older = tmp_path / "older.db"
    make_as_of(str(older), "0003", sound)
    before = older.read_bytes()
    with pytest.raises(StoreError, match="of an older release, and a check changes nothing"):
        check(str(older))
    assert older.read_bytes() == before
    newer = str(tmp_path / "newer.db")
    shutil.copy(sound, newer)
    execute(newer, "UPDATE alembic_version SET version_num = '0099'")
    with pytest.raises(StoreError, match="upgrade bargaining-arena"):
        check(newer)


@pytest.mark.slow
def test_a_record_on_a_server_is_checked_as_well(sound: str, postgres: Server) -> None:
    with postgres.database() as address:
        with Store.open(sound) as store:
            store.copy_to(address)
        here, there = check(sound), check(address)
        assert there.sound
        assert there.designs == here.designs
        looked = [{one.what: one.looked_at for one in found.checks} for found in (here, there)]
        assert looked[0] == looked[1] | {"the file itself": 1}
        execute(
            address,
            "UPDATE matches SET transcript = set_byte(transcript, 20, 0)",
            "UPDATE voids SET replicate = 5",
            "UPDATE agents SET spec = replace(spec, 'random', 'linear')",
        )
        names = {"agents", "transcripts of matches", "keys of void attempts"}
        assert wrong(check(address)).keys() == names
