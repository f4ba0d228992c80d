"""Training runs made ready to be shown: which metrics come first, means at the ends, curves in text."""

import math
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.run_lock import locked
from arena.store import Registration, RunStatus, TrainingRun
from leaderboard import glossary, training
from leaderboard.metrics import FIRST, REST, described, ordered, worded
from leaderboard.sparkline import ASCII, BLOCKS, sparkline
from tests.leaderboard.saved import steps
from trainers.metrics import step_metrics

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


def test_every_metric_that_a_step_logs_has_a_title_and_a_meaning():
    names = [name for name in step_metrics([], 4) if not name.startswith("buyer/")]
    assert len(names) > 10
    for name in names:
        assert described(name).meaning, name


def test_every_metric_that_trl_logs_has_a_title_and_a_meaning():
    """The names are read from TRL's source, so that a release with others is noticed."""
    import re

    grpo = pytest.importorskip("trl.trainer.grpo_trainer")
    text = Path(grpo.__file__).read_text(encoding="utf-8")
    logged = set(re.findall(r'_metrics\[mode\]\["([^"]+)"\]', text))
    assert len(logged) > 20
    elsewhere = {"aux_loss", "entropy_coef", "cispo_clip_ratio"}
    other = {name for name in logged if name.startswith(("tools/", "vespo/"))} | elsewhere
    assert {name for name in logged - other if not described(name).meaning} == set()


def test_no_title_stands_twice():
    titles = [metric.title for metric in (*FIRST, *REST)]
    assert len(set(titles)) == len(titles)
    for metric in FIRST:
        assert glossary.term(metric.title) is not None
    terms = [term.name for section in glossary.SECTIONS for term in section.terms]
    assert len(set(terms)) == len(terms)


def test_a_screenful_first_then_buyers_then_the_rest():
    found = training.metrics({"run": list(steps(3))})
    assert found.first == [metric.name for metric in FIRST]
    assert found.buyers == ["buyer/conceder", "buyer/linear"]
    assert found.rest[0] == "score"
    assert not {*found.first, *found.buyers} & {*found.rest}
    assert ordered(["zoo", "loss", "alpha", "reward"]) == ["reward", "loss", "alpha", "zoo"]


def test_a_metric_nobody_knows_is_shown_under_its_own_name():
    assert described("my_own") == ("my_own", "my own", "", False)
    assert described("buyer/x y").title == "against x y"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("deal_rate", 0.5, "50.0%"),
        ("kl", 0.01234, "0.012"),
        ("kl", 0.0, "0.000"),
        ("kl", 4e-4, "4.0e-04"),
        ("kl", None, "–"),  # noqa: RUF001
        ("learning_rate", 1e-6, "1.0e-06"),
        ("num_tokens", 1234567.0, "1,234,567"),
        ("turns", 12.34, "12.3"),
        ("loss", -0.5, "-0.500"),
        ("deal_rate", math.nan, "–"),  # noqa: RUF001
        ("reward", math.inf, "–"),  # noqa: RUF001
    ],
)
def test_values_take_a_few_characters(name, value, shown):
    assert worded(name, value) == shown


def test_start_and_now_are_means_of_five_steps_or_of_halves():
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0]
    points = list(enumerate(values, start=1))
    assert training.ends(points) == (fmean(values[:5]), fmean(values[-5:]))
    assert training.ends(points[:5]) == (2.0, 3.0)
    assert training.ends(points[:1]) == (3.0, 3.0)
    assert training.ends([]) is None


def test_points_are_the_finite_values():
    logged = [(1, {"kl": math.nan}), (2, {"kl": 0.5}), (3, {}), (4, {"kl": math.inf}), (5, {"kl": 0.0})]
    assert training.points(logged, "kl") == [(2, 0.5), (5, 0.0)]


def test_a_curve_from_least_to_largest():
    assert sparkline([(n, float(n)) for n in range(8)], (0, 7), 20) == BLOCKS
    assert sparkline([(n, float(-n)) for n in range(8)], (0, 7), 20, ASCII) == ASCII[::-1]
    assert sparkline([(1, 0.0), (2, 0.0)], (1, 2), 20) == BLOCKS[0] * 2
    assert sparkline([(2, 1.0), (4, 2.0)], (1, 5), 20) == f" {BLOCKS[0]} {BLOCKS[-1]} "
    assert sparkline([(1, 0.0), (2, 2.0), (3, 5.0), (4, 5.0)], (1, 4), 2) == BLOCKS[0] + BLOCKS[-1]
    assert sparkline([], (1, 3), 20) == "   "


@given(st.dictionaries(st.integers(0, 10_000), FINITE, max_size=50), st.integers(1, 80))
def test_a_curve_fits_and_holds_both_ends_of_its_scale(values, width):
    points = sorted(values.items())
    span = (points[0][0], points[-1][0]) if points else (0, 0)
    line = sparkline(points, span, width)
    assert len(line) == min(width, span[1] - span[0] + 1)
    assert set(line) <= {*BLOCKS, " "}
    if points:
        assert BLOCKS[0] in line
        assert line[0] != " " != line[-1]


def checkpoint(folder: Path) -> Registration:
    connection = Connection(weights=str(folder / "checkpoint-26"))
    profile = Profile(lineage={"run": "it", "step": 26})
    return Registration("it-26", spec_of("linear"), "seller", profile, connection, "2026-01-01")


def test_a_killed_run_is_found_by_its_checkpoints_and_one_that_goes_on_elsewhere_runs(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run = TrainingRun("it", {}, "2026-01-01", None, RunStatus.RUNNING, None)
    own, usual = tmp_path / "own" / "it", Path("runs") / "it"
    agents = [checkpoint(own)]
    assert training.standing(run, agents, "arena.db") == run, "nothing here can tell"
    with locked(own, "arena.db"):
        assert training.standing(run, agents, "arena.db") == run
    gone = run._replace(status=RunStatus.INTERRUPTED, why="its process is gone")
    assert training.standing(run, agents, "arena.db") == gone
    assert training.standing(run, [], "arena.db") == run, "its folder is not found"
    assert training.standing(run, agents, "other.db") == run, "that is another run of this name"
    with locked(usual, "arena.db"):
        assert training.standing(run, agents, "arena.db") == run
    done = run._replace(status=RunStatus.DONE)
    assert training.standing(done, agents, "arena.db") == done
