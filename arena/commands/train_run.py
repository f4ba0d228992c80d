"""From a plan of `arena train` to a finished run: trained, chosen from, and evaluated."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from arena.commands.options import open_store, to_name
from arena.commands.train_request import KEPT, Request
from arena.errors import UserError
from trainers.ranks import launched, leads

if TYPE_CHECKING:
    from arena.store import Registration, Store
    from trainers.choice import Choice
    from trainers.plan import Plan
    from trainers.run import Finished


def start(request: Request) -> None:
    """Train, choose a checkpoint, and evaluate all where that was asked for and the run is over. Exits
    with 1 where the training or the evaluation is not complete. SIGTERM, which schedulers send, is taken
    as Ctrl-C."""
    from trainers.run_folder import resume_command

    options, plan = request.options, request.plan
    _check_cost(plan, options["yes"])
    if plan.layout.processes > 1 and not launched():
        _launch(request)
    if not launched():
        _see_one_gpu(plan)
    try:
        with _terminable(), _record(request) as store:
            complete = _carried_out(request, store)
    except KeyboardInterrupt:
        if leads():
            _tell(f"{request.name}: interrupted; to go on: {resume_command(request.folder)}")
        complete = False
    if not complete:
        raise typer.Exit(1)


def _carried_out(request: Request, store: "Store") -> bool:
    """Train, choose, evaluate, and say how it went; return whether all was done."""
    from arena.commands.printing import print_json
    from arena.store import RunStatus

    finished = _trained(request, store)
    if not leads():
        return True
    sellers = _sellers(finished, store) if finished.final else []
    choice = _choice(request, sellers)
    asked = request.options["evaluate"] is not None
    judged = asked and len(sellers) > 1
    said = _close(request, finished, choice, store, judged=judged)
    if asked:
        said["evaluation"] = None
    complete = finished.status is RunStatus.DONE and finished.final and judged == asked
    try:
        if judged:
            scored, said["evaluation"] = _judged(request, sellers, store)
            complete = complete and scored
    except UserError as error:
        said["error"] = str(error)
        raise
    finally:
        if request.options["as_json"]:
            print_json(said)
    return complete


def _judged(
    request: Request, sellers: "Sequence[Registration]", store: "Store"
) -> tuple[bool, dict[str, Any]]:
    """Play the base and its checkpoints by the design that was asked for; see
    :func:`arena.commands.evaluate.evaluate`."""
    from arena.commands.evaluate import evaluate

    options = request.options
    base, *checkpoints = (agent.full_name for agent in sellers)
    return evaluate(
        store, base, checkpoints, options["evaluate"], yes=options["yes"], quiet=options["as_json"]
    )


@contextmanager
def _terminable() -> Iterator[None]:
    """Take SIGTERM as Ctrl-C for a while, where nothing further in takes it otherwise."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_cost(plan: "Plan", yes: bool) -> None:
    paid = [bill for bill in plan.work.bills if bill.usd != 0]
    if not paid or yes:
        return
    unknown = ", ".join(bill.name for bill in paid if bill.usd is None)
    how_much = f"the price of {unknown} is not known" if unknown else "the plan says how much"
    raise UserError(
        f"{', '.join(bill.name for bill in paid)} may cost money ({how_much}): add --yes to train, or "
        "name other agents with --buyers"
    )


def _launch(request: Request) -> None:
    """Become accelerate, which starts this command again in every process."""
    from trainers.launch import runnable

    plan = request.plan
    if plan.layout.machines > 1:
        raise UserError("more than one machine is needed: start the command above on each of them")
    if request.options["db"]:
        os.environ["ARENA_DB"] = request.options["db"]
    open_store(request.options["db"], create=True).close()  # before many processes look for it
    command = runnable(plan.commands[-1])
    os.execv(command[0], command)


def _see_one_gpu(plan: "Plan") -> None:
    """Let a single process see no second GPU, which it would spread a batch over."""
    if not plan.layout.machine.cpu and len(plan.layout.gpus) > 1:
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        os.environ["CUDA_VISIBLE_DEVICES"] = seen.split(",")[0]


def _trained(request: Request, store: "Store") -> "Finished":
    from arena.commands.printing import stages
    from trainers.quiet import hush
    from trainers.run import Run, train
    from trainers.run_folder import resume_command

    hush()
    plan = request.plan
    try:
        with stages() as stage:
            run = Run(
                plan.prepared,
                plan.layout.machine,
                request.out,
                request.name,
                store,
                progress=_tell,
                stage=stage,
            )
            with redirect_stdout(sys.stderr):  # plug-ins print, too
                return train(run, resume=request.resume, command=_kept(request))
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise UserError(
            "the GPU ran out of memory: fewer dialogues at once (--micro-batch), shorter ones, or more "
            f"GPUs; to go on from the last checkpoint: {resume_command(request.folder)}"
        ) from error


def _sellers(finished: "Finished", store: "Store") -> "list[Registration]":
    """Return the base and the run's checkpoints, without those that were withdrawn; nobody where the
    base was, since there is then nothing to compare with."""
    from arena.registry import Registry

    known = {agent.name: agent for agent in Registry(store).current()}
    if finished.base not in known:
        _tell(f"the base {finished.base} is withdrawn: no checkpoint is chosen, and none judged")
        return []
    return [known[name] for name in (finished.base, *finished.checkpoints) if name in known]


def _choice(request: Request, sellers: "Sequence[Registration]") -> "Choice | None":
    """Return who is best on the dev split; None without a checkpoint, or where one cannot play.
    Whatever goes wrong, the run is saved already."""
    from trainers.choice import chosen

    if len(sellers) < 2:
        return None
    _tell(f"choosing on the dev split among {', '.join(agent.name for agent in sellers)}")
    try:
        with redirect_stdout(sys.stderr):
            return chosen(sellers, request.plan.prepared, _tell)
    except UserError as error:
        _tell(f"no checkpoint was chosen: {error}")
        return None


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _kept(request: Request) -> dict[str, Any]:
    """Return the options that `--resume` needs; no password."""
    from arena.store import redacted

    kept = {name: request.options[name] for name in KEPT}
    db = kept["db"]
    return kept | {"db": db if db and redacted(db) == db else None}


def _close(
    request: Request, finished: "Finished", choice: "Choice | None", store: "Store", *, judged: bool
) -> dict[str, Any]:
    """Say how the run ended, where that is not printed as JSON; return it as JSON-ready data. `judged`:
    its evaluation follows."""
    from arena.commands.train_lines import closing_lines

    steps, as_json = request.plan.prepared.recipe.steps, request.options["as_json"]
    at = to_name(store.address)
    for line in closing_lines(finished, choice, request.name, steps, at, judged):
        typer.echo(line, err=as_json)
    return {"run": request.name, **asdict(finished), "choice": choice and choice.to_json()}


def _record(request: Request) -> "Store":
    """Return the database for the process that leads, and for every other an empty one in memory. A run
    that goes on has one already. Raises UserError where it is not there."""
    from arena.store import MissingDatabase, Store

    if not leads():
        return Store.open("sqlite://")
    try:
        return open_store(request.options["db"], create=not request.resume)
    except MissingDatabase as error:
        raise UserError(
            "the database that holds this run's record is not here: go on from the folder that it was "
            "begun in, or name it with --db"
        ) from error
