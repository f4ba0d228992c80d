"""Two processes that train one model stay in step, whatever the lengths of their dialogues."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.small_run import tiny_base
from trainers.ranks import Ranks

__all__ = ["tiny_base"]
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_two_processes_stay_in_step(tiny_base: Path, tmp_path: Path) -> None:
    """With gloo, on CPUs. A deadlock would end in the timeout."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "-m", "tests.trainers.two_ranks", str(tiny_base), str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = (json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in (0, 1))
    assert first["processes"] == 2

    # Equally many calls with equally many rows, though their dialogues are not equally long.
    assert first["rows"] == second["rows"]
    assert first["asked"][3:] == [0, 0, 0]  # its buyer leaves at once
    assert all(second["asked"][3:])
    assert sum(first["rows"]) >= max(sum(first["asked"]), sum(second["asked"]))

    # Each has its own cells, a group whole, and reads what belongs to them.
    assert first["cells"] == [0, 0, 0, 2, 2, 2]
    assert second["cells"] == [1, 1, 1, 3, 3, 3]
    assert all(first["briefed"])
    assert all(second["briefed"])

    # One model in the end, and one log: the mean over all dialogues of a step.
    assert all(norm > 0 for norm in first["moved"])
    assert first["weights"] == second["weights"]
    for step in range(2):
        rewards = first["rewards"][3 * step : 3 * step + 3] + second["rewards"][3 * step : 3 * step + 3]
        assert first["logged"][step] == pytest.approx(sum(rewards) / 6)
    assert first["metrics"] == second["metrics"]

    # With weights that are spread over both, too.
    assert sum(first["spread_tokens"]) != sum(second["spread_tokens"])

    # A vLLM server deals answers out by place: each dialogue got the answers to its own prompts.
    assert first["served_answers"] != second["served_answers"]
    assert sum(first["served_answers"] + second["served_answers"]) > 0
    assert all(first["own_answers"] + second["own_answers"])
    for ids, logprobs in first["served_lengths"] + second["served_lengths"]:
        assert ids == logprobs


class One:
    """An accelerator of one process, which must not be asked to gather."""

    num_processes = 1
    device: Any = None


def test_one_process_is_in_step_with_itself() -> None:
    ranks = Ranks(One())
    assert [ranks.most(count) for count in (0, 3)] == [0, 3]
    assert [ranks.any(live) for live in (True, False)] == [True, False]


def test_one_process_has_all_of_it() -> None:
    pytest.importorskip("accelerate", reason="training needs pip install 'bargaining-arena[train]'")
    from accelerate import Accelerator

    assert Ranks(Accelerator(cpu=True)).all_of(["a", "b"]) == ["a", "b"]
