"""`arena design`: freezing without playing, design files that mean themselves, the log of deviations."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.commands.design import Kind as KindOption
from arena.design import Design
from arena.differences import Kind
from tests.arena.running import rows

PLAN = (
    *("--sellers", "hard,soft,softer", "--buyers", "linear,logroller"),
    *("--domains", "coffee_import,car_sale"),
)
SMALL = (*PLAN, "--scenarios", "2")
MATCHES = 3 * 2 * 2 * 2


@pytest.fixture(autouse=True)
def _two_arms_and_their_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)
    for name, exponent in (("hard", 0.3), ("soft", 1.5), ("softer", 3)):
        base = () if name == "hard" else ("--base", "hard")
        run("register", name, "--scripted", "boulware", "--set", f"exponent={exponent}", *base)


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    """Run a command in this process; return what it printed on stdout and on stderr."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, f"{done.output}\n{done.exception}"
    return done.stdout, done.stderr


def shown(*which: str) -> dict[str, Any]:
    """Return a design as `arena design show --json` prints it."""
    return dict(json.loads(run("design", "show", *which, "--json")[0]))


def frozen(*options: object) -> dict[str, Any]:
    """Freeze a design; return it as printed."""
    return dict(json.loads(run("design", "freeze", *options, "--json")[0]))


def contrasts(design: dict[str, Any]) -> list[str]:
    """Return the declared contrasts of a printed design in words."""
    names = {player["version"]: player["name"] for player in design["sellers"]}
    found = Design.model_validate({k: v for k, v in design.items() if k in Design.model_fields})
    assert found.analysis is not None
    return [contrast.label(names) for contrast in found.analysis.contrasts]


def log(*which: str) -> list[tuple[str, str, str]]:
    """Return the log of a design: kind, what, reason."""
    return [(entry["kind"], entry["what"], entry["reason"]) for entry in shown(*which)["deviations"]]


# Freezing


def test_freezing_plays_nothing_and_the_same_options_play_it(tmp_path: Path) -> None:
    said, _ = run("design", "freeze", *SMALL)
    assert "Family:  2 contrasts, Holm over m = 2: soft - hard, softer - hard" in said
    assert "car_sale, held out: a family of its own, m = 2" in said
    assert "action_leak 0.05" in said
    assert "(limits of ours)" in said
    assert "none of those it plans is played yet" in said
    assert rows(tmp_path / "arena.db") == {}
    before = shown()
    assert said.startswith(f"Design {before['hash']}: frozen on ")
    _, told = run("run-tournament", *SMALL)
    assert "asked:   2 contrasts declared, Holm over m = 2" in told
    assert "Deviation" not in told
    assert shown()["created_at"] == before["created_at"]
    assert shown()["hash"] == before["hash"]
    assert len(rows(tmp_path / "arena.db")) == MATCHES
    again, _ = run("design", "freeze", *SMALL)
    assert ": already frozen on " in again
    assert f"{MATCHES} of {MATCHES} planned matches are played" in again


def test_matches_from_before_the_freeze_are_told() -> None:
    run("run-tournament", *SMALL)
    said, _ = run("design", "freeze", *PLAN, "--scenarios", 3)
    assert f"{MATCHES} of 36 planned matches were played before the freeze and are reused" in said
    assert "exploratory" in said
    text, _ = run("design", "show")
    assert f"{MATCHES} of 36 matches scored, {MATCHES} of them begun before the freeze" in text


def test_a_mistake_leaves_no_database_behind(tmp_path: Path) -> None:
    _, told = run("design", "freeze", "--contrasts", "hard-soft", "--db", "new.db", code=2)
    assert "no agent is called" not in told
    assert "cannot be read: write it as" in told
    assert not (tmp_path / "new.db").exists()


def test_without_arms_nothing_is_declared_and_it_is_told() -> None:
    _, told = run("run-tournament", "--sellers", "hard", "--buyers", "linear", "--scenarios", 1)
    assert "no contrast is declared, so every comparison will be exploratory" in told
    analysis = shown()["analysis"]
    assert analysis["contrasts"] == []
    assert analysis["guards"]["action_leak"] == 0.05
    assert "No contrast is declared" in run("design", "show")[0]


def test_options_declare_as_a_file_does(tmp_path: Path) -> None:
    by_option = frozen(*SMALL, "--contrasts", "softer - soft", "--interval", "bootstrap")
    assert contrasts(by_option) == ["softer - soft"]
    assert by_option["analysis"]["interval"] == "bootstrap"
    (tmp_path / "d.yaml").write_text(
        "sellers: [softer, soft, hard]\nbuyers: [logroller, linear]\nscenarios: 2\n"
        "domains: [car_sale, coffee_import]\n"
        "analysis: {contrasts: ['(softer - hard) - (soft - hard)'], interval: bootstrap}\n"
    )
    assert frozen("d.yaml")["hash"] == by_option["hash"]
    (tmp_path / "bad.yaml").write_text("sellers: [soft]\nanalysis: {guard: {}}\n")
    assert "analysis.guard: no such field" in run("design", "freeze", "bad.yaml", code=2)[1]
    both = run("design", "freeze", "d.yaml", "--seed", 1, code=2)[1]
    assert "the file says all that --seed would" in both
    both = run("run-tournament", "--design", "d.yaml", "--interval", "t", code=2)[1]
    assert "--design says all that --interval would" in both


# Design files


def test_a_printed_design_means_itself(tmp_path: Path) -> None:
    kept = frozen(*SMALL, "--contrasts", "soft - hard", "--reason", "none needed")
    run("register", "soft", "--scripted", "boulware", "--set", "exponent=1.5", "--base", "linear")
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    assert frozen("kept.json") | {"last_run_at": ""} == kept | {"last_run_at": ""}
    (tmp_path / "kept.json").write_text(json.dumps(kept | {"scenarios": 3}))
    _, told = run("design", "freeze", "kept.json", code=2)
    assert f"says that it is design {kept['hash']}" in told
    del kept["hash"]
    (tmp_path / "kept.json").write_text(json.dumps(kept | {"scenarios": 3}))
    assert contrasts(frozen("kept.json")) == ["soft - hard"]


def test_a_design_from_before_there_was_an_analysis_keeps_its_hash(tmp_path: Path) -> None:
    plan = frozen(*SMALL)
    old = {key: plan[key] for key in Design.model_fields if key != "analysis"}
    expected = Design.model_validate(old).hash
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert frozen("old.json")["hash"] == expected != plan["hash"]
    assert shown(expected)["analysis"] is None
    assert frozen(expected)["hash"] == expected
    assert "no contrast is declared" in run("run-tournament", "--design", expected)[1]
    assert json.loads(run("designs", "--json")[0])[0]["contrasts"] == 0


# The log


def test_what_a_later_design_changes_is_logged_once_and_never_in_silence() -> None:
    first = frozen(*SMALL)["hash"]
    assert log() == []
    _, planned = run("run-tournament", *PLAN, "--scenarios", 3, "--dry-run")
    assert f"Deviation would be logged (n): against design {first}: scenarios a domain" in planned
    _, told = run("run-tournament", *PLAN, "--scenarios", 3)
    words = f"against design {first}: scenarios a domain from 2 to 3"
    assert f"Deviation logged (n): {words}" in told
    assert "no reason was given (--reason gives one)" in told
    assert log() == [("n", words, "no reason was given")]
    second = shown()["hash"]
    for again in (PLAN, ("--design", first)):
        scenarios = ("--scenarios", 3) if again == PLAN else ()
        assert "Deviation" not in run("run-tournament", *again, *scenarios)[1]
    assert [e["deviations"] for e in json.loads(run("designs", "--json")[0])] == [0, 1]
    assert "scenarios a domain from 2 to 3" in run("design", "show", second)[0]


def test_arms_that_come_and_go_are_logged_with_the_reason() -> None:
    first = frozen(*SMALL)["hash"]
    run("register", "late", "--scripted", "boulware", "--set", "exponent=2", "--base", "hard")
    wider = ("--sellers", "hard,soft,late", *SMALL[2:], "--reason", "it was trained only now")
    _, told = run("design", "freeze", *wider)
    assert "reason: it was trained only now" in told
    against = f"against design {first}: "
    assert log() == [
        ("arm", f"{against}arm late added later; arm softer dropped", "it was trained only now"),
        (
            "contrast",
            f"{against}contrast late - hard added; contrast softer - hard dropped",
            "it was trained only now",
        ),
    ]
    run("design", "freeze", "--sellers", "hard,linear", *SMALL[2:])
    assert log() == [], "nothing is declared, so nothing is tried again"


def test_another_arm_over_the_same_base_is_a_second_try() -> None:
    first = frozen("--sellers", "hard,soft", *SMALL[2:])["hash"]
    _, told = run("design", "freeze", "--sellers", "hard,softer", *SMALL[2:])
    assert f"against design {first}: arm softer added later; arm soft dropped" in told
    assert [kind for kind, _, _ in log()] == ["arm", "contrast"]


def test_people_add_to_the_log_and_nothing_leaves_it() -> None:
    design = frozen(*SMALL)["hash"]
    what, reason = ("--what", "the machine was changed"), ("--reason", "it failed")
    said, _ = run("design", "deviate", design[:6], *what, *reason, "--kind", "rules")
    assert f"Logged with design {design} (rules): the machine was changed; its log has 1 entry" in said
    run("design", "deviate", design, "--what", "and again", *reason)
    assert log() == [
        ("rules", "the machine was changed", "it failed"),
        ("other", "and again", "it failed"),
    ]
    table, _ = run("design", "show")
    assert table.index("the machine was changed") < table.index("and again")
    for missing in ((*what, "--reason", " "), (*reason, "--what", "")):
        assert "needs --what" in run("design", "deviate", design, *missing, code=2)[1]
    assert "--reason" in run("design", "deviate", design, *what, code=2)[1]
    assert "no design" in run("design", "deviate", "ffff", *what, *reason, code=2)[1]
    assert len(log()) == 2


def test_every_kind_of_deviation_can_be_named() -> None:
    assert [kind.value for kind in Kind] == list(get_args(KindOption))


# Nothing vanishes


def test_no_arm_design_or_deviation_can_vanish(tmp_path: Path) -> None:
    """With a database that refuses every deletion, and every change of what was frozen or logged."""
    first = frozen(*SMALL)["hash"]
    with closing(sqlite3.connect(tmp_path / "arena.db")) as connection, connection:
        named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        tables = connection.execute(named).fetchall()
        kept = {"designs": ("hash", "content", "created_at"), "deviations": (), "agents": ()}
        for (table,) in tables:
            _forbid(connection, table, "DELETE")
        for table, columns in kept.items():
            _forbid(connection, table, f"UPDATE OF {', '.join(columns)}" if columns else "UPDATE")
    run("run-tournament", *SMALL)
    matches = [
        json.loads(line) for line in run("matches", "--json", "--seller", "softer")[0].splitlines()
    ]
    for match in matches:
        run("withdraw", "--match", match["key"], "--reason", "a wrong prompt")
    said, _ = run("withdraw", "softer", "--reason", " it lost ")
    assert said.rstrip("\n").endswith(" is withdrawn: it lost")
    run("run-tournament", "--sellers", "hard,soft", *SMALL[2:], "--reason", "without softer")
    entries = log(first)
    assert [kind for kind, _, _ in entries] == ["cell"] * len(matches)
    assert {reason for _, _, reason in entries} == {"a wrong prompt"}
    assert "softer against" in entries[0][1]
    assert "arm softer dropped" in log()[0][1]
    board = json.loads(run("standings", "--design", first, "--json")[0])
    gone = next(row for row in board if row["agent"] == "softer")
    assert (gone["matches"], gone["planned"], gone["rank_low"]) == (0, len(matches), None)
    assert "softer" in run("standings", "--design", first)[0]
    assert {entry["design"] for entry in json.loads(run("designs", "--json")[0])} >= {first}


def test_an_arm_that_is_withdrawn_before_its_end_is_logged() -> None:
    done = frozen(*SMALL)["hash"]
    run("run-tournament", "--design", done)
    longer = frozen(*PLAN, "--scenarios", 4)["hash"]
    run("withdraw", "soft", "--reason", "too dear")
    assert log(done) == []
    assert log(longer)[-1] == ("arm", "soft withdrawn with 8 of its 16 matches unplayed", "too dear")


def _forbid(connection: sqlite3.Connection, table: str, event: str) -> None:
    name = f"keep_{table}_{event.split()[0]}"
    connection.execute(
        f"CREATE TRIGGER {name} BEFORE {event} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'something is taken out of {table}'); END"
    )
