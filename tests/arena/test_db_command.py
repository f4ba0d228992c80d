"""`arena db copy` and `arena db check`, as a user meets them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.store import Filter, Store
from tests.arena.running import invoke, outcomes
from tests.arena.store.raw import contents, execute
from tests.arena.store.server import Server

pytestmark = pytest.mark.usefixtures("own_folder")
ASKED = (
    *("run-tournament", "--sellers", "boulware,random", "--buyers", "linear", "--workers", 1),
    *("--domains", "bread,car_sale"),
)
SAID = (
    ("standings",),
    ("standings", "--measures", "--json"),
    ("compare", "boulware", "random", "--json"),
    ("matches", "--json"),
    ("designs", "--json"),
    ("voids", "--json"),
    ("agents", "--json"),
    ("export", "--format", "csv"),
    ("export", "--format", "json", "--table", "board"),
    ("db", "check", "--json"),
)
"""Commands whose every byte the copy has to give again."""


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 2, done.output
    return done.stderr


def told(address: str) -> dict[tuple[str, ...], str]:
    """Return what each command says of a database, but for its address."""
    return {asked: invoke(*asked, "--db", address).replace(address, "HERE") for asked in SAID}


def copied_and_gone_on(target: str) -> None:
    """Copy a record, see that every command says the same of both, and play on in each."""
    invoke(*ASKED, "--scenarios", 3)
    invoke("register", "firm", "--scripted", "boulware", "--set", "exponent=0.1")
    printed = json.loads(invoke("db", "copy", "arena.db", target, "--json"))
    counts = {table: len(rows) for table, rows in contents("arena.db").items()}
    assert {one["table"]: one["rows"] for one in printed["tables"]} == counts
    here, there = told("arena.db"), told(target)
    if "://" in target:
        for checked in (here, there):
            content = json.loads(checked.pop(("db", "check", "--json")))
            content["checks"] = [one for one in content["checks"] if one["check"] != "the file itself"]
            checked["db", "check"] = json.dumps(content)
    assert {asked[:2] for asked in here if here[asked] != there[asked]} <= {("db", "check")}
    for address in ("arena.db", target):
        report = json.loads(invoke(*ASKED, "--scenarios", 5, "--db", address, "--json"))
        assert (report["already"], report["played"]) == (12, 8)
    assert outcomes(target) == outcomes("arena.db")


@pytest.mark.slow
def test_a_copy_says_and_plays_the_same() -> None:
    copied_and_gone_on("copy.db")


@pytest.mark.slow
def test_a_copy_on_a_server_says_and_plays_the_same(postgres: Server) -> None:
    with postgres.database() as address:
        copied_and_gone_on(address)
        assert "both hold the same" in invoke("db", "copy", address, "back.db")
        assert told(address).keys() == told("back.db").keys()


def test_what_cannot_be_copied_is_refused(tmp_path: Path) -> None:
    assert "there is no database at nowhere.db" in refused("db", "copy", "nowhere.db", "copy.db")
    assert not (tmp_path / "copy.db").exists()
    invoke("register", "firm", "--scripted", "boulware", "--set", "exponent=0.1")
    before = (tmp_path / "arena.db").read_bytes()
    said = refused("db", "copy", "arena.db", "arena.db")
    assert "arena.db is not empty" in said
    assert (tmp_path / "arena.db").read_bytes() == before
    said = refused("db", "copy", "arena.db", "postgresql+psycopg://me:hunter2@127.0.0.1:1/x?password=x2")
    assert "hunter2" not in said
    assert "x2" not in said
    assert "Is the server running" in said


def test_a_check_says_what_is_wrong_and_what_to_do() -> None:
    invoke(*ASKED, "--scenarios", 1)
    assert "nothing is wrong" in invoke("db", "check")
    sound: dict[str, Any] = json.loads(invoke("db", "check", "--json"))
    assert sound["sound"]
    assert not any(one["wrong"] or one["remedy"] for one in sound["checks"])
    (design,) = sound["designs"]
    assert (design["planned"], design["scored"], design["missing"]) == (4, 4, 0)
    execute("arena.db", "UPDATE matches SET seller_utility = 2")
    printed = invoke("db", "check", code=1)
    assert "something is wrong" in printed
    assert "seller_utility" in printed
    assert "restore" in printed
    found = json.loads(invoke("db", "check", "--json", code=1))
    assert {one["check"]: one["wrong"] for one in found["checks"] if one["wrong"]} == {
        "transcripts of matches": 4
    }
    refused("db", "check", "--db", "nowhere.db")
    with Store.open("arena.db") as store:
        key = store.matches(Filter())[0].key
    execute("arena.db", f"UPDATE matches SET transcript = X'00' WHERE key = '{key}'")
    assert "is damaged: arena db check" in refused("show", key)
    found = json.loads(invoke("db", "check", "--json", code=1))
    assert "both hold the same" in invoke("db", "copy", "arena.db", "copy.db")
    again = json.loads(invoke("db", "check", "--db", "copy.db", "--json", code=1))
    assert again == found | {"database": "copy.db"}
