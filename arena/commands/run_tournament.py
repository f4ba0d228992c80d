"""`arena run-tournament`: play what is planned and not played yet."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_if_there, open_store, split_names
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.lineup import Lineup
    from arena.store import Store
    from arena.tournament import Settings, Tournament

WHO = "Who and what"
RULES = "How it is played"
MACHINE = "How it is run (changes nothing that comes out)"


def _option(panel: str, help: str, metavar: str | None = None, **limits: Any) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=panel, **limits)


Sellers = Annotated[
    str | None, _option(WHO, "Names, by commas. [default: registered agents and the panel]", "A,B")
]
Buyers = Annotated[
    str | None, _option(WHO, "Names, by commas. [default: registered agents and the panel]", "C,D")
]
Domains = Annotated[str | None, _option(WHO, "Names or .yaml files. [default: all nine]", "X,Y")]
Scenarios = Annotated[int | None, _option(WHO, "Scenarios a domain. [default: 64]", min=1)]
Infeasible = Annotated[
    int | None, _option(WHO, "As many a domain again where no deal is good for both.", min=0)
]
Seed = Annotated[int | None, _option(WHO, "Another seed plays other scenarios.", min=0)]
DesignFile = Annotated[
    str | None, _option(WHO, "All of this from a YAML or JSON file, or a stored design.", "FILE|HASH")
]
Replicates = Annotated[
    int | None, _option(RULES, "Matches a cell, where a side plays by chance. [default: 1]", min=1)
]
Opener = Annotated[str | None, _option(RULES, "alternate, seller, buyer or both. [default: alternate]")]
Turns = Annotated[
    int | None, _option(RULES, "Turns a side, announced. [default: hidden, 6 to 12]", min=1)
]
TurnTimeout = Annotated[
    float | None, _option(RULES, "Seconds a turn, for plug-ins and models.", min=0.01)
]
Concurrency = Annotated[int, _option(MACHINE, "Matches with a model under way at once.", min=1)]
Workers = Annotated[
    int | None, _option(MACHINE, "Processes for scripted pairs. [default: the cores]", min=1)
]
RetryVoids = Annotated[bool, _option(MACHINE, "Try matches that were void every time three times more.")]
DryRun = Annotated[bool, _option(MACHINE, "Say what would be played, and stop.")]
Yes = Annotated[bool, _option(MACHINE, "Play agents that cost money.")]


def run_tournament(
    sellers: Sellers = None,
    buyers: Buyers = None,
    domains: Domains = None,
    scenarios: Scenarios = None,
    replicates: Replicates = None,
    opener: Opener = None,
    turns: Turns = None,
    infeasible: Infeasible = None,
    seed: Seed = None,
    turn_timeout: TurnTimeout = None,
    design: DesignFile = None,
    concurrency: Concurrency = 16,
    workers: Workers = None,
    retry_voids: RetryVoids = False,
    db: Db = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Play every seller against every buyer on matched scenarios, and keep every match.

    Stop it whenever you like: the same command goes on where it stopped. Exits with 0 when all that was
    planned is scored, with 1 when something is missing, with 2 for a mistake.
    """
    from arena.tournament import Settings

    asked = {
        "sellers": split_names(sellers),
        "buyers": split_names(buyers),
        "domains": split_names(domains),
        "scenarios": scenarios,
        "replicates": replicates,
        "opener": opener,
        "turns": turns,
        "infeasible": infeasible,
        "seed": seed,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    settings = Settings(workers, concurrency, turn_timeout, retry_voids)
    with open_if_there(db) as found:  # a mistake, or a dry run, leaves no database behind
        lineup = _lineup(found, design, given)
        if dry_run:
            _run(found, lineup, settings, dry_run=True, yes=yes, as_json=as_json)
            return
    with open_store(db, create=True) as store:
        _run(store, lineup, settings, dry_run=False, yes=yes, as_json=as_json)


def _lineup(store: "Store", design: str | None, given: dict[str, Any]) -> "Lineup":
    """Resolve the options, or the design that stands for all of them."""
    from arena.lineup import read_request, request_from, resolve
    from scenarios import catalogue

    if design is None:
        return resolve(request_from(given), store)
    files = given.pop("domains", [])
    if given:
        option = next(iter(given))
        raise UserError(f"--design says all that --{option} would: leave one of them out")
    if design.endswith((".json", ".yaml", ".yml")) or os.path.exists(design):
        request = read_request(design)
    else:
        request = request_from(store.design(design).design.model_dump(mode="json"))
    try:
        extra = [catalogue.load(path) for path in files]
    except ValueError as error:
        raise UserError(str(error)) from error
    return resolve(request, store, extra)


def _run(
    store: "Store", lineup: "Lineup", settings: "Settings", *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    from arena.commands import progress
    from arena.commands.printing import print_json
    from arena.tournament import Tournament

    tournament = Tournament(store, lineup, settings)
    for line in progress.plan_lines(tournament, lineup):
        typer.echo(line, err=True)
    if not dry_run:
        _check_cost(tournament, lineup, yes)
        with progress.shown(tournament) as tick:
            tournament.run(tick)
    summary = tournament.summary
    if as_json:
        print_json(summary.to_json(), indent=None)
        lines = progress.attention(summary, lineup)
        typer.echo("\n".join(lines), err=True) if lines and not dry_run else None
    elif not dry_run:
        for line in progress.closing_lines(summary, lineup, store.address):
            typer.echo(line)
    if not dry_run and not summary.complete:
        raise typer.Exit(1)


def _check_cost(tournament: "Tournament", lineup: "Lineup", yes: bool) -> None:
    paid = lineup.paid
    if paid and not yes and tournament.waiting:
        raise UserError(
            f"{', '.join(paid)} may cost money: add --yes to play, or name other agents with --sellers "
            "and --buyers"
        )
