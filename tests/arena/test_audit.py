"""The audit of buyers: its ceiling, its shares, its verdicts, and the table in the documentation."""

import json
import re
from itertools import product
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from typer.testing import CliRunner

from agents.build import build
from agents.scripted import PANEL_BUYERS, spec_of
from arena.audit import EXPLOITABLE, POLICIES, audit, ceiling
from arena.cli import app
from arena.store import Store
from scenarios.catalogue import bundled
from scenarios.draw import draw
from scenarios.scenario import Role, Scenario, Split
from tests.agents.table import match
from tests.scenarios.spaces import small_scenarios

CAR = bundled()["car_sale"]
PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"


@pytest.fixture(autouse=True)
def no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, whatever the user's databases are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)


@given(small_scenarios())
def test_ceiling_equals_brute_force(scenario: Scenario) -> None:
    space = product(*(range(len(row)) for row in scenario.seller.table))
    fine = [
        scenario.seller.utility(package)
        for package in space
        if scenario.buyer.points(package) >= scenario.buyer.walk_away_points
    ]
    assert ceiling(scenario) == max([*fine, scenario.seller.walk_away])


def test_a_buyer_that_takes_anything_is_exploitable() -> None:
    (found,) = audit({"pushover": build(spec_of("accept_first"))}, [CAR], 4)
    assert found.exploitable
    assert found.best.score == 1.0
    assert found.best.share == pytest.approx(1 / found.ceiling)


def test_a_buyer_that_gives_nothing_is_not_exploitable() -> None:
    (found,) = audit({"wall": build(spec_of("hardliner"))}, [CAR], 4)
    results = {result.policy: result for result in found.policies}
    assert not found.exploitable
    assert results["fixed"].deal_rate == 0
    assert results["fixed"].share == pytest.approx(found.walk_away / found.ceiling)
    assert results["fixed"].gain_share == pytest.approx(0)
    # What a buyer asks for is often worse for the seller than leaving.
    assert results["accept_first"].gain_share < 0


def test_shares_are_recomputed_from_the_matches() -> None:
    (found,) = audit({"conceder": build(spec_of("conceder"))}, [CAR], 6)
    scenarios = [draw(CAR, Split.DEV, index) for index in range(6)]
    for name in ("stall", "fixed", "hardliner"):
        outcomes = [
            match(
                scenario,
                build(spec_of(name)),
                build(spec_of("conceder")),
                opener=Role.BUYER if scenario.index % 2 else Role.SELLER,
            )
            for scenario in scenarios
        ]
        (result,) = [result for result in found.policies if result.policy == name]
        top, bottom = mean(map(ceiling, scenarios)), mean(s.seller.walk_away for s in scenarios)
        score = mean(outcome.seller_score or 0 for outcome in outcomes)
        assert result.score == pytest.approx(score)
        assert result.share == pytest.approx(score / top)
        assert result.gain_share == pytest.approx((score - bottom) / (top - bottom))
        assert result.deal_rate == mean(outcome.deal is not None for outcome in outcomes)


def test_no_buyer_of_the_panel_is_exploitable() -> None:
    found = audit({name: build(spec_of(name)) for name in PANEL_BUYERS}, list(bundled().values()), 3)
    assert {one.buyer: one.best.policy for one in found if one.best.share > EXPLOITABLE} == {}
    assert {one.scenarios for one in found} == {27}


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["scenarios", "audit", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_command() -> None:
    arguments = ("--domains", "car_sale", "--scenarios", "2", "--buyers", "linear,accept_first")
    listed = json.loads(run(*arguments, "--json"))
    assert [(one["buyer"], one["exploitable"]) for one in listed] == [
        ("linear", False),
        ("accept_first", True),
    ]
    assert [result["policy"] for result in listed[0]["policies"]] == list(POLICIES)
    text = run(*arguments)
    assert re.search(r"linear .* not exploitable", text)
    assert re.search(r"accept_first .*[^t] exploitable", text)


def test_a_suites_name_stands_for_its_domains() -> None:
    arguments = ("--domains", "small,bread", "--scenarios", "1", "--buyers", "linear", "--json")
    (one,) = json.loads(run(*arguments))
    assert one["scenarios"] == len(bundled("small"))


def test_an_audit_is_kept_where_there_is_a_database(tmp_path: Path) -> None:
    arguments = (
        "--domains",
        "car_sale",
        "--scenarios",
        "1",
        "--buyers",
        "linear,accept_first",
        "--json",
    )
    run(*arguments)
    assert list(tmp_path.iterdir()) == []
    Store.open("arena.db").close()
    Store.open("other.db").close()
    listed = json.loads(run(*arguments, "--db", "other.db"))
    with Store.open("arena.db") as store:
        assert store.audits() == {}
    with Store.open("other.db") as store:
        kept = store.audits()
    assert kept == {spec_of(one["buyer"]).version: one for one in listed}
    assert [one["exploitable"] for one in kept.values()] == [False, True]
    listed = json.loads(run(*arguments))
    with Store.open("arena.db") as store:
        assert list(store.audits().values()) == listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--domains", "moon"], "no domain is called 'moon'"),
        (["--domains", ","], "name at least one domain"),
        (["--buyers", "nobody"], "no agent is called nobody"),
        (["--buyers", ""], "name at least one buyer"),
        (["--buyers", "micro"], "micro plays domains of up to 500 packages"),
        (["--scenarios", "0"], "greater than or equal to 1"),
    ],
)
def test_mistakes_end_with_status_2(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["scenarios", "audit", *arguments])
    assert done.exit_code == 2
    assert words in done.output


@pytest.mark.slow
def test_the_documented_table_is_what_the_audit_gives() -> None:
    listed = json.loads(run("--json"))
    for one in listed:
        shares = [f"{result['share']:.1%}" for result in one["policies"]]
        best = max(result["gain_share"] for result in one["policies"])
        row = " | ".join([f"| {one['buyer']}", *shares, f"{best:.1%} |"])
        assert row in PAGE.read_text()
    assert len(listed) == len(PANEL_BUYERS)
