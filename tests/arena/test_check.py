"""`arena check`: exit codes, what it shows, and that a key's value is never printed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from arena.cli import app

BOTS = """
import time

from agents.agent import accept, propose


class Good:
    def begin(self, role, brief, rng):
        return self

    def reply(self, view):
        return propose(view.brief.default, "\\x1b[2JHello")


class Hangs(Good):
    def begin(self, role, brief, rng):
        while True:
            time.sleep(0.01)


class Greedy(Good):
    def reply(self, view):
        return accept()
"""


@pytest.fixture(autouse=True)
def _bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARENA_DB", raising=False)
    (tmp_path / "check_bots.py").write_text(BOTS)
    yield
    sys.modules.pop("check_bots", None)


def check(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments])


@pytest.mark.parametrize("name", ["boulware", "random", "micro", "check_bots:Good"])
def test_nothing_found(name: str, tmp_path: Path) -> None:
    done = check(name)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "no problems found"
    assert not list(tmp_path.glob("*.db"))


def test_the_live_turn_is_shown_without_obeying_it() -> None:
    done = check("check_bots:Good")
    assert "live turn as seller on apartment_lease@" in done.stdout
    assert "action: propose" in done.stdout
    assert "message: \\x1b[2JHello" in done.stdout


def test_json() -> None:
    report = json.loads(check("linear", "--json").stdout)
    assert report["ok"] is True
    assert report["findings"] == []
    assert report["key"] is None
    assert report["live_turn"]["action"] == "propose"
    assert len(report["live_turn"]["terms"]) == 9


def test_findings_end_with_status_1() -> None:
    done = check("check_bots:Greedy")
    assert done.exit_code == 1
    assert "problem (legality): it accepted with nothing on the table" in done.stdout
    report = json.loads(check("check_bots:Greedy", "--json").stdout)
    assert report["ok"] is False
    assert report["live_turn"] is None


def test_a_hang_is_found_within_the_timeout() -> None:
    done = check("check_bots:Hangs", "--timeout", "0.1")
    assert done.exit_code == 1
    problem = "begin() raised TurnOverrun: no answer within 0.1 s, the limit of a turn"
    assert f"problem (reply): {problem}" in done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "no agent is called nobody"),
        ("check_bots:Nothing", "has no 'Nothing'"),
        ("no_such_module:Bot", "there is no module 'no_such_module'"),
    ],
)
def test_mistakes_end_with_status_2(name: str, words: str) -> None:
    done = check(name)
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output


def test_a_missing_key_is_found_and_its_value_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    register = ["register", "far", "--model", "openai/some-model", "--api-key-env", "FAR_KEY"]
    done = CliRunner().invoke(app, [*register, "--api-base", "http://127.0.0.1:9/v1"])
    assert done.exit_code == 0, done.output
    monkeypatch.delenv("FAR_KEY", raising=False)
    done = check("far")
    assert done.exit_code == 1
    assert "key: FAR_KEY is not set" in done.stdout
    assert "live turn as" not in done.stdout
    # With a key it tries, and nothing listens at that address.
    monkeypatch.setenv("FAR_KEY", "sk-very-secret-value")
    done = check("far", "--timeout", "20")
    assert done.exit_code == 1
    assert "key: FAR_KEY is set" in done.stdout
    assert "problem (live turn): provider_error" in done.stdout
    assert "secret" not in done.output
