"""The log file of a tournament: whole lines of JSON, whoever else writes, reads or kills."""

import json
import multiprocessing
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.errors import UserError
from arena.journal import Journal
from tests.agents.language_model.conftest import _warm, faulty
from tests.arena.processes import wait_for
from tests.arena.running import arena, command, environment, invoke, rows

__all__ = ["_warm", "faulty"]

SMALL = (
    *("run-tournament", "--sellers", "boulware,random", "--buyers", "linear"),
    *("--domains", "coffee_import", "--scenarios", "3", "--log-file", "log.jsonl"),
)


pytestmark = pytest.mark.usefixtures("own_folder")


def events(path: str | Path = "log.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def of(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in found if event["event"] == kind]


def test_every_match_of_the_database_is_in_the_log_as_it_is_there(tmp_path: Path) -> None:
    told = json.loads(invoke(*SMALL, "--json"))
    found = events()
    assert [event["event"] for event in found] == ["run_started", *["match_finished"] * 6, "run_ended"]
    assert {event["run"] for event in found} == {found[0]["run"]}
    assert all(event["at"].endswith("+00:00") for event in found)
    assert [event["at"] for event in found] == sorted(event["at"] for event in found)
    assert (found[0]["design"], found[0]["planned"], found[0]["to_play"]) == (told["design"], 6, 6)
    assert {key: found[-1][key] for key in told if key != "attention"} == {
        key: told[key] for key in told if key != "attention"
    }
    stored = rows(tmp_path / "arena.db")
    assert {event["key"] for event in found[1:-1]} == stored.keys()
    for event in found[1:-1]:
        row = stored[event["key"]]
        for key in ("ending", "at_fault", "seller_utility", "buyer_utility", "turns", "started_at"):
            assert event[key] == row[key]
        assert event["seller"] in ("boulware", "random")
        assert event["buyer"] == "linear"


def test_a_second_run_appends() -> None:
    invoke(*SMALL)
    first = Path("log.jsonl").read_text()
    invoke(*SMALL[:-3], "5", *SMALL[-2:])
    assert Path("log.jsonl").read_text().startswith(first)
    starts = of("run_started", events())
    assert [(start["already"], start["to_play"]) for start in starts] == [(0, 6), (6, 4)]
    assert starts[0]["run"] != starts[1]["run"]


@pytest.mark.parametrize("path", ["nowhere/log.jsonl", ".", "arena.db"])
def test_a_path_that_cannot_be_a_log_is_a_mistake_before_play(path: str) -> None:
    invoke(*SMALL[:-2])
    before = Path("arena.db").read_bytes()
    done = CliRunner().invoke(app, [*SMALL[:-3], "9", "--log-file", path])
    assert done.exit_code == 2
    (said,) = done.stderr.splitlines()
    assert said.startswith("Error: --log-file: ")
    assert Path("arena.db").read_bytes() == before


@pytest.mark.parametrize(
    ("log", "db"),
    [
        ("arena.db", None),
        ("other/../new.db", "new.db"),
        ("new.db-wal", "new.db"),
        ("new.db-shm", "sqlite:///new.db"),
        ("{here}/new.db-journal", "sqlite:///new.db"),
        ("new.db", "sqlite:///{here}/new.db"),
        ("to_new", "new.db"),
        ("new.db-wal", "to_new"),
        ("other/link/new.db", "new.db"),
        ("same.db", "empty.db"),
    ],
)
def test_no_file_of_the_database_is_a_log_even_before_it_is_there(
    tmp_path: Path, log: str, db: str | None
) -> None:
    Path("other").mkdir()
    Path("other/link").symlink_to(tmp_path)
    Path("to_new").symlink_to("new.db")
    Path("empty.db").touch()
    Path("same.db").hardlink_to("empty.db")
    before = sorted(Path().iterdir())
    at = [] if db is None else ["--db", db.format(here=tmp_path)]
    done = CliRunner().invoke(app, [*SMALL[:-1], log.format(here=tmp_path), *at])
    assert done.exit_code == 2, done.output
    (said,) = done.stderr.splitlines()
    assert said.endswith(" is a file of the database: name another file")
    assert sorted(Path().iterdir()) == before
    assert Path("empty.db").stat().st_size == 0


def test_another_database_is_no_log() -> None:
    invoke(*SMALL[:-2], "--db", "other.db")
    before = Path("other.db").read_bytes()
    done = CliRunner().invoke(app, [*SMALL[:-1], "other.db"])
    assert done.exit_code == 2
    assert "--log-file: other.db is a database, and is left as it is" in done.stderr
    assert Path("other.db").read_bytes() == before


def test_a_dry_run_writes_no_log() -> None:
    invoke(*SMALL, "--dry-run")
    assert not Path("log.jsonl").exists()


def test_a_line_that_was_cut_off_spoils_no_other() -> None:
    with Journal("log.jsonl") as journal:
        journal.write("one")
        journal.write("two")
    whole = Path("log.jsonl").read_bytes()
    Path("log.jsonl").write_bytes(whole[:-9])
    with Journal("log.jsonl") as journal:
        journal.write("three")
    one, torn, three = Path("log.jsonl").read_text().splitlines()
    assert json.loads(one)["event"] == "one"
    assert json.loads(three)["event"] == "three"
    with pytest.raises(json.JSONDecodeError):
        json.loads(torn)


def test_a_full_disk_ends_nothing() -> None:
    with Journal("/dev/full") as journal:
        journal.write("one")
        assert journal.failure == "No space left on device"
    done = CliRunner().invoke(app, [*SMALL[:-1], "/dev/full"])
    assert done.exit_code == 0
    assert "the log file is not complete: No space left on device" in done.stderr


def test_something_else_is_left_as_it_is() -> None:
    Path("notes.txt").write_text("Buy milk.\n")
    with pytest.raises(UserError, match="holds something else"):
        Journal("notes.txt")
    assert Path("notes.txt").read_text() == "Buy milk.\n"


def write_many(number: int) -> None:
    with Journal("log.jsonl") as journal:
        for line in range(300):
            journal.write("line", writer=number, line=line, padding="x" * 5_000)


def test_several_writers_at_once_write_whole_lines() -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(write_many, range(4), chunksize=1)
    found = events()
    assert len(found) == 1200
    for number in range(4):
        assert [e["line"] for e in found if e["writer"] == number] == list(range(300))


def test_a_kill_loses_no_line(tmp_path: Path) -> None:
    assert arena("register", "slow", "--plugin", "tests.arena.bots:Slow", cwd=tmp_path).returncode == 0
    slow = (
        *("run-tournament", "--sellers", "slow", "--buyers", "hardliner", "--turns", "6"),
        *("--domains", "car_sale", "--scenarios", "40", "--log-file", "log.jsonl"),
    )
    process = subprocess.Popen(
        command(*slow), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: len(rows(tmp_path / "arena.db")) > 5 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    kept = rows(tmp_path / "arena.db").keys()
    logged = {event["key"] for event in of("match_finished", events())}
    assert kept <= logged
    assert len(kept) < 40
    assert not of("run_ended", events())
    assert arena(*slow, cwd=tmp_path).returncode == 0
    finished = [event["key"] for event in of("match_finished", events())]
    assert set(finished) == rows(tmp_path / "arena.db").keys()
    assert len(of("run_ended", events())) == 1
    assert len(finished) >= 40  # what was logged and not committed is played, and logged, again


SECRET = "hunter2-do-not-log"


def test_what_is_private_is_not_in_it(faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of void attempts the trouble is there, of matches what they cost; of what was said, nothing."""
    monkeypatch.setenv("TEST_MODEL_KEY", SECRET)
    register = ("register", "m", "--model", "hosted_vllm/m", "--api-base", faulty.address)
    invoke(*register, "--api-key-env", "TEST_MODEL_KEY", "--price-in", "2", "--price-out", "10")
    faulty.plan = lambda body, before: "rejected" if faulty_once(body) else None
    told = json.loads(
        invoke(
            *("run-tournament", "--sellers", "m", "--buyers", "linear", "--domains", "coffee_import"),
            *("--scenarios", "4", "--yes", "--log-file", "log.jsonl", "--json"),
        )
    )
    found = events()
    (void,) = of("void_attempt", found)
    assert (void["trouble"], void["at_fault"], void["seller"]) == ("rejected", "seller", "m")
    assert "check sampling" in void["detail"]
    matches = of("match_finished", found)
    assert len(matches) == 4
    spent = sum(event["cost_usd"] for event in (*matches, void) if event["cost_usd"] is not None)
    assert spent == pytest.approx(told["cost_usd"])
    assert all(event["tokens"] > 0 for event in matches)
    text = Path("log.jsonl").read_text()
    for private in (SECRET, "Arithmetic", "My offer", "Agreed"):
        assert private not in text


seen: list[str] = []


def faulty_once(body: dict[str, Any]) -> bool:
    """Return whether this is the first conversation ever, on its first turn."""
    seen.append(str(body["messages"]))
    return len(seen) == 1
