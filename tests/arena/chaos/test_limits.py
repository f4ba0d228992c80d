"""What the system gives a tournament: too few files, and a clock that jumps."""

import random
import resource
import subprocess
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from arena import record as recording
from tests.arena.chaos.disturbed import TOURNAMENT, Record, goes_on
from tests.arena.running import command, environment, invoke, outcomes


@pytest.mark.slow
def test_too_few_open_files(tmp_path: Path, undisturbed: Record) -> None:
    done = subprocess.run(
        command(*TOURNAMENT, "--db", "arena.db"),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14)),
    )
    assert done.returncode == 2
    assert "Error: no worker process can be started (Too many open files)" in done.stderr
    assert "Traceback" not in done.stderr
    goes_on(tmp_path, tmp_path / "arena.db", undisturbed)


class Jumping(datetime):
    """A clock that is up to a year before or after."""

    chance = random.Random(3)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(UTC) + timedelta(days=cls.chance.uniform(-365, 365))


@pytest.mark.usefixtures("own_folder")
def test_a_clock_that_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    small = ("run-tournament", "--sellers", "boulware,random", "--buyers", "linear", "--workers", 1)
    small += ("--domains", "coffee_import", "--scenarios", 8, "--db")
    invoke(*small, "other.db")
    monkeypatch.setattr(recording, "datetime", Jumping)
    invoke(*small[:-2], 4, "--db", "arena.db")
    invoke(*small, "arena.db")
    assert outcomes("arena.db") == outcomes("other.db")
    assert "boulware" in invoke("standings", "--db", "arena.db")
