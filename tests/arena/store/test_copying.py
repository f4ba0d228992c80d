"""A record copied whole, between any two databases, or not at all."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import SQLModel

from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.store import Registration, Store, StoreError
from arena.store.copying import ContentHash, Copies
from tests.arena.conftest import BOTH
from tests.arena.running import environment
from tests.arena.store.matches import design, fill
from tests.arena.store.raw import connected, contents, execute, make_as_of, revision
from tests.arena.store.server import Server
from tests.arena.store.test_opening import everything

AWKWARD = {
    "detail": "ünïcode, \U0001f91d, a tab\t, quotes '\" and \\x00",
    "seller_utility": 0.1 + 0.2,
    "buyer_utility": 5e-324,
    "seller_cost_usd": -0.0,
    "buyer_cost_usd": 1.7976931348623157e308,
    "seconds": 1 / 3,
    "buyer_latency_s": 2.0,
    "seller_tokens_in": 2**31 - 1,
    "transcript": bytes(range(256)),
    "receipts": "",
}
"""What a careless copy would change."""
VALUE = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.binary()
ROW = st.tuples(VALUE, VALUE, st.floats(allow_nan=False))


@pytest.fixture(params=BOTH)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where there is no second database yet, or an empty one on a server."""
    if request.param == "sqlite":
        yield str(tmp_path / "copy.db")
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database() as made:
        yield made


def put(store: Store, address: str) -> None:
    """Put something into every table, and values at the edges of their types into a match."""
    everything(store)
    columns = ", ".join(f"{name} = :{name}" for name in AWKWARD)
    first = "key = (SELECT min(key) FROM matches)"
    execute(address, f"UPDATE matches SET {columns} WHERE {first}", **AWKWARD)


def exactly(address: str) -> dict[str, list[Any]]:
    """Return what a database holds by table, told apart as 1, 1.0 and True are; zero has no sign in
    SQLite."""
    with connected(address) as connection:
        return {
            table.name: sorted(
                repr([(type(value), value + 0.0 if type(value) is float else value) for value in row])
                for row in connection.execute(sa.select(table))
            )
            for table in SQLModel.metadata.sorted_tables
        }


def is_empty(address: str) -> bool:
    return not any(rows for table, rows in contents(address).items() if table != "state")


def test_the_copy_holds_what_the_record_holds(store: Store, address: str, target: str) -> None:
    put(store, address)
    told: list[tuple[int, int]] = []
    copied = store.copy_to(target, lambda done, total: told.append((done, total)))
    assert exactly(target) == exactly(address)
    assert {entry.table for entry in copied if not entry.rows} <= {"packs"}
    assert {entry.table: entry.rows for entry in copied} == {
        table: len(rows) for table, rows in contents(address).items()
    }
    total = 2 * sum(entry.rows for entry in copied)
    assert told == sorted(told)
    assert told[-1] == (total, total)


def test_the_copy_of_a_copy_has_the_same_hashes(
    store: Store, address: str, target: str, tmp_path: Path
) -> None:
    put(store, address)
    first = store.copy_to(target)
    assert len({entry.hash for entry in first}) == len(first)
    with Store.open(target) as copy:
        assert copy.copy_to(str(tmp_path / "back.db")) == first


def test_the_copy_goes_on_where_the_record_stopped(store: Store, target: str) -> None:
    """Numbers that the database gives come after those that are there."""
    everything(store)
    store.copy_to(target)
    agent = spec_of("linear")
    with Store.open(target) as copy:
        assert copy.revision() == store.revision()
        copy.add_registrations([Registration("b", agent, "both", Profile(), Connection(), "2027")])
        copy.add_deviation(design().hash, "n", "fewer still", "no money")
        copy.add_audit(agent.version, {"exploitable": True})
        assert [entry.name for entry in copy.registrations()] == ["a", "b"]
        assert [entry.what for entry in copy.deviations(design().hash)] == ["fewer", "fewer still"]
        assert copy.audits() == {agent.version: {"exploitable": True}}
        assert copy.revision() == store.revision() + 3


def test_a_target_that_holds_something_is_left_as_it_is(store: Store, target: str) -> None:
    """It is not even migrated."""
    fill(store, design())
    source = str(store.address)
    if "://" not in source:
        make_as_of(target, "0003", source)
    else:
        execute(target, "CREATE TABLE recipes (name TEXT)", "INSERT INTO recipes VALUES ('x')")
    before = contents(target)
    with pytest.raises(StoreError, match=r"is not empty .*was left as it is"):
        store.copy_to(target)
    assert contents(target) == before
    if "://" not in source:
        assert revision(target) == "0003"
    with pytest.raises(StoreError, match="is not empty"):
        store.copy_to(source)


def test_an_empty_record_may_be_copied_to(store: Store, address: str, target: str) -> None:
    everything(store)
    Store.open(target).close()
    store.copy_to(target)
    assert exactly(target) == exactly(address)


def test_what_is_written_meanwhile_is_no_part_of_the_copy(
    store: Store, address: str, target: str
) -> None:
    everything(store)
    before = exactly(address)

    late = False

    def write(done: int, total: int) -> None:
        nonlocal late
        if not late:
            late = True
            store.add_audit("0" * 12, {"late": done})

    store.copy_to(target, write)
    assert exactly(target) == before != exactly(address)


def test_a_copy_that_breaks_off_leaves_nothing_and_can_be_made_again(
    store: Store, address: str, target: str
) -> None:
    everything(store)

    def stop(done: int, total: int) -> None:
        if done > total // 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.copy_to(target, stop)
    assert is_empty(target)
    store.copy_to(target)
    assert exactly(target) == exactly(address)


KILLED = """
import os, sys
from arena.store import Store
def die(done, total):
    if done > total * float(sys.argv[3]):
        os.kill(os.getpid(), 9)
with Store.open(sys.argv[1]) as store:
    store.copy_to(sys.argv[2], die)
"""


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.25, 0.75], ids=["while it writes", "while it reads again"])
def test_a_copy_that_is_killed_leaves_nothing(tmp_path: Path, target: str, share: float) -> None:
    source = str(tmp_path / "arena.db")
    with Store.open(source) as store:
        everything(store)
        command = [sys.executable, "-c", KILLED, source, target, str(share)]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert is_empty(target)
        store.copy_to(target)
    assert exactly(target) == exactly(source)


@pytest.mark.parametrize("spoil", ["lost", "changed"])
def test_a_copy_that_reads_otherwise_is_taken_back(
    store: Store, target: str, spoil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything(store)
    insert = Copies._insert

    def spoilt(self: Copies, connection: sa.Connection, table: sa.Table, rows: Any) -> None:
        if table.name == "audits" and spoil == "lost":
            return
        insert(self, connection, table, rows)
        if table.name == "audits":
            connection.execute(sa.text("UPDATE audits SET content = '{}'"))

    monkeypatch.setattr(Copies, "_insert", spoilt)
    with pytest.raises(StoreError, match=r"the table audits .* nothing was copied"):
        store.copy_to(target)
    assert is_empty(target)


def test_a_record_with_loose_ends_is_not_copied(tmp_path: Path) -> None:
    source, target = str(tmp_path / "arena.db"), str(tmp_path / "copy.db")
    with Store.open(source) as store:
        everything(store)
        execute(source, "DELETE FROM bills")
        with pytest.raises(StoreError, match=r"does not hold together.*arena db check"):
            store.copy_to(target)
    assert is_empty(target)


@pytest.mark.slow
def test_what_a_server_cannot_hold_is_said(tmp_path: Path, postgres: Server) -> None:
    """SQLite does not look at how long a text may be."""
    source = str(tmp_path / "arena.db")
    with Store.open(source) as store, postgres.database() as target:
        everything(store)
        execute(source, "UPDATE matches SET opener = 'somebody else'")
        with pytest.raises(StoreError, match=r"value too long .* varying\(6\)"):
            store.copy_to(target)
        assert is_empty(target)


@given(st.lists(ROW, max_size=5), st.data())
def test_the_hash_is_of_the_rows_whatever_their_order(rows: list[Any], data: st.DataObject) -> None:
    def hashed(*parts: list[Any]) -> str:
        found = ContentHash()
        for part in parts:
            found.add(part)
        return str(found)

    shuffled, cut = data.draw(st.permutations(rows)), data.draw(st.integers(0, len(rows)))
    assert hashed(shuffled[:cut], shuffled[cut:]) == hashed(rows)
    other = data.draw(ROW)
    assert hashed([*rows, other]) != hashed(rows)
    if rows and [repr(value) for value in other] != [repr(value) for value in rows[0]]:
        assert hashed([other, *rows[1:]]) != hashed(rows)
