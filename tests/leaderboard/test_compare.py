"""`arena compare` and `arena power`, through the command line on a real, stored tournament."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.scripted import spec_of
from arena.analysis import Analysis, Contrast
from arena.cli import app
from arena.store import Store
from leaderboard.comparison import sentence
from leaderboard.inference.contrasts import pair
from tests.leaderboard.tournament import make_design, play_into

DOCS = Path(__file__).parents[2] / "docs" / "board.md"
SELLERS = ("boulware", "logroller", "random", "hardliner")


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "arena.db"
    version = {name: spec_of(name).version for name in SELLERS}
    declared = (
        Contrast(plus=(version["logroller"],), minus=(version["boulware"],)),
        Contrast(plus=(version["boulware"],), minus=(version["random"],)),
    )
    play_into(path, make_design(SELLERS, scenarios=6, analysis=Analysis(contrasts=declared)))
    return path


@pytest.fixture(scope="module")
def results(db):
    with Store.open(str(db)) as store:
        return store.results(store.design().design)


def run(*words, db=None, expect=0):
    found = CliRunner().invoke(app, [*words, *(["--db", str(db)] if db else [])], env={"ARENA_DB": None})
    assert found.exit_code == expect, found.output
    if expect == 2:
        assert "Traceback" not in found.stderr
        return found.stderr
    return found.stdout


def documented(start: str) -> list[str]:
    """Return the names in code spans of docs/board.md's table or braces that follow `start`."""
    return DOCS.read_text().split(start, 1)[1]


def test_the_sentence_comes_first_and_every_part_has_a_line(db, results):
    shown = run("compare", "logroller", "boulware", db=db)
    found = pair(results, "logroller", "boulware")
    assert shown.splitlines()[0] == sentence(found) + "."
    assert shown.splitlines()[1].startswith("Held out: ")
    for part in (*(f"against buyer {name}" for name in found.by_buyer), "bootstrap"):
        assert part in shown
    for domain in found.by_domain:
        assert f"in {domain}" in shown
        assert f"without {domain}" in shown
    assert f"{found.estimate.cells}/{found.estimate.clusters}" in shown
    assert f"Detectable in the open domains: {found.mde:.3f} or more" in shown


def test_json_holds_what_the_comparison_holds(db, results):
    printed = json.loads(run("compare", "logroller", "boulware", "--json", db=db))
    found = pair(results, "logroller", "boulware")
    assert printed["difference"] == found.estimate.value
    assert (printed["low"], printed["high"]) == found.t_interval
    assert tuple(printed["bootstrap_interval"]) == found.bootstrap_interval
    assert printed["adjusted_p"] == found.adjusted_p
    assert printed["held_out"]["mde"] == found.held_out.mde
    assert printed["design"] == results.design.hash
    assert (printed["cells"], printed["dropped"]) == (24, 0)


def test_the_documented_fields_are_those_printed(db):
    printed = json.loads(run("compare", "logroller", "boulware", "--json", db=db))
    table = documented("`compare --json` prints").split("\n\n")[1]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert names == list(printed)
    start, end = names.index("difference"), names.index("mde")
    assert names[start : end + 1] == list(printed["held_out"])
    part = re.search(r"\{NAME: \{([\w, ]+)\}\}", table).group(1).split(", ")
    assert part == list(next(iter(printed["by_buyer"].values())))
    braces = [
        re.split(r",\s+", group) for group in re.findall(r"\{([\w,\s]+)\}", documented("`power --json`"))
    ]
    assert braces[0] == list(json.loads(run("power", "--cells", "9", "--sd", "0.2", "--json")))
    assert braces[1] == list(json.loads(run("power", "--json", db=db))[0])


def test_the_family_is_what_the_design_declares(db):
    printed = json.loads(run("compare", "--family", "--json", db=db))
    assert [one["contrast"] for one in printed] == ["logroller - boulware", "boulware - random"]
    assert all(one["adjusted_p"] is not None for one in printed)
    shown = run("compare", "--family", db=db)
    assert "The declared family, m = 2" in shown
    assert "Held-out domains, a family of their own, m = 2" in shown


def test_gains_and_buyers_are_compared_too(db):
    gains = json.loads(
        run("compare", "logroller", "boulware", "--over", "random", "hardliner", "--json", db=db)
    )
    assert gains["contrast"] == "(logroller - random) - (boulware - hardliner)"
    buyers = json.loads(run("compare", "boulware", "linear", "--role", "buyer", "--json", db=db))
    assert buyers["role"] == "buyer"
    assert list(buyers["by_buyer"]) == list(SELLERS)
    assert buyers["why"] == "not declared in the design"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("compare",), "name two agents (arena compare A B), or give --family alone"),
        (("compare", "logroller"), "name two agents: arena compare A B"),
        (("compare", "logroller", "boulware", "--family"), "give no A, B, --over or --role"),
        (("compare", "--family", "--role", "buyer"), "give no A, B, --over or --role"),
        (("compare", "--family", "--over", "random", "linear"), "give no A, B, --over or --role"),
        (("compare", "logroller", "logroller"), "against itself"),
        (("compare", "logroller", "nobody"), "no seller is called nobody here"),
        (("power", "--from", "ffff"), "no design"),
        (("power", "--from", "ff", "--sd", "0.2"), "leave out --cells and --sd"),
        (("power", "--sd", "0.2"), "give --sd with --cells or --effect"),
        (("power", "--sd", "0.2", "--effect", "0"), "--effect is a difference of scores"),
    ],
)
def test_mistakes_get_one_sentence(db, words, why):
    assert why in run(*words, db=db, expect=2)


def test_power_of_sizes_is_the_studys_sum():
    shown = run("power", "--cells", "385", "--sd", "0.21", "--effect", "0.03")
    assert "385 cells with an SD of 0.210 detect a difference of 0.030 or more with 80% power" in shown
    needed = json.loads(run("power", "--sd", "0.21", "--effect", "0.03", "--json"))["cells_needed"]
    assert f"A difference of 0.030 takes {needed} cells with 80% power" in shown
    assert 384 <= needed <= 388


def test_power_from_a_design_has_a_row_a_contrast(db, results):
    printed = json.loads(run("power", "--from", results.design.hash[:6], "--json", db=db))
    assert printed == json.loads(run("power", "--design", results.design.hash, "--json", db=db))
    assert {row["design"] for row in printed} == {results.design.hash}
    assert [row["contrast"] for row in printed] == ["logroller - boulware", "boulware - random"]
    for row in printed:
        assert row["declared"]
        assert row["mde"] > 0
        assert row["scenarios"] == 6
    shown = run("power", db=db)
    assert "after Holm, over the declared family" in shown
    wide = json.loads(run("power", "--effect", "0.9", "--json", db=db))
    assert [row["more_scenarios"] for row in wide] == [0, 0]
    small = json.loads(run("power", "--effect", "0.001", "--json", db=db))
    assert all("not worth settling" in row["settled"] for row in small)


def test_where_nothing_is_declared_every_pair_is_sized(tmp_path):
    play_into(tmp_path / "a.db", make_design(("boulware", "random", "linear"), scenarios=3))
    shown = run("power", db=tmp_path / "a.db")
    assert "every pair of sellers, all exploratory" in shown
    assert len(json.loads(run("power", "--json", db=tmp_path / "a.db"))) == 3
    assert "declares no contrast" in run("compare", "--family", db=tmp_path / "a.db")
