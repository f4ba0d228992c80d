"""What the statistics find where the truth is known, at a size that fits a test run; the slow tests, and
`docs/statistics.md`, have 2,000 worlds."""

import json
from math import sqrt

import pytest
from typer.testing import CliRunner

from arena.cli import app
from leaderboard.simulation.checks import CHECKS, Finding, planted


def check(found: list[Finding], slack: float = 3.0) -> None:
    """Hold every share to where it is meant to lie, give or take Monte Carlo error."""
    meant = [finding for finding in found if finding.as_meant is not None]
    assert meant
    for finding in meant:
        ends = (finding.low, finding.high)
        low, high = (
            end + sign * slack * sqrt(max(end * (1 - end), 0.001) / finding.worlds)
            for end, sign in zip(ends, (-1, 1), strict=True)
        )
        assert low <= finding.share <= high, finding


@pytest.mark.parametrize(("name", "worlds"), [("coverage", 200), ("holm", 300), ("alarm", 100)])
def test_a_check_finds_what_is_meant(name, worlds):
    check(list(CHECKS[name](worlds, 11)))


def test_eight_scenarios_in_eight_strata_have_no_interval():
    found = {finding.case: finding for finding in CHECKS["coverage"](10, 0)}
    assert found["normal noise; 8 scenarios in 8 strata"].share is None
    assert found["normal noise; 8 scenarios in 8 strata"].as_meant is None


def test_a_gain_is_found_as_often_as_its_power_says():
    # 385 cells detect +.03 with 80% power at an SD of .21 (two-sided 5%): here 8 x 24 x 2 = 384 cells.
    found = list(planted([0.03], 0.21, 24, 400, 5))
    assert found[0].share == pytest.approx(0.80, abs=0.07)
    assert found[1].share == pytest.approx(0.95, abs=0.035)


def test_the_studys_gains_are_recovered():
    check(list(CHECKS["study"](20, 7)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "worlds", "slack"),
    # Where six arms tie the true share of ranks that hold is the nominal one itself, so that only
    # Monte Carlo error is let through; the other checks have room between the truth and their ends.
    [("coverage", 2_000, 0.5), ("holm", 2_000, 0.5), ("alarm", 2_000, 0.5), ("ranks", 2_000, 2.5),
     ("study", 400, 0.5)],
)  # fmt: skip
def test_two_thousand_worlds(name, worlds, slack):
    found = list(CHECKS[name](worlds, 0))
    for finding in found:
        print(finding)
    check(found, slack)


def run(*arguments: str):
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_the_command_prints_a_table_and_json():
    shown = run("--gains", "0.05,0.0", "--worlds", "20", "--scenarios", "4")
    assert shown.exit_code == 0
    assert "gain of +0.050 found" in shown.stdout
    found = json.loads(run("holm", "--worlds", "10", "--json").stdout)
    assert found[0]["check"] == "holm"
    assert found[0]["meant"] == [0.0, 0.055]
    assert 0 <= found[0]["share"] <= 1


def test_json_of_planted_gains():
    shown = run("--gains", "0.05,0.0", "--worlds", "20", "--scenarios", "4", "--json")
    assert shown.exit_code == 0, shown.exception
    found = json.loads(shown.stdout)
    assert [one["case"] for one in found] == [
        f"gain of +{gain} {what}" for gain in ("0.050", "0.000") for what in ("found", "held")
    ]
    assert [one["meant"] for one in found] == [None, [0.935, 0.965]] * 2
    assert [type(one["as_meant"]) for one in found] == [type(None), bool] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nothing"], "study, coverage"), (["--gains", "big"], "numbers"), (["--gains", "3"], "-0.5")],
)
def test_a_mistake_is_a_sentence(arguments, said):
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr
