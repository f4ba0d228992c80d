"""What `make train-demo` claims: a tiny seller learns to bargain, and not from shuffled rewards.

By the commands that a user types, with the defaults of the size and the demo's own design.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "train-demo.yaml"
TRAIN = ("train", "--size", "tiny", "--buyers", "linear,micro_quantile", "--db", "a.db", "--out", "runs")
RUNS = {"taught": (), "control": ("--shuffled-rewards",)}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start an `arena` command that keeps one core busy."""
    return subprocess.Popen(
        [sys.executable, "-m", "arena.cli", *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> str:
    """Wait for a command to end well, and return what it printed."""
    out, err = process.communicate(timeout=2400)
    assert process.returncode == 0, err[-4000:]
    return out


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What each run's last checkpoint gained over their common base, judged in one design."""
    folder = tmp_path_factory.mktemp("learning")
    # One step first makes the base, which both then start from.
    told(start(folder, *TRAIN, "--name", "first", "--steps", "1"))
    for process in [start(folder, *TRAIN, "--name", name, *own) for name, own in RUNS.items()]:
        told(process)
    said = told(
        start(folder, "evaluate", *RUNS, "--last", "--design", str(DESIGN), "--db", "a.db", "--json")
    )
    return {row["agent"].split("-")[0]: row for row in json.loads(said)["checkpoints"]}


def test_a_seller_learns_to_bargain(found: dict[str, dict]) -> None:
    """The gain, and the part of it that is better deals, exclude zero on unseen scenarios against unseen
    buyers, and it is no gain that waiting or accepting would give."""
    taught = found["taught"]
    opened, _ = taught["value"]
    assert taught["gain"]["confirmatory"]
    assert taught["gain"]["low"] > 0
    assert opened["better_deals"]["low"] > 0
    assert {one["contrast"].rsplit(" - ")[1] for one in taught["against"]} == {"accept_first", "stall"}
    assert all(one["low"] > 0 for one in taught["against"])


def test_a_seller_learns_nothing_from_rewards_dealt_at_random(found: dict[str, dict]) -> None:
    """The control may lose by its updates; what it must not do is gain."""
    assert found["control"]["gain"]["low"] < 0
    assert found["control"]["gain"]["difference"] < found["taught"]["gain"]["low"]
