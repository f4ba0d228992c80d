"""Running the real command, and reading a database without the project's own code."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from typer.testing import CliRunner

from arena.cli import app

ROOT = Path(__file__).parents[2]
NOT_COMPARED = {"started_at", "seconds", "worker", "seller_latency_s", "buyer_latency_s"}
"""Columns that may differ between two runs of one design."""
KEYS = {
    "voids": ("key", "attempt"),
    "audits": ("id",),
    "bills": ("id",),
    "calls": ("bill", "number"),
}
"""What a row is known by where that is not its key."""


def command(*arguments: object) -> list[str]:
    """Return the command line of `arena` with these arguments."""
    return [sys.executable, "-m", "tests.arena.entry_point", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which the command finds the project and no database of the user's."""
    plain = {name: value for name, value in os.environ.items() if name != "ARENA_DB"}
    return (
        plain
        | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [plain.get("PYTHONPATH")])])}
        | more
    )


def arena(*arguments: object, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `arena` to its end in the folder `cwd`."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=300,
    )


def in_a_group(*arguments: object, cwd: Path) -> "subprocess.Popen[str]":
    """Start `arena` in the folder `cwd` as a terminal does: with its children in a group of its own."""
    return subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end_by_signal(process: "subprocess.Popen[str]", number: int = signal.SIGINT) -> str:
    """Send a signal to a tournament's whole group, as a terminal sends Ctrl-C: it has to end in good
    order. Return what it said."""
    os.killpg(process.pid, number)
    said, progress = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "stopped before the end" in said
    assert "Traceback" not in progress
    return said


def invoke(*arguments: object, code: int = 0) -> str:
    """Run a command in this process; return what it printed on standard output."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, f"{done.output}\n{done.exception}"
    return done.stdout


def rows(database: Path | str, table: str = "matches") -> dict[str, dict[str, Any]]:
    """Return the whole rows of a table by key (voids: and attempt; audits, bills: id; calls: bill and
    number), as they are committed now. The database is an SQLite file, or an address on PostgreSQL."""
    found = _on_server(database, table) if "://" in str(database) else _in_file(Path(database), table)
    names = KEYS.get(table, ("key",))
    return {"".join(str(row[name]) for name in names): row for row in found}


def _in_file(database: Path, table: str) -> list[dict[str, Any]]:
    if not database.exists():
        return []
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        connection.row_factory = sqlite3.Row
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return []
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


def _on_server(address: Path | str, table: str) -> list[dict[str, Any]]:
    with psycopg.connect(str(address).replace("+psycopg", ""), row_factory=dict_row) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def outcomes(database: Path | str) -> dict[str, dict[str, Any]]:
    """Return the matches by key without what may differ between two runs of one design."""
    return {
        key: {column: value for column, value in row.items() if column not in NOT_COMPARED}
        for key, row in rows(database).items()
    }
