"""`arena value`, `arena standings --measures` and `--bradley-terry` on a small real tournament."""

import json

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.store import Store
from leaderboard.inference.bradley_terry import bradley_terry
from leaderboard.inference.secondary import RATES, secondary
from leaderboard.inference.value import value
from scenarios.scenario import Role
from tests.leaderboard.tournament import make_design, play_into


@pytest.fixture(scope="module")
def plan():
    sellers, buyers = ("logroller", "boulware", "random"), ("conceder", "boulware")
    return make_design(sellers, buyers, scenarios=8, infeasible=2)


@pytest.fixture(scope="module")
def db(tmp_path_factory, plan):
    path = tmp_path_factory.mktemp("value_commands") / "arena.db"
    play_into(path, plan)
    return path


@pytest.fixture(scope="module")
def results(db, plan):
    with Store.open(str(db)) as store:
        return store.results(plan)


def arena(db, *words: str, expect: int = 0) -> str:
    done = CliRunner().invoke(app, [*words, "--db", str(db)], env={"ARENA_DB": None})
    assert done.exit_code == expect, done.output
    return done.stdout if expect == 0 else done.stderr


def test_value_prints_parts_that_sum_to_the_gain(db, results, plan) -> None:
    found = json.loads(arena(db, "value", "logroller", "random", "--json"))
    total = sum(part["value"] for part in found["parts"])
    assert total == pytest.approx(found["gain"]["value"], abs=1e-12)
    assert found["design"] == plan.hash
    assert found["dropped"] == 0
    direct = value(results, "logroller", "random")
    shown = arena(db, "value", "logroller", "random")
    assert f"{direct.gain.value:+.3f}" in shown
    for part in direct.parts:
        assert f"{part.estimate.value:+.3f}" in shown
    assert f"{direct.buyers_share.share.value:.0%}" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_value_has_a_held_out_panel_of_its_own(db, results) -> None:
    found = json.loads(arena(db, "value", "logroller", "random", "--held-out", "--json"))
    direct = value(results, "logroller", "random", held_out=True)
    assert (found["held_out"], found["gain"]["cells"]) == (True, 2 * 8)
    assert found["gain"]["value"] == direct.gain.value
    assert "held-out domains: 16 cells" in arena(db, "value", "logroller", "random", "--held-out")


def test_value_gives_no_share_of_a_gain_that_is_not_detectable(db) -> None:
    few = make_design(("boulware", "hardliner"), ("conceder", "boulware"), scenarios=4)
    path = db.with_name("few.db")
    play_into(path, few)
    with Store.open(str(path)) as store:
        found = value(store.results(few), "boulware", "hardliner")
    interval = found.gain.interval()
    assert interval is None or interval[0] <= 0 <= interval[1]
    shown = arena(path, "value", "boulware", "hardliner")
    assert "No shares" in shown
    assert "%" not in shown.replace("95%", "")


def test_value_refuses_whom_it_does_not_know(db) -> None:
    said = arena(db, "value", "logroller", "nobody", expect=2)
    assert said.startswith("Error: no seller is called nobody here; there are: logroller")
    for wrong in ("logroler", "logroler@1f"):
        assert "; did you mean logroller?" in arena(db, "value", wrong, "random", expect=2)
    assert "same seller" in arena(db, "value", "random", "random", expect=2)


@pytest.mark.parametrize("role", Role)
def test_measures_print_every_agent_and_figure(db, results, role) -> None:
    found = json.loads(arena(db, "standings", "--measures", "--role", role.value, "--json"))
    direct = secondary(results, role)
    assert [row["agent"] for row in found] == [one.agent for one in direct]
    for row, one in zip(found, direct, strict=True):
        assert row["role"] == role.value
        assert set(row["open"]["rates"]) == set(RATES)
        assert (
            row["held_out"]["means"]["welfare"]["value"] == one.held_out.means["welfare"].estimate.value
        )
        assert (
            row["open"]["means"]["score_over_deals"]["left_out"]
            == one.open.means["score_over_deals"].left_out
        )
    shown = arena(db, "standings", "--measures", "--role", role.value)
    assert max(map(len, shown.splitlines())) <= 100
    for one in direct:
        assert f"{one.open.means['advantage'].estimate.value:.3f}" in shown
        assert f"{one.open.rates['deals'].value:.1%}" in shown
    assert "boulware*" in shown
    assert "* also sits opposite" in shown


def test_bradley_terry_prints_both_panels(db, results) -> None:
    found = json.loads(arena(db, "standings", "--bradley-terry", "--json"))
    for held_out in (False, True):
        direct = bradley_terry(results, held_out=held_out)
        rows = [row for row in found if row["held_out"] is held_out]
        assert [row["strength"] for row in rows] == [one.strength for one in direct]
    shown = arena(db, "standings", "--bradley-terry")
    assert "second view beside the score" in shown
    assert "Held-out domains" in shown
    for one in bradley_terry(results):
        assert f"{one.strength:.3f}" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_one_view_at_a_time(db) -> None:
    assert "one at a time" in arena(db, "standings", "--measures", "--bradley-terry", expect=2)
