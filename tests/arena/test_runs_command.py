"""`arena runs`: training runs in the terminal, under way and ended."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.spec import Connection, Profile
from arena.cli import app
from arena.record import utc_now
from arena.run_lock import locked
from arena.store import Registration, Store
from leaderboard.metrics import FIRST
from tests.leaderboard.saved import RECIPE, RUN, SAVED, steps, store_run
from tests.leaderboard.trained import build_spec


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "arena.db"


def arena(*words: str, db: Path, expect: int = 0, **environment: str) -> str:
    done = CliRunner().invoke(app, [*words, "--db", str(db)], env={"ARENA_DB": None} | environment)
    assert done.exit_code == expect, done.output
    return done.stdout if expect == 0 else done.stderr


def test_without_a_run_it_says_how_to_make_one(db: Path) -> None:
    assert "arena train" in arena("runs", db=db)
    assert json.loads(arena("runs", "--json", db=db)) == []
    assert not db.exists()
    assert "no training run is called it" in arena("runs", "show", "it", db=db, expect=2)


def test_the_list_says_how_far_each_run_is(db: Path) -> None:
    store_run(db)
    with Store.open(str(db)) as store:
        store.add_training_run("bare", {"learning_rate": 1e-6})
    second, first = json.loads(arena("runs", "--json", db=db))
    assert (first["run"], first["status"], first["step"], first["steps"]) == (RUN, "done", 60, 104)
    assert (first["model"], first["learning_rate"], first["checkpoints"]) == ("tiny", 6e-4, 2)
    rewards = [values["reward"] for _, values in steps()]
    assert first["reward_first"] == pytest.approx(sum(rewards[:5]) / 5)
    assert first["reward_now"] == pytest.approx(sum(rewards[-5:]) / 5)
    assert second["run"] == "bare"
    assert (second["step"], second["reward_now"], second["kl"], second["steps"]) == (0, None, None, None)
    text = arena("runs", db=db)
    assert "60 of 104" in text
    assert f"{first['reward_first']:.3f} to {first['reward_now']:.3f}" in text


def test_a_run_under_way_and_why_another_stopped(db: Path) -> None:
    store_run(db, status=None)
    assert f"{RUN}: running, step 60 of 104" in arena("runs", "show", RUN, db=db)
    with Store.open(str(db)) as store:
        store.end_training_run(RUN, "stopped", "no group had a signal for 5 steps")
    why = "stopped at step 60: no group had a signal for 5 steps"
    assert f"\n  {why}\n" in arena("runs", "show", RUN, db=db)
    assert f"\n{RUN} {why}\n" in arena("runs", db=db)
    (row,) = json.loads(arena("runs", "--json", db=db))
    assert (row["status"], row["why"]) == ("stopped", "no group had a signal for 5 steps")


def test_a_run_whose_process_was_killed_is_interrupted(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store_run(db, status=None)
    with locked(Path("runs") / RUN, "arena.db"):
        assert f"{RUN}: running, step 60" in arena("runs", "show", RUN, db=db)
    gone = "interrupted at step 60: its process is gone"
    assert f"{RUN}: interrupted, step 60 of 104;" in arena("runs", "show", RUN, db=db)
    assert f"\n  {gone}\n" in arena("runs", "show", RUN, db=db)
    assert f"\n{RUN} {gone}\n" in arena("runs", db=db)
    (row,) = json.loads(arena("runs", "--json", db=db))
    assert (row["status"], row["why"], row["ended_at"]) == ("interrupted", "its process is gone", None)


def test_show_has_recipe_curves_and_checkpoints(db: Path) -> None:
    store_run(db, shuffled_rewards=True)
    text = arena("runs", "show", RUN, db=db)
    for said in (
        "runs/bases/tiny (tiny)",
        "8 groups of 8 a step",
        "against linear, conceder",
        "on bread",
    ):
        assert said in text
    assert "a negative control" in text
    for title in (*(metric.title for metric in FIRST), "against conceder", "against linear"):
        assert f"\n {title} " in text
    assert "▁" in text
    for step, spec in SAVED.items():
        assert f"{RUN}-{step}" in text
        assert spec.version in text
    assert "gradient norm" not in text
    many = arena("runs", "show", RUN, "--steps", db=db)
    assert sum(line.split()[:1] == [str(n)] for n in range(1, 61) for line in many.split("\n")) >= 60


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_terminals_of_any_width(db: Path, columns: str) -> None:
    store_run(db)
    for words in (("runs",), ("runs", "show", RUN, "--steps")):
        assert arena(*words, db=db, COLUMNS=columns, TTY_COMPATIBLE="1")


def test_json_holds_the_recipe_every_metric_and_the_checkpoints(db: Path) -> None:
    store_run(db)
    found = json.loads(arena("runs", "show", RUN, "--json", db=db))
    assert found["recipe"] == RECIPE
    logged = dict(steps())
    assert [row["step"] for row in found["metrics"]] == list(logged)
    assert found["metrics"][9] == {"step": 10} | logged[10]
    assert found["metrics"][0]["leak_rate"] is None
    assert [(row["step"], row["agent"], row["version"]) for row in found["checkpoints"]] == [
        (step, f"{RUN}-{step}", spec.version) for step, spec in SAVED.items()
    ]
    assert [row["kl"] for row in found["checkpoints"]] == [step / 400 for step in SAVED]


def test_a_small_kl_keeps_its_figures_and_a_whole_one_is_a_kl_too(db: Path) -> None:
    with Store.open(str(db)) as store:
        store.add_training_run("slow", {"steps": 104})
        store.add_training_steps("slow", [(1, {"kl": 4e-4})])
        for step, kl in ((1, 4e-4), (2, 3)):
            profile = Profile(base="base", lineage={"run": "slow", "step": step, "kl": kl})
            spec = build_spec("linear", floor=step / 10)
            agent = Registration(f"slow-{step}", spec, "seller", profile, Connection(), utc_now())
            store.add_registrations([agent])
    assert "4.0e-04" in arena("runs", db=db)
    text = arena("runs", "show", "slow", db=db)
    curve, first, second = (
        line.split() for line in text.splitlines() if "KL to" in line or "slow-" in line
    )
    assert curve[-5:-1] == ["4.0e-04"] * 4
    assert (first[-1], second[-1]) == ("4.0e-04", "3.000")


def test_a_step_without_a_metric_has_a_dash_for_it(db: Path) -> None:
    with Store.open(str(db)) as store:
        store.add_training_run("bare", {})
        store.add_training_steps("bare", [(1, {"reward": 0.5}), (2, {"reward": 0.25, "kl": 0.125})])
    rows = [line.split() for line in arena("runs", "show", "bare", "--steps", db=db).splitlines()]
    assert ["1", "0.500", "–"] in rows  # noqa: RUF001
    assert ["2", "0.250", "0.125"] in rows


def test_the_steps_of_a_run_are_read_once(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_run(db)
    read = []
    found = Store.training_steps
    monkeypatch.setattr(Store, "training_steps", lambda self, run: read.append(run) or found(self, run))
    arena("runs", "show", RUN, db=db)
    assert read == [RUN]


def test_a_run_that_begins_has_neither_steps_nor_checkpoints(db: Path) -> None:
    with Store.open(str(db)) as store:
        store.add_training_run("odd \x1b[31m<name>", {"model": 5})
    text = arena("runs", "show", "odd \x1b[31m<name>", "--steps", db=db)
    assert "No step is stored yet" in text
    assert "No checkpoint is registered yet" in text
    assert "\x1b" not in text
    assert "\x1b" not in arena("runs", db=db)


def test_a_name_that_is_nearly_right(db: Path) -> None:
    store_run(db)
    said = arena("runs", "show", "studdy", db=db, expect=2)
    assert (
        said == f"Error: no training run is called studdy; did you mean {RUN}? (arena runs lists them)\n"
    )
