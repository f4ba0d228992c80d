"""The `arena` command. Each command lives in a file of its own under `arena/commands/`."""

import typer

from arena.commands.scenarios import scenarios_app

app = typer.Typer(
    name="arena",
    help="Tournaments and leaderboards for negotiation agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(scenarios_app)
