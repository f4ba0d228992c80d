"""`arena run-tournament`: play what is planned and not played yet."""

from typing import TYPE_CHECKING, Annotated

import typer

from arena.commands.options import AsJson, Db, open_if_there, open_store, to_name
from arena.commands.request import (
    WHO,
    Buyers,
    Contrasts,
    Domains,
    Infeasible,
    Interval,
    Opener,
    Reason,
    Replicates,
    Scenarios,
    Seed,
    Sellers,
    Turns,
    asked,
    lineup_of,
    option,
)
from arena.commands.settings import (
    MACHINE,
    AllowUnpriced,
    Budget,
    Cache,
    Concurrency,
    Drift,
    Executor,
    LogFile,
    RayAddress,
    RetryVoids,
    Serve,
    ServersAtOnce,
    TurnTimeout,
    Workers,
    Yes,
    check_log,
    journal_at,
    settings_of,
)
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.journal import Journal
    from arena.lineup import Lineup
    from arena.settings import Settings
    from arena.store import Store
    from arena.summary import Summary
    from arena.tournament import Tournament

DesignFile = Annotated[
    str | None, option(WHO, "All of this from a YAML or JSON file, or a stored design.", "FILE|HASH")
]
DryRun = Annotated[bool, option(MACHINE, "Say what would be played, and stop.")]


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
    contrasts: Contrasts = None,
    interval: Interval = None,
    reason: Reason = None,
    turn_timeout: TurnTimeout = None,
    design: DesignFile = None,
    concurrency: Concurrency = None,
    workers: Workers = None,
    executor: Executor = "local",
    ray_address: RayAddress = None,
    retry_voids: RetryVoids = False,
    drift: Drift = None,
    serve: Serve = False,
    servers: ServersAtOnce = None,
    log_file: LogFile = None,
    budget: Budget = None,
    allow_unpriced: AllowUnpriced = False,
    cache: Cache = False,
    db: Db = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Play every seller against every buyer on matched scenarios, and keep every match.

    Stop it whenever you like: the same command goes on where it stopped. Exits with 0 when all that was
    planned is scored, with 1 when something is missing, with 2 for a mistake.
    """
    options = dict(locals())
    given, settings = asked(options), settings_of(options)
    check_log(log_file, db)
    with open_if_there(db) as found:  # a mistake, or a dry run, leaves no database behind
        lineup = lineup_of(found, design, given)
        if dry_run:
            _plan(found, lineup, settings, as_json)
            return
        lineup.check_keys()
    with journal_at(log_file) as journal, open_store(db, create=True) as store:
        _run(store, lineup, settings, reason, journal, yes=yes, as_json=as_json)


def _plan(store: "Store", lineup: "Lineup", settings: "Settings", as_json: bool) -> None:
    """Say what would be played, and what would be logged."""
    from arena.commands.closing_lines import summary_json
    from arena.commands.model_lines import rerouted
    from arena.commands.plan_lines import departure_lines
    from arena.commands.printing import print_json
    from arena.commands.serving_lines import serving_json
    from arena.deviations import pending
    from arena.estimate import estimates, total
    from arena.tournament import Tournament

    tournament = Tournament(store, lineup, settings)
    _say_plan(store, tournament, lineup)
    for line in departure_lines(pending(store, lineup.design), "would be logged"):
        typer.echo(line, err=True)
    if as_json:
        found = estimates(store, lineup, tournament.matches_on())
        content = summary_json(tournament.summary, lineup, to_name(store.address))
        estimated = {"cost_usd": total(found), "agents": [one.to_json() for one in found]}
        content |= {"estimate": estimated, "serving": serving_json(tournament, lineup)}
        content["rerouted"] = {name: way._asdict() for name, way in rerouted(lineup).items()}
        print_json(content, indent=None)


def _say_plan(store: "Store", tournament: "Tournament", lineup: "Lineup") -> None:
    from arena.commands.cost_lines import cost_lines
    from arena.commands.model_lines import rerouted_lines
    from arena.commands.plan_lines import plan_lines
    from arena.commands.serving_lines import serving_lines

    lines = *plan_lines(tournament, lineup), *serving_lines(tournament, lineup), *rerouted_lines(lineup)
    for line in (*lines, *cost_lines(store, tournament, lineup)):
        typer.echo(line, err=True)


def _run(
    store: "Store",
    lineup: "Lineup",
    settings: "Settings",
    reason: str | None,
    journal: "Journal | None",
    *,
    yes: bool,
    as_json: bool,
) -> None:
    from arena.commands.closing_lines import closing_lines, notices, summary_json
    from arena.commands.drift import drift_lines
    from arena.commands.printing import print_json
    from arena.summary import Cause

    summary = played(store, lineup, settings, reason, journal, yes=yes)
    database = to_name(store.address)
    if as_json:
        print_json(summary_json(summary, lineup, database), indent=None)
        for notice in notices(summary, lineup, database):
            typer.echo(notice.text, err=True)
    else:
        for line in closing_lines(summary, lineup, database):
            typer.echo(line)
        told = summary.drift or summary.cause is Cause.GIVEN_UP
        for line in () if told else drift_lines(store, lineup.design):
            typer.echo(line)
    if not summary.well:
        raise typer.Exit(1)


def played(
    store: "Store",
    lineup: "Lineup",
    settings: "Settings | None",
    reason: str | None,
    journal: "Journal | None" = None,
    *,
    yes: bool,
) -> "Summary":
    """Freeze and play the design of `lineup`, with the plan and its progress on stderr, and all that
    happens in the `journal`; return how far it came. Raises UserError where it costs money and `yes`
    does not confirm that."""
    from arena.commands import progress
    from arena.commands.cost_lines import budget_line
    from arena.commands.drift import drift_found
    from arena.commands.journaled import journaled
    from arena.commands.plan_lines import frozen_lines
    from arena.commands.serving_lines import serving_news
    from arena.serving import check_servers
    from arena.summary import Cause
    from arena.tournament import Tournament

    tournament = Tournament(store, lineup, settings, serving_news(lineup, journal))
    _say_plan(store, tournament, lineup)
    check_cost(tournament, lineup, yes)
    if tournament.waiting + tournament.replays:
        check_servers(lineup, tournament.settings.servers)
    for line in frozen_lines(tournament.freeze(reason)):
        typer.echo(line, err=True)
    with progress.shown(tournament) as tick, journaled(journal, tournament, lineup, store.address):
        summary = tournament.run(tick, journal)
        if summary.cause is not Cause.GIVEN_UP:  # perhaps for want of a database
            summary.drift = drift_found(store, lineup.design)
    if (gone := budget_line(tournament)) is not None:
        typer.echo(gone, err=True)
    return summary


def check_cost(tournament: "Tournament", lineup: "Lineup", yes: bool) -> None:
    """Raise UserError where what is left to play may cost money, unless the user said yes to that,
    where a budget is to hold for what has no known price, and where one that held before was not said
    again."""
    from arena.commands.cost_lines import forgotten_budget
    from arena.estimate import check_prices

    if not tournament.waiting + tournament.replays:
        return
    if (forgotten := forgotten_budget(tournament)) is not None:
        raise UserError(forgotten)
    if tournament.settings.budget is not None and not tournament.settings.allow_unpriced:
        check_prices(lineup.agents.values())
    paid = lineup.paid
    if paid and not yes:
        raise UserError(
            f"{', '.join(paid)} may cost money: add --yes to play, or name other agents with --sellers "
            "and --buyers"
        )
