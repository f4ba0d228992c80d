"""`arena scenarios list | show | validate`, and the page that documents them."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arena.cli import app
from scenarios.catalogue import SUITES, bundled, every, load, scenario
from scenarios.domain import Kind
from scenarios.survey import survey

PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["scenarios", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments: str) -> str:
    """Return what is said of a user's mistake: one line, and exit code 2."""
    done = CliRunner().invoke(app, ["scenarios", *arguments], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def cells(table: str) -> list[list[str]]:
    """Return a printed table's cells, rules and blank lines left out."""
    lines = [line.strip() for line in table.splitlines()]
    return [re.split(r"\s{2,}", line) for line in lines if line.strip("─ ")]


def test_list() -> None:
    rows = cells(run("list"))
    assert [row[0] for row in rows[1:]] == list(every())
    assert ["car_sale", "Sale of a used car", "trade", "held out", "9"] in [row[:5] for row in rows]
    listed = json.loads(run("list", "--json"))
    assert [domain["name"] for domain in listed if domain["held_out"]] == ["car_sale", "chairs"]
    assert {domain["suite"]: len(domain["terms"]) for domain in listed} == {"trade": 9, "small": 4}


def test_list_one_suite() -> None:
    for suite in SUITES:
        assert [row[0] for row in cells(run("list", "--suite", suite))[1:]] == list(bundled(suite))
    assert "no suite is called 'smal'; there are trade, small" in refused("list", "--suite", "smal")


def test_show_prints_both_tables_and_the_reference_points() -> None:
    text = run("show", "car_sale/eval/12")
    found = scenario("car_sale/eval/12")
    assert found.label in text
    for term, kind, row in zip(found.terms, found.kinds, found.seller.table, strict=True):
        assert re.search(rf"{re.escape(term.name)} +{kind}", text)
        for option, points in zip(term.options, row, strict=True):
            assert re.search(rf"{re.escape(option)}( \(default\))? +{points / 10_000:.4f}", text)
    assert f"{found.seller.walk_away:.4f}" in text
    for name in ("Nash", "Kalai (egalitarian)", "Kalai-Smorodinsky", "utilitarian", "default package"):
        assert name in text
    assert text == run("show", "car_sale", "--index", "12")
    assert "no zone of agreement" in run("show", "car_sale/eval-infeasible/0")


def test_show_json_holds_the_scenario_whole() -> None:
    shown = json.loads(run("show", "coffee_import/dev/4", "--json"))
    found = scenario("coffee_import/dev/4")
    assert {name: shown[name] for name in found.content()} == found.content()
    assert shown["key"] == found.key
    assert 0.1 <= shown["acceptable_share"] <= 0.4
    nash = shown["reference_points"]["nash"]
    assert found.seller.utility(nash["package"]) == nash["seller"] >= found.seller.walk_away


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example domain of the page."""
    (content,) = re.findall(r"```yaml title=boat_charter\.yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "boat_charter.yaml"
    path.write_text(content)
    return path


def test_validate_reports_what_the_example_of_the_page_comes_out_as(example: Path) -> None:
    text = run("validate", str(example))
    assert "is a valid domain: boat_charter" in text
    assert re.search(r"integrative terms \(of 5\) +2 +2 +2", text)
    report = json.loads(run("validate", str(example), "--json"))
    assert report["draws"] == 64
    assert report["failures"] == []
    assert report["kinds"]["compatible"] == {"low": 1, "mean": 1, "high": 1}
    assert 0.1 <= report["acceptable"]["low"] < report["acceptable"]["high"] <= 0.4
    assert abs(report["seller_default"]["mean"] - report["buyer_default"]["mean"]) < 0.05
    assert "boat_charter" in run("show", str(example), "--index", "3")


def test_mistakes_are_the_users(example: Path, tmp_path: Path) -> None:
    assert "no domain is called 'cars'" in refused("show", "cars")
    assert "write DOMAIN/SPLIT/INDEX" in refused("show", "car_sale/12")
    example.write_text(example.read_text().replace("default: the same harbour", "default: anywhere"))
    assert "term 'return to': the default 'anywhere' is not an option" in refused(
        "validate", str(example)
    )
    small = tmp_path / "small.yaml"
    small.write_text(
        "name: small\ntitle: Small\nbriefs: {seller: Sell., buyer: Buy.}\naim: {distributive: 1}\n"
        "terms: [{name: price, options: [low, high], default: low}]\n"
    )
    assert "'small': no scenario in 400 attempts" in refused("validate", str(small))


def test_the_page_shows_what_the_draws_come_out_as_now() -> None:
    tables = re.findall(r"```text\n(domain .*?)```", PAGE, re.DOTALL)
    for suite, shown in zip(SUITES, tables, strict=True):
        assert cells(shown) == cells(run("list", "--suite", suite, "--draws", "64"))


def test_survey_counts_what_each_domain_aims_at() -> None:
    for domain in bundled().values():
        found = survey(domain, draws=6)
        assert found.failures == ()
        assert {kind: spread.mean for kind, spread in found.kinds.items()} == {
            kind: domain.aim.get(kind, 0) for kind in Kind
        }
        assert found.packages > 900_000


def test_the_example_of_the_page_is_as_the_page_says(example: Path) -> None:
    domain = load(example)
    assert domain.suite == "own"
    assert not domain.held_out
