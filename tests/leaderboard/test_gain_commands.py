"""`arena splits`, `arena guards` and `arena openings` on a small tournament of scripted sellers."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.analysis import Analysis
from arena.cli import app
from arena.record import utc_now
from arena.results import Results
from arena.store import Registration, Store
from leaderboard.inference.guards import guards
from leaderboard.inference.openings import openings
from leaderboard.inference.splits import splits
from scenarios.scenario import Role
from tests.leaderboard.tournament import make_design, play_into

SELLERS = ("logroller", "boulware", "linear")
BUYERS = ("conceder", "linear")


@pytest.fixture(scope="module")
def plan():
    version = {name: spec_of(name).version for name in SELLERS}
    bases = {version["logroller"]: version["linear"], version["boulware"]: version["linear"]}
    return make_design(SELLERS, BUYERS, scenarios=8, infeasible=3, analysis=Analysis(bases=bases))


@pytest.fixture(scope="module")
def db(tmp_path_factory, plan):
    path = tmp_path_factory.mktemp("gains") / "arena.db"
    play_into(path, plan)
    return path


@pytest.fixture(scope="module")
def results(db, plan) -> Results:
    with Store.open(str(db)) as store:
        return store.results(plan)


def arena(*words, db, expect=0):
    result = CliRunner().invoke(app, [*words, "--db", str(db)], env={"ARENA_DB": None, "COLUMNS": "100"})
    assert result.exit_code == expect, result.output
    return result.stdout if expect == 0 else result.stderr


ESTIMATE = {"value", "low", "high", "p", "clusters", "cells", "problem"}


def test_json_of_splits(db, results):
    found = json.loads(arena("splits", "--json", db=db))
    assert [(row["agent"], row["base"]) for row in found] == [
        ("logroller", "linear"), ("boulware", "linear"), ("linear", None)
    ]  # fmt: skip
    for row, one in zip(found, splits(results), strict=True):
        assert row.keys() >= {"version", "gain", "gain_by_buyer", "split", "base_split", "moved"}
        assert (row["alarm"], row["why"], row["general"]) == (one.alarm, one.why, one.general)
        assert row["split"]["conceder - linear"].keys() >= ESTIMATE
        assert row["split"]["conceder - linear"]["value"] == one.split["conceder - linear"].value
    trained, base = found[0], found[2]
    assert trained["gain"]["value"] == splits(results)[0].gain.value
    assert [trained["gain"]["low"], trained["gain"]["high"]] == list(splits(results)[0].gain.interval())
    assert trained["gain_by_buyer"].keys() == {"conceder", "linear"}
    assert trained["gain_by_buyer"]["conceder"].keys() >= ESTIMATE | {"adjusted_p"}
    assert trained["moved"]["conceder - linear"].keys() >= ESTIMATE | {"adjusted_p"}
    assert (base["gain"], base["gain_by_buyer"], base["moved"]) == (None, {}, {})


def test_json_of_guards(db, results):
    judged = json.loads(arena("guards", "--json", db=db))
    expected = guards(results)
    assert [row["agent"] for row in judged] == list(SELLERS)
    for row in judged:
        assert row["kl"] is None
        assert len(row["guards"]) == 4
        for printed, one in zip(row["guards"], expected[row["agent"]], strict=True):
            assert printed.keys() >= {"name", "result", "value", "low", "high", "limit", "n", "note"}
            assert (printed["name"], printed["result"]) == (one.name, one.result)
            assert (printed["value"], printed["n"]) == (one.value, one.n)


def test_a_small_kl_beside_the_guards_keeps_its_figures(db, tmp_path):
    copy = tmp_path / "arena.db"
    shutil.copy(db, copy)
    with Store.open(str(copy)) as store:
        profile = Profile(base="linear", lineage={"kl": 4e-4})
        agent = Registration("mine", spec_of("logroller"), "seller", profile, Connection(), utc_now())
        store.add_registrations([agent])
    assert "logroller: KL from its base 4.0e-04, as registered" in arena("guards", db=copy)


@pytest.mark.parametrize(("role", "agents"), [(Role.SELLER, SELLERS), (Role.BUYER, BUYERS)])
def test_json_of_openings(db, results, role, agents):
    opened = json.loads(arena("openings", "--role", role.value, "--json", db=db))
    assert [(row["agent"], row["role"]) for row in opened] == [(name, role.value) for name in agents]
    for row, one in zip(opened, openings(results, role), strict=True):
        assert row["status"].startswith("post hoc")
        assert row["named"]["value"] == one.named.value
        for name in ("terms_named", "terms", "share_named", "accepted", "accepted_named", "fall"):
            assert row[name]["value"] == getattr(one, name).value


def test_scripted_openings_name_every_term_and_the_deal_falls_from_them(results):
    boulware = openings(results)[1]
    assert boulware.named.value == 1.0
    assert boulware.share_named.value == 1.0
    assert boulware.accepted.value == pytest.approx(boulware.accepted_named.value)
    assert boulware.accepted.value > 0.9
    low, high = openings(results)[2].fall.interval()
    assert 0 < low < high < 1


def test_tables_say_who_leans_who_fails_and_why(db):
    printed = arena("splits", db=db)
    assert "conceder - linear" in printed
    assert "all, pooled" in printed
    assert any(line.startswith("boulware: ") for line in printed.splitlines())
    printed = arena("guards", db=db)
    assert "Guards and limits are ours." in printed
    assert "action leak (not judged), logroller, boulware, linear: it wrote no message" in printed
    assert "infeasible deals" in printed
    printed = arena("openings", db=db)
    assert printed.startswith("Openings, over open domains. Post hoc")
    assert "9.0 of 9.0" in printed


def test_without_a_declared_analysis_it_is_said(tmp_path):
    path = tmp_path / "arena.db"
    play_into(path, make_design(("boulware",), ("conceder",), scenarios=2))
    for command in ("splits", "guards"):
        assert "Nothing was declared before play" in arena(command, db=path)
    printed = arena("splits", db=path)
    assert "No seller has a base" in printed
    assert "one buyer" in printed
    assert json.loads(arena("splits", "--json", db=path))[0]["split"] == {}


@pytest.mark.parametrize("command", ["splits", "guards", "openings"])
def test_a_missing_database_is_a_sentence(command, tmp_path):
    assert "Error: " in arena(command, db=tmp_path / "none.db", expect=2)


def test_no_matches_yet_is_no_error(tmp_path, plan):
    path = tmp_path / "arena.db"
    play_into(path, plan, skip=lambda place: True)
    for command in ("splits", "guards", "openings"):
        assert arena(command, db=path)
        json.loads(arena(command, "--json", db=path))
