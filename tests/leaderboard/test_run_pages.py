"""The page of training runs without a browser: what a run logs, how it ended, and what it saved."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.run_lock import locked
from arena.store import Store
from leaderboard import training
from leaderboard.figures import runs as curves
from tests.leaderboard.pages import links, shown, visit_well
from tests.leaderboard.saved import RECIPE, RUN, SAVED, steps, store_run

WHY = "no group had a signal for 5 steps <and> it was saved"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "arena.db"
    store_run(path, "stopped", WHY)
    return path


def charts(test) -> int:
    return len(test.get("vega_lite_chart"))


def test_nine_curves_the_buyers_and_the_rest_behind_a_link(opened_well):
    test = opened_well(view="runs")
    assert charts(test) == 9 + 1
    page = shown(test)
    for title in ("deal rate", "KL to the base", "groups without signal", "opener concentration"):
        assert f">{title}</b>" in page
        assert {"view": "reading", "term": title.replace(" ", "+")} in links(test, "reading")
    assert "gradient norm" not in page
    (more,) = [query for query in links(test, "runs") if "more" in query]
    everything = opened_well(**more)
    assert "gradient norm" in shown(everything)
    rest = training.metrics({RUN: list(steps())}).rest
    assert charts(everything) == 9 + 1 + len(rest)
    assert {"view": "runs"} in links(everything, "runs")


def test_a_run_that_stopped_says_why(opened_well):
    page = shown(opened_well(view="runs"))
    assert "stopped at step 60: no group had a signal for 5 steps &lt;and&gt; it was saved" in page
    assert "step 60 of 104 · reward 0.277 to 0.398 · KL to the base 0.027 to 0.189" in page


def test_checkpoints_have_their_kl_and_the_command_that_evaluates_them(opened_well, path):
    page = shown(opened_well(view="runs"))
    for step, spec in SAVED.items():
        assert f"{RUN}-{step}@<wbr>{spec.version}" in page
        assert f"{step / 400:.3f}" in page
    assert f"arena evaluate {RUN} --design DESIGN --db {path}" in page


def test_the_download_of_checkpoints_names_what_arena_runs_show_does(path, monkeypatch):
    downloads = {}
    monkeypatch.setattr(
        "leaderboard.views.runs.download", lambda label, rows, name: downloads.update({name: rows})
    )
    monkeypatch.setenv("ARENA_DB", str(path))
    visit_well(view="runs")
    done = CliRunner().invoke(app, ["runs", "show", RUN, "--json", "--db", str(path)])
    beside = {"run": RUN, "designs": []}
    assert downloads["checkpoints"] == [row | beside for row in json.loads(done.stdout)["checkpoints"]]


def test_runs_together_and_one_under_way(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    store_run(path)
    with Store.open(str(path)) as store:
        store.add_training_run("two words", RECIPE | {"seed": 1})
        store.add_training_steps("two words", list(steps(7)))
        store.add_training_run("begun", {"shuffled_rewards": True})
    monkeypatch.setenv("ARENA_DB", str(path))
    alone = shown(visit_well(view="runs", run="two words"))
    assert "<b>two words</b> · <span>running</span>" in alone
    assert "step 7 of 104" in alone
    test = visit_well(view="runs", run="all")
    together = shown(test)
    assert charts(test) == 9 + 2, "a run without a step has had no buyers yet"
    assert "buyers of two words" in together
    assert f">{RUN}</td>" in together
    assert "rewards shuffled (a negative control)" in together


def test_a_run_whose_process_was_killed_is_interrupted(tmp_path, monkeypatch):
    path = tmp_path / "arena.db"
    store_run(path, None)
    monkeypatch.setenv("ARENA_DB", str(path))
    monkeypatch.chdir(tmp_path)
    with locked(Path("runs") / RUN, str(path)):
        assert f"<b>{RUN}</b> · <span>running</span>" in shown(visit_well(view="runs"))
    assert "interrupted at step 60: its process is gone" in shown(visit_well(view="runs"))


def test_a_run_says_what_it_learns_from_and_names_itself_once(opened_well):
    page = shown(opened_well(view="runs"))
    assert "model runs/bases/tiny (tiny), learning rate 0.0006, beta 0.01" in page
    assert "against linear, conceder · on bread" in page
    assert "whether it bargains better, only a board says" in page
    assert f">{RUN}</td>" not in page, "the table of a single run does not repeat its name"


def test_each_buyer_is_a_line_of_one_chart():
    figure = curves.buyers(list(steps(4)), ["buyer/conceder", "buyer/linear"]).to_dict()
    (rows,) = figure["datasets"].values()
    at_two = {row["buyer"]: row["value"] for row in rows if row["step"] == 2}
    logged = dict(steps(4))[2]
    assert at_two == {name: logged[f"buyer/{name}"] for name in ("conceder", "linear")}
