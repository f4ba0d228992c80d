"""Amounts of money: as they are shown, refused where they are none, and no bar to what is free."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arena.budget import Budget
from arena.cli import app
from arena.money import dollars


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0.0, "$0.00"),
        (0.998, "$1.00"),
        (0.9, "$0.90"),
        (0.4004, "$0.40"),
        (0.0123, "$0.012"),
        (0.00000123, "$0.0000012"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_amount_is_shown_with_cents_at_least(amount: float, shown: str) -> None:
    assert dollars(amount) == shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("run-tournament", "--budget", "inf", "--dry-run"),
        ("run-tournament", "--budget", "nan", "--dry-run"),
        ("register", "x", "--model", "hosted_vllm/m", "--timeout", "inf"),
        ("register", "x", "--model", "hosted_vllm/m", "--price-in", "inf", "--price-out", "1"),
    ],
)
def test_what_is_no_amount_is_a_mistake(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*arguments, "--db", f"{tmp_path}/a.db"])
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("given", ["x", "0", "-1", "inf", "1e12"])
def test_a_budget_that_is_none_is_said_in_words(given: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run-tournament", "--budget", given, "--db", f"{tmp_path}/a.db"])
    assert done.exit_code == 2
    assert f"--budget: {given!r} is no budget: give US dollars" in done.stderr


def test_a_free_call_waits_for_no_money() -> None:
    async def calls() -> None:
        budget = Budget(10)
        await budget.hold(8)
        waiting = asyncio.create_task(budget.hold(8))
        await asyncio.sleep(0)
        await asyncio.wait_for(budget.hold(0), 1)
        assert not waiting.done()
        waiting.cancel()

    asyncio.run(calls())
