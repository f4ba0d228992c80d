"""`arena runs`: the training runs of the record, while they run and afterwards."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_if_there
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.store import Registration, Store, TrainingRun
    from leaderboard.training import Steps

runs_app = typer.Typer(
    help="Training runs: how far they are, their curves, and their checkpoints.",
    invoke_without_command=True,
)


@runs_app.callback()
def runs(context: typer.Context, db: Db = None, as_json: AsJson = False) -> None:
    """List the training runs, the newest first: how far each is, what it learned, what it saved."""
    from arena.commands import run_lines
    from arena.commands.printing import print_json
    from leaderboard.training import standing

    if context.invoked_subcommand is not None:
        return
    with open_if_there(db) as store:
        agents = store.registrations()
        newest = (standing(run, agents, store.address) for run in reversed(store.training_runs()))
        found = [_row(run, store.training_steps(run.name), agents) for run in newest]
    if as_json:
        print_json(found)
    elif found:
        run_lines.print_list(found)
    else:
        typer.echo("No training run yet: arena train makes one.")


@runs_app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name.")],
    steps: Annotated[bool, typer.Option("--steps", help="Also a row a step.")] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: its recipe in short, its curves, and the agents that its checkpoints are.

    With --json: all of the recipe, all metrics of every step, and the checkpoints.
    """
    from arena.commands import run_lines
    from arena.commands.printing import print_json
    from leaderboard import training

    with open_if_there(db) as store:
        found = named_run(store, run)
        logged = store.training_steps(found.name)
        agents = store.registrations()
        found = training.standing(found, agents, store.address)
    row = _row(found, logged, agents)
    saved = [training.checkpoint_row(*pair) for pair in training.checkpoints(found.name, agents)]
    if as_json:
        print_json(row | {"recipe": found.recipe, "checkpoints": saved, "metrics": _metrics(logged)})
        return
    run_lines.print_run(row, found.recipe, logged)
    run_lines.print_checkpoints(saved)
    if steps:
        run_lines.print_steps(logged)


def named_run(store: "Store", name: str) -> "TrainingRun":
    """Return the training run of this name. Raises UserError with the names that come close."""
    from difflib import get_close_matches

    known = {run.name: run for run in store.training_runs()}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 3, 0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UserError(f"no training run is called {name}{hint} (arena runs lists them)")


def _row(run: "TrainingRun", steps: "Steps", agents: "list[Registration]") -> dict[str, Any]:
    from leaderboard import training

    reward = training.ends(training.points(steps, "reward"))
    kl = training.ends(training.points(steps, "kl"))
    return {
        "run": run.name,
        "status": run.status,
        "why": run.why,
        "step": steps[-1][0] if steps else 0,
        "steps": run.recipe.get("steps"),
        "model": run.recipe.get("size") or run.recipe.get("model"),
        "learning_rate": run.recipe.get("learning_rate"),
        "reward_first": reward and reward[0],
        "reward_now": reward and reward[1],
        "kl": kl and kl[1],
        "checkpoints": len(training.checkpoints(run.name, agents)),
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }


def _metrics(steps: "Steps") -> list[dict[str, Any]]:
    """Return a row a step; what is no number is null, as JSON has no word for it."""
    from math import isfinite

    return [
        {"step": step} | {name: value if isfinite(value) else None for name, value in values.items()}
        for step, values in steps
    ]
