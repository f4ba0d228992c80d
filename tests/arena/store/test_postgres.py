"""The same tables on PostgreSQL; ARENA_TEST_POSTGRES names an empty database that may be filled."""

import json
import os
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from arena.design import Design
from arena.store import Filter, Store
from tests.arena.running import arena, outcomes

URL = os.environ.get("ARENA_TEST_POSTGRES", "")
pytestmark = pytest.mark.skipif(not URL, reason="ARENA_TEST_POSTGRES names no database")


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


def test_a_tournament_comes_to_the_same_as_on_sqlite(tmp_path: Path) -> None:
    asked = ("run-tournament", "--sellers", "boulware,random", "--buyers", "linear", "--json")
    ours = arena(*asked, "--scenarios", 3, "--infeasible", 1, cwd=tmp_path)
    assert ours.returncode == 0, ours.stderr
    theirs = arena(*asked, "--scenarios", 3, "--infeasible", 1, "--db", URL, cwd=tmp_path)
    assert theirs.returncode == 0, theirs.stderr
    again = arena(*asked, "--scenarios", 3, "--infeasible", 1, "--db", URL, cwd=tmp_path)
    report = json.loads(again.stdout)
    assert report["already"] == report["planned"] == 2 * 9 * 4
    with Store.open(str(tmp_path / "arena.db")) as here, Store.open(URL) as there:
        design = here.design().design
        assert there.design().design == design
        ours_listed, theirs_listed = (s.matches(Filter(design=design)) for s in (here, there))
        assert [m.key for m in ours_listed] == [m.key for m in theirs_listed]
        assert [here.turns(m) for m in ours_listed] == [there.turns(m) for m in theirs_listed]
        assert sorted(here.results(design).seller_utility_M) == sorted(
            there.results(design).seller_utility_M
        )
        assert columns(here, design) == columns(there, design)
        read = [[whole for chunk in s.whole(design) for whole in chunk] for s in (here, there)]
        ours_read, theirs_read = ({w.match.key: (w.scenario, w.measures) for w in r} for r in read)
        assert ours_read == theirs_read
        assert len(ours_read) == report["planned"]
        assert here.audits() == there.audits() == {}
        there.add_training_run("a", {"seed": 1})
        there.add_training_steps("a", [(1, {"reward": 0.5}), (2, {"reward": float("inf")})])
        there.add_training_steps("a", [(2, {"reward": 0.75})])
        assert there.training_steps("a") == [(1, {"reward": 0.5}), (2, {"reward": 0.75})]
        there.add_deviation(design.hash, "n", "fewer scenarios", "no money")
        assert [entry.reason for entry in there.deviations(design.hash)] == ["no money"]
    engine = create_engine(URL)
    with engine.begin() as connection:
        connection.execute(text("UPDATE state SET measures_version = 0"))
        connection.execute(text("DELETE FROM measures WHERE key < '8'"))
        connection.execute(text("UPDATE measures SET version = 0, content = 'x'"))
    engine.dispose()
    with Store.open(str(tmp_path / "arena.db")) as here, Store.open(URL) as there:
        assert columns(here, design) == columns(there, design)
        match = theirs_listed[0]
        there.withdraw_match(match.key, "a test")
        assert len(there.results(design).seller_M) == len(ours_listed) - 1
    assert len(outcomes(tmp_path / "arena.db")) == len(ours_listed)
