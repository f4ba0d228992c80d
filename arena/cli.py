"""The `arena` command. Each command lives in a file of its own under `arena/commands/`."""

import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agents import loading
from arena.commands import printing
from arena.commands.agents import agents
from arena.commands.check import check
from arena.commands.compare import compare
from arena.commands.costs import costs
from arena.commands.db import db_app
from arena.commands.design import design_app
from arena.commands.designs import designs
from arena.commands.doctor import doctor
from arena.commands.drift import drift
from arena.commands.evaluate import evaluate_runs
from arena.commands.export import export
from arena.commands.guards import guards
from arena.commands.leaderboard import leaderboard
from arena.commands.matches import matches
from arena.commands.openings import openings
from arena.commands.power import power
from arena.commands.prompt import prompt_app
from arena.commands.register import register
from arena.commands.run_tournament import run_tournament
from arena.commands.runs import runs_app
from arena.commands.scenarios import scenarios_app
from arena.commands.show import show
from arena.commands.simulate import simulate
from arena.commands.splits import splits
from arena.commands.standings import standings
from arena.commands.train import train
from arena.commands.value import value
from arena.commands.voids import voids
from arena.commands.withdraw import withdraw
from arena.errors import UserError


class _Arena(TyperGroup):
    """Prints what a user can mend in a sentence, and exits with status 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    name="arena",
    cls=_Arena,
    help="Tournaments and leaderboards for negotiation agents: who bargains better, against whom, and "
    "how sure are we?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"arena {version('bargaining-arena')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    # A terminal that is not Unicode shows what it cannot print as an escape, and the command goes on.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    loading.shown = printing.loading


AGENTS = "Agents"
TOURNAMENTS = "Tournaments"
TRAINING = "Training"
RECORD = "What the record says"
GROUND = "What is bargained over, and how"
HEALTH = "This machine, and the database"

app.command(rich_help_panel=AGENTS)(register)
app.command(rich_help_panel=AGENTS)(agents)
app.command(rich_help_panel=AGENTS)(check)
app.command(rich_help_panel=AGENTS)(withdraw)
app.command("run-tournament", rich_help_panel=TOURNAMENTS)(run_tournament)
app.command(rich_help_panel=TOURNAMENTS)(power)
app.command(rich_help_panel=TOURNAMENTS)(simulate)
app.command(rich_help_panel=TOURNAMENTS)(designs)
app.add_typer(design_app, name="design", rich_help_panel=TOURNAMENTS)
app.command(rich_help_panel=TRAINING)(train)
app.add_typer(runs_app, name="runs", rich_help_panel=TRAINING)
app.command("evaluate", rich_help_panel=TRAINING)(evaluate_runs)
app.command(rich_help_panel=RECORD)(standings)
app.command(rich_help_panel=RECORD)(compare)
app.command(rich_help_panel=RECORD)(splits)
app.command(rich_help_panel=RECORD)(guards)
app.command(rich_help_panel=RECORD)(openings)
app.command(rich_help_panel=RECORD)(value)
app.command(rich_help_panel=RECORD)(voids)
app.command(rich_help_panel=RECORD)(drift)
app.command(rich_help_panel=RECORD)(costs)
app.command(rich_help_panel=RECORD)(leaderboard)
app.command(rich_help_panel=RECORD)(export)
app.command(rich_help_panel=RECORD)(matches)
app.command(rich_help_panel=RECORD)(show)
app.add_typer(scenarios_app, rich_help_panel=GROUND)
app.add_typer(prompt_app, rich_help_panel=GROUND)
app.command(rich_help_panel=HEALTH)(doctor)
app.add_typer(db_app, rich_help_panel=HEALTH)

if __name__ == "__main__":
    app()  # launchers of several processes name a module
