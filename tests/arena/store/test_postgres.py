"""The same tables on PostgreSQL; ARENA_TEST_POSTGRES names an empty database that may be filled."""

import json
import os
from pathlib import Path

import pytest

from arena.store import Filter, Store
from tests.arena.running import arena, outcomes

URL = os.environ.get("ARENA_TEST_POSTGRES", "")
pytestmark = pytest.mark.skipif(not URL, reason="ARENA_TEST_POSTGRES names no database")


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
        match = theirs_listed[0]
        there.withdraw_match(match.key, "a test")
        assert len(there.results(design).seller_M) == len(ours_listed) - 1
    assert len(outcomes(tmp_path / "arena.db")) == len(ours_listed)
