"""A tournament that is disturbed while it plays, and what has to hold afterwards."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.arena.processes import committed, wait_for
from tests.arena.running import arena, in_a_group, invoke, outcomes, rows

TOURNAMENT = (
    *("run-tournament", "--sellers", "boulware,random,logroller,micro_quantile"),
    *("--buyers", "linear,tit_for_tat,conceder", "--domains", "coffee_import,road_freight,car_sale"),
    *("--scenarios", "64", "--workers", "2"),
)
PLANNED = 4 * 3 * 3 * 64
ENOUGH = 100
"""Matches that are committed before anything is broken."""


class Record(NamedTuple):
    """What a tournament leaves, but for times and workers, and what a board makes of it."""

    matches: dict[str, dict[str, Any]]
    measures: dict[str, dict[str, Any]]
    standings: str


def record(database: object) -> Record:
    """Read what is in the database."""
    timeless = re.sub(r"frozen .* UTC", "", invoke("standings", "--db", database))
    return Record(outcomes(str(database)), rows(str(database), "measures"), timeless)


def start(folder: Path, database: object, *more: object) -> "subprocess.Popen[str]":
    """Start the tournament."""
    return in_a_group(*TOURNAMENT, "--db", database, *more, cwd=folder)


def wait_until_at_play(database: object) -> None:
    """Wait until something is committed; there has to be something left."""
    wait_for(lambda: committed(str(database)) > ENOUGH)
    assert committed(str(database)) < PLANNED


def ended(process: "subprocess.Popen[str]", code: int) -> tuple[str, str]:
    """Wait until a tournament ends, with this exit code and in good order; return what it said on
    standard output and standard error."""
    said, progress = process.communicate(timeout=120)
    assert process.returncode == code, progress
    assert "Traceback" not in progress
    assert "Exception" not in progress
    return said, progress


def goes_on(folder: Path, database: object, undisturbed: Record) -> None:
    """The same command plays what is left, and nothing else: nothing that was committed is lost, and
    nothing is there twice."""
    before = rows(str(database))
    done = arena(*TOURNAMENT, "--db", database, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["already"], report["played"]) == (len(before), PLANNED - len(before))
    after = rows(str(database))
    assert {key: after[key] for key in before} == before
    found = record(database)
    assert found.matches == undisturbed.matches
    assert found.measures == undisturbed.measures
    assert found.standings == undisturbed.standings
