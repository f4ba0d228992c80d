"""A tournament comes to the same on PostgreSQL as on SQLite; and what only a server can do to one."""

import json
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, event, make_url

from agents.agent import Trouble
from agents.language_model.book import Came
from arena.design import Design
from arena.protocol import Ending
from arena.schedule import plan
from arena.store import Filter, RunStatus, Store, StoreError, Unavailable
from arena.store.models import CALLS, MATCHES, VOIDS
from arena.store.training_tables import TRAINING_RUNS
from tests.arena.running import arena, outcomes
from tests.arena.store.matches import design, fill, freeze, row
from tests.arena.store.server import Server


@pytest.fixture
def on_server(postgres: Server, ready: str):
    """The address of a new database on a server."""
    with postgres.database(ready) as address:
        yield address


def columns(store: Store, design: Design) -> dict[str, list[object]]:
    """Return what is the same on every database, by the match's key."""
    found = store.results(design)
    names = ("seller_M", "buyer_M", "domain_M", "feasible_M", "seller_opens_M", "replicate_M")
    names += ("seller_utility_M", "buyer_utility_M", "deal_M", "fresh_M")
    rest = zip(*(getattr(found, name).tolist() for name in names), strict=True)
    measures = (row.tobytes() for row in found.measures_M)
    return {
        key: [*row, content, said]
        for key, row, content, said in zip(
            found.key_M.tolist(), rest, measures, found.words_M, strict=True
        )
    }


@pytest.mark.slow
def test_a_tournament_comes_to_the_same_as_on_sqlite(tmp_path: Path, on_server: str) -> None:
    def run(name: str, *options: object) -> str:
        done = arena(name, *options, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    asked = ("--sellers", "boulware,random", "--buyers", "linear", "--scenarios", 3, "--infeasible", 1)
    there = ("--db", on_server)
    run("run-tournament", *asked)
    run("run-tournament", *asked, *there)
    report = json.loads(run("run-tournament", *asked, *there))
    assert report["already"] == report["planned"] == 2 * 9 * 4
    assert run("standings") == run("standings", *there)
    here = str(tmp_path / "arena.db")
    assert outcomes(on_server) == outcomes(here)
    with Store.open(here) as ours, Store.open(on_server) as theirs:
        played = ours.design().design
        assert theirs.design().design == played
        listed, others = (s.matches(Filter(design=played)) for s in (ours, theirs))
        assert [m.key for m in listed] == [m.key for m in others]
        assert [ours.turns(m) for m in listed] == [theirs.turns(m) for m in others]
        assert columns(ours, played) == columns(theirs, played)
        read = [[whole for chunk in s.whole(played) for whole in chunk] for s in (ours, theirs)]
        wholes = [[(w.match.key, w.scenario, w.measures) for w in r] for r in read]
        assert wholes[0] == wholes[1]
        assert len(wholes[0]) == report["planned"]


def test_connections_that_the_server_closed_meanwhile_are_made_again(
    on_server: str, postgres: Server
) -> None:
    """As it does when it is started again: the leaderboard goes on."""
    with Store.open(on_server) as store:
        fill(store, design())
        before = store.results(design())
        name = make_url(on_server).database
        postgres.do(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        assert store.results(design()).revision == before.revision
        postgres.do(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        store.withdraw_match(str(before.key_M[0]), "a test")
        assert store.revision() == before.revision + 1


def test_a_connection_lost_at_commit_is_told_and_the_same_again_goes_on(
    on_server: str, postgres: Server
) -> None:
    plan_of = design()
    with Store.open(on_server) as store:
        scenarios = freeze(store, plan_of)
        made = [row(plan_of, place, scenarios[place.scenario]) for place in plan(plan_of)]

        def end(connection: Connection) -> None:
            process = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            postgres.do(f"SELECT pg_terminate_backend({process})")

        event.listen(store._engine, "commit", end, once=True)
        with pytest.raises(Unavailable, match="what was committed is kept: run the command again"):
            store.add_matches(made)
        store.add_matches(made)
        assert store.count(Filter(design=plan_of)) == len(made)
        assert len(store.results(plan_of).key_M) == len(made)


def test_what_may_be_very_much_is_fetched_a_part_at_a_time(on_server: str) -> None:
    """By a cursor on the server: a client's own would have all rows in memory at once."""
    with Store.open(on_server) as store:
        fill(store, design())
        in_parts: list[str] = []
        at_once: list[str] = []

        def note(connection: object, cursor: object, statement: str, *more: object) -> None:
            (in_parts if isinstance(cursor, psycopg.ServerCursor) else at_once).append(statement)

        event.listen(store._engine, "after_cursor_execute", note)
        assert sum(map(len, store.whole(design()))) == len(plan(design()))
        assert store.standing(design()).scored_M.all()
        assert len(store.results(design()).key_M) == len(plan(design()))
    of_matches = [statement for statement in in_parts if "FROM matches JOIN" in statement]
    assert len(of_matches) == 2
    assert any("FROM packs" in statement for statement in in_parts)
    assert not any("FROM matches JOIN" in statement for statement in at_once)


def test_a_database_or_server_that_is_not_there_is_said_to_be(on_server: str) -> None:
    url = make_url(on_server)
    with pytest.raises(StoreError, match="does not exist: create it first, with createdb nowhere"):
        Store.open(url.set(database="nowhere").render_as_string(hide_password=False))
    with pytest.raises(StoreError, match=r"Is the server running"):
        Store.open(url.set(port=1).render_as_string(hide_password=False))


def test_every_word_of_ours_fits_its_column() -> None:
    """SQLite does not look at how long a text may be; PostgreSQL refuses one that is longer."""
    for column, words in (
        (MATCHES.c.ending, Ending),
        (VOIDS.c.ending, Ending),
        (VOIDS.c.trouble, Trouble),
        (CALLS.c.trouble, Trouble),
        (CALLS.c.came, Came),
        (TRAINING_RUNS.c.status, RunStatus),
    ):
        assert max(len(word.value) for word in words) <= column.type.length
