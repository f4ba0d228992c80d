"""Runs that are killed at any moment, or find the disk full, and go on."""

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from arena.errors import UserError
from arena.store import RunStatus
from tests.trainers import watched
from tests.trainers.small_run import prepared_for, recipe_for, tiny_base
from tests.trainers.watched import Run
from trainers.checkpoints import MARK, saved

__all__ = ["tiny_base"]
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
STEPS = 6
"""Saved at 2, 4 and 6."""


@pytest.fixture(scope="module")
def whole(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing disturbed."""
    out = tmp_path_factory.mktemp("runs")
    watched.run(out, "run", prepared_for(recipe_for(tiny_base, steps=STEPS)))
    return Run(out, "run")


def begin(out: Path, base: Path, *traps: str) -> subprocess.Popen[bytes]:
    """Begin the same run in a process of its own."""
    program = [sys.executable, "-m", "tests.trainers.watched", str(out), str(base), "run", str(STEPS)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*program, *traps], cwd=ROOT, stdout=quiet, stderr=quiet)


def lines(out: Path) -> int:
    """Return how many steps a run has begun to learn from."""
    path = out / "run" / watched.TRACE
    return len(path.read_text().splitlines()) if path.exists() else 0


def check_the_same(out: Path, whole: Run) -> None:
    """Check that a run that was disturbed and gone on with is the one that nothing disturbed."""
    found = Run(out, "run")
    assert found.record.status == RunStatus.DONE
    assert found.measured() == whole.measured()
    assert [agent.name for agent in found.agents] == [agent.name for agent in whole.agents]
    assert [agent.spec for agent in found.agents] == [agent.spec for agent in whole.agents]
    assert [agent.profile for agent in found.agents] == [agent.profile for agent in whole.agents]
    assert {line["anchor"] for line in found.trace()} == {line["anchor"] for line in whole.trace()}
    # Steps after the last checkpoint are played again, the same cells with the same answers.
    expected = {json.dumps(line["cells"]): line for line in whole.trace()}
    assert all(expected[json.dumps(line["cells"])] == line for line in found.trace())
    assert list(dict.fromkeys(line["cells"][0] for line in found.trace())) == [0, 2, 4, 6, 8, 10]


def test_the_undisturbed_run(whole: Run, tiny_base: Path) -> None:
    assert [agent.name for agent in whole.agents] == [tiny_base.name, "run-2", "run-4", "run-6"]
    assert len({agent.spec.version for agent in whole.agents}) == 4
    assert len({line["anchor"] for line in whole.trace()}) == 1


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_a_random_moment_and_resumed(
    seed: int, whole: Run, tiny_base: Path, tmp_path: Path
) -> None:
    draw = Random(seed)
    step, wait = draw.randint(1, STEPS - 1), draw.uniform(0, 1.5)
    process = begin(tmp_path, tiny_base)
    try:
        while lines(tmp_path) < step and process.poll() is None:
            time.sleep(0.01)
        time.sleep(wait)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL
    watched.run(tmp_path, "run")
    check_the_same(tmp_path, whole)


@pytest.mark.parametrize("trap", ["config.json", "optimizer.pt", "trainer_state.json", f".{MARK}"])
def test_killed_while_saving_and_resumed(trap: str, whole: Run, tiny_base: Path, tmp_path: Path) -> None:
    process = begin(tmp_path, tiny_base, trap)
    assert process.wait(300) == -signal.SIGKILL
    assert [found.step for found in saved(tmp_path / "run")] == [2]
    assert (tmp_path / "run" / "checkpoint-4").is_dir()
    heard: list[str] = []
    watched.run(tmp_path, "run", progress=heard.append)
    assert "deleting what was left half-written: step 4" in heard
    assert "going on from step 2 of 6" in heard
    check_the_same(tmp_path, whole)


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """Let no file grow beyond `most` bytes, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fills_after(step: int, most: int, room: list[Callable[[], object]]) -> Callable[[str], None]:
    """Return a listener that takes the room away once it hears that a step is over."""

    def heard(line: str) -> None:
        if line.startswith(f"step {step} "):
            limit = small_files(most)
            limit.__enter__()
            room.append(lambda: limit.__exit__(None, None, None))

    return heard


@pytest.mark.parametrize("most", [100, 20_000, 150_000, 300_000])
def test_a_full_disk_ends_a_run_with_what_to_do_and_it_goes_on(
    most: int, whole: Run, tiny_base: Path, tmp_path: Path
) -> None:
    """The limits fall into the configuration, the tokenizer, the weights and the optimizer's state."""
    room: list[Callable[[], object]] = []
    prepared = prepared_for(recipe_for(tiny_base, steps=STEPS))
    try:
        with pytest.raises(UserError) as raised:
            watched.run(tmp_path, "run", prepared, fills_after(4, most, room))
    finally:
        for give in room:
            give()
    assert "could not be saved" in str(raised.value)
    assert "It is saved up to step 2; to go on: arena train --resume run --out" in str(raised.value)
    assert [found.step for found in saved(tmp_path / "run")] == [2]
    assert not (tmp_path / "run" / "checkpoint-4").exists()
    assert saved(tmp_path / "run")[0].resumable
    assert Run(tmp_path, "run").record.status in (RunStatus.FAILED, RunStatus.RUNNING)
    watched.run(tmp_path, "run")
    check_the_same(tmp_path, whole)
