"""`arena evaluate`: what the checkpoints of runs gained over their base, played on the same cells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store, to_name
from arena.commands.run_tournament import played
from arena.commands.settings import (
    AllowUnpriced,
    Budget,
    Cache,
    Concurrency,
    LogFile,
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
    from arena.settings import Settings
    from arena.store import Registration, Store


Runs = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Names of training runs that share a base.")
]
Template = Annotated[
    str,
    typer.Option(
        metavar="FILE|HASH", help="Whose buyers, domains, scenarios and rules: a design as template."
    ),
]
Step = Annotated[
    list[int] | None,
    typer.Option(min=0, help="Only the checkpoint of this step; may be given again. [default: all]"),
]
Last = Annotated[bool, typer.Option("--last", help="Only the last checkpoint of each run.")]
Reason = Annotated[
    str | None, typer.Option(help="Why it departs from an earlier design; it goes to the log.")
]


def evaluate_runs(
    runs: Runs,
    design: Template,
    step: Step = None,
    last: Last = False,
    reason: Reason = None,
    concurrency: Concurrency = None,
    workers: Workers = None,
    turn_timeout: TurnTimeout = None,
    retry_voids: RetryVoids = False,
    serve: Serve = False,
    servers: ServersAtOnce = None,
    log_file: LogFile = None,
    budget: Budget = None,
    allow_unpriced: AllowUnpriced = False,
    cache: Cache = False,
    yes: Yes = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Play runs' checkpoints and their base on the same cells; print gains, their sources and guards.

    A design is the template: its sellers stay, the base and the checkpoints join them, and each
    checkpoint's gain over the base is declared. Runs that differ in seed alone are averaged too. Exits
    with 1 when something is missing.
    """
    settings = settings_of(locals())
    check_log(log_file, db)
    from arena.commands.printing import print_json

    with _record(db) as store, journal_at(log_file) as journal:
        saved = [checkpoints_of(store, run, step or []) for run in dict.fromkeys(runs)]
        found = [agent for of_run in saved for agent in (of_run[-1:] if last else of_run)]
        for line in _unfinished(store, runs):
            typer.echo(line, err=True)
        arms = base_of(found, store), [agent.full_name for agent in found]
        complete, said = evaluate(
            store, *arms, design, settings, journal, reason=reason, yes=yes, quiet=as_json
        )
    if as_json:
        print_json(said)
    if not complete:
        raise typer.Exit(1)


def evaluate(
    store: "Store",
    base: str,
    checkpoints: Sequence[str],
    design: str,
    settings: "Settings | None" = None,
    journal: "Journal | None" = None,
    *,
    reason: str | None = None,
    yes: bool = False,
    quiet: bool = False,
) -> tuple[bool, dict[str, Any]]:
    """Freeze and play `design` with the base and the checkpoints (names, or ``name@version``) among its
    sellers, and print what came of it unless `quiet`; return whether all that was planned is scored, and
    what came of it as JSON-ready data.

    `design` is a file or a stored design's hash. Raises UserError where it cannot be played.
    """
    from arena.commands import evaluation_lines
    from arena.commands.closing_lines import closing_lines
    from arena.commands.request import request_of
    from arena.lineup import resolve
    from arena.registry import Registry
    from arena.template import distinct, seen_in_training, with_arms
    from leaderboard.evaluation import evaluated, seed_means

    registry = Registry(store)
    start = registry.find(base)
    arms, twins = distinct(start, [registry.find(name) for name in checkpoints])
    lineup = resolve(with_arms(request_of(store, design), start, arms, registry), store)
    lineup.check_keys()
    lineup.notes += [*twins, *seen_in_training(lineup.design, arms, registry)]
    why = reason or f"an evaluation of {', '.join(arm.name for arm in arms)}"
    summary = played(store, lineup, settings, why, journal, yes=yes)
    for line in closing_lines(summary, lineup, to_name(store.address)):
        typer.echo(line, err=True)
    lineages = {arm.spec.version: arm.profile.lineage for arm in arms}
    results = store.results(lineup.design)
    found = evaluated(results, start.spec.version, list(lineages), lineages)
    if not quiet:
        evaluation_lines.show(found, lineup.design, to_name(store.address))
    said = {
        "tournament": summary.to_json(),
        "base": start.full_name,
        "checkpoints": [one.to_json(lineup.design.hash) for one in found],
        "seed_means": [one.to_json() for one in seed_means(found)],
    }
    return summary.complete, said


def _record(db: str | None) -> "Store":
    """Open the database that holds the runs. Raises UserError where there is none."""
    from arena.store import DEFAULT, MissingDatabase

    try:
        return open_store(db)
    except MissingDatabase as error:
        raise UserError(
            f"there is no training run here, since there is no database at {db or DEFAULT}: name the "
            "one that holds it with --db, or train (arena train)"
        ) from error


def _unfinished(store: "Store", runs: Sequence[str]) -> list[str]:
    """Return a note on each of `runs` that is on record and may yet save a checkpoint."""
    from arena.store import RunStatus

    going_on = (RunStatus.RUNNING, RunStatus.INTERRUPTED, RunStatus.FAILED)
    return [
        f"note: {run.name} is not done ({run.status}): a later design that judges its last checkpoint "
        "will reuse these matches, and be exploratory"
        for run in store.training_runs()
        if run.name in runs and run.status in going_on
    ]


def checkpoints_of(store: "Store", run: str, steps: Sequence[int]) -> list["Registration"]:
    """Return the agents that were saved in a run, in order of steps; of these `steps` only, if any are
    given. Withdrawn ones are left out. Raises UserError where there is none."""
    from arena.commands.runs import named_run
    from leaderboard.training import checkpoints

    saved = checkpoints(run, store.registrations())
    if not saved:
        named_run(store, run)
        raise UserError(f"no checkpoint of {run} is registered yet: arena runs show {run} says more")
    usable = {step: agent for step, agent in saved if agent.withdrawn_at is None}
    if strangers := sorted(set(steps) - usable.keys()):
        there = ", ".join(map(str, usable))
        raise UserError(f"{run} has no checkpoint of step {strangers[0]}; it has {there or 'none left'}")
    if not usable:
        raise UserError(f"every checkpoint of {run} is withdrawn: arena agents --all says why")
    return [agent for step, agent in usable.items() if not steps or step in steps]


def base_of(checkpoints: Sequence["Registration"], store: "Store") -> str:
    """Return the full name of the one base of runs' checkpoints.

    Names change hands: where the lineages hold the hash of the base's weights, the base is the agent
    with these weights, and the prompt and sampling of its checkpoints. Raises UserError where there is
    no one base, or it is not there.
    """
    bases = {(agent.profile.base, agent.profile.lineage.get("base_weights")) for agent in checkpoints}
    name, weights = bases.pop()
    if bases or name is None:
        names = ", ".join(agent.name for agent in checkpoints)
        raise UserError(
            f"{names}: their registrations do not name one base, so there is no gain to judge"
        )
    if weights is None:
        return name
    like = checkpoints[0].spec
    for agent in store.registrations():
        spec = agent.spec
        same = (spec.prompt_version, spec.sampling) == (like.prompt_version, like.sampling)
        if spec.revision == weights and same and agent.withdrawn_at is None:
            return agent.full_name
    raise UserError(
        f"the base {name} (weights {weights[:12]}) is not registered with the prompt and sampling of "
        "its checkpoints, or was withdrawn: arena agents --all says more"
    )
