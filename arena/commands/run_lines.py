"""Training runs in the terminal: the list, a run's recipe and curves, its checkpoints and steps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from leaderboard.training import Steps

CURVE = (12, 60)
"""Characters that a curve has at least and at most."""
BESIDE = 68
"""Characters that the other columns of the curves take."""


def print_list(found: Sequence[Mapping[str, Any]]) -> None:
    """Print a row a run."""
    from arena.commands.printing import add_row, new_table, print_table
    from arena.printable import plain
    from leaderboard import wording
    from leaderboard.metrics import worded
    from leaderboard.training import WINDOW, ended_early

    columns = ("run", "status", ">step", "model", ">learning rate", ">reward", ">KL", ">checkpoints")
    table = new_table(*columns, "begun", "ended")
    for row in found:
        ended = wording.when(row["ended_at"]) if row["ended_at"] else ""
        rate = "" if row["learning_rate"] is None else f"{row['learning_rate']:g}"
        learned = (_reward(row), worded("kl", row["kl"]), row["checkpoints"])
        shown = (row["run"], row["status"], _step(row), row["model"], rate, *learned)
        add_row(table, *shown, wording.when(row["started_at"]), ended)
    print_table(table)
    for row in found:
        if early := ended_early(row["status"], row["step"], row["why"]):
            typer.echo(plain(f"{row['run']} {early}"))
    typer.echo(f"Reward: means of up to {WINDOW} steps, the first and the last; KL: of the last.")


def print_run(row: Mapping[str, Any], recipe: Mapping[str, Any], steps: "Steps") -> None:
    """Print how far a run is, its recipe in short, and its curves."""
    from arena.printable import plain
    from leaderboard import wording
    from leaderboard.training import ended_early, in_short

    ended = f", ended {wording.when(row['ended_at'])}" if row["ended_at"] else ""
    begun = f"begun {wording.when(row['started_at'])}{ended}"
    typer.echo(plain(f"{row['run']}: {row['status']}, step {_step(row)}; {begun}"))
    if early := ended_early(row["status"], row["step"], row["why"]):
        typer.echo(plain(f"  {early}"))
    for line in in_short(recipe):
        typer.echo(plain(f"  {line}"))
    if steps:
        _print_curves(steps)
    else:
        typer.echo("No step is stored yet: the curves appear with the first one.\n")


def print_checkpoints(saved: Sequence[Mapping[str, Any]]) -> None:
    """Print a row a checkpoint."""
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard.metrics import worded

    if not saved:
        typer.echo("No checkpoint is registered yet.")
        return
    table = new_table(">step", "checkpoint", "version", "base", ">KL", "withdrawn")
    for row in saved:
        shown = (row["agent"], row["version"], row["base"], worded("kl", row["kl"]))
        add_row(table, f"{row['step']:,}", *shown, row["withdrawn_reason"])
    print_table(table)


def print_steps(steps: "Steps") -> None:
    """Print a row a step, of the metrics that a run is judged by."""
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard.metrics import described, worded
    from leaderboard.training import metrics

    names = metrics({"": steps}).first
    table = new_table(">step", *(f">{described(name).title}" for name in names))
    for step, values in steps:
        add_row(table, f"{step:,}", *(worded(name, values.get(name)) for name in names))
    print_table(table)


def _print_curves(steps: "Steps") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import training
    from leaderboard.metrics import described, worded
    from leaderboard.sparkline import sparkline

    width, marks = _room()
    table = new_table("metric", ">first", ">now", ">least", ">most", "curve")
    shown = training.metrics({"": steps})
    for name in (*shown.first, *shown.buyers):
        points = training.points(steps, name)
        span = training.ends(points)
        if span is None:
            continue
        values = [value for _, value in points]
        figures = [worded(name, value) for value in (*span, min(values), max(values))]
        curve = sparkline(points, (steps[0][0], steps[-1][0]), width, marks)
        add_row(table, described(name).title, *figures, curve)
    print_table(table)
    more = f"; --json has {len(shown.rest)} more metrics" if shown.rest else ""
    typer.echo(f"First and now: means of up to {training.WINDOW} steps{more}.\n")


def _room() -> tuple[int, str]:
    """Return how many characters a curve may take, and which."""
    from rich.console import Console

    from arena.commands.printing import PIPE_WIDTH
    from leaderboard.sparkline import ASCII, BLOCKS

    console = Console()
    least, most = CURVE
    width = console.width if console.is_terminal else PIPE_WIDTH
    return max(least, min(most, width - BESIDE)), ASCII if console.options.ascii_only else BLOCKS


def _step(row: Mapping[str, Any]) -> str:
    return f"{row['step']:,} of {row['steps']:,}" if row["steps"] else f"{row['step']:,}"


def _reward(row: Mapping[str, Any]) -> str:
    from leaderboard.metrics import worded

    first, now = (worded("reward", row[key]) for key in ("reward_first", "reward_now"))
    return now if row["reward_now"] is None else f"{first} to {now}"
