"""From the options of `arena train` to a plan, and from a plan to a finished run."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arena.commands.options import open_store, to_name
from arena.errors import UserError
from trainers.launch import SERVER_URL

if TYPE_CHECKING:
    from arena.store import Store
    from trainers.grpo import Machine
    from trainers.plan import Plan
    from trainers.prepare import Prepared
    from trainers.run import Finished

KEPT = ("vllm", "url", "micro_batch", "report_to", "evaluate", "db")
"""Options that may change when a run goes on; left out, they are as it was begun."""
COMMAND = ".command.json"
BESIDE = ("resume", "out", "dry_run", "as_json", "yes", "name", *KEPT)
"""Options that are no part of a recipe."""


@dataclass(frozen=True)
class Request:
    """A run that was asked for."""

    name: str
    folder: Path
    options: Mapping[str, Any]
    """As given, or for a run that goes on as it was begun."""
    plan: "Plan"

    @property
    def resume(self) -> bool:
        """Whether the run goes on."""
        return bool(self.options["resume"])


def request_of(store: "Store", options: Mapping[str, Any]) -> Request:
    """Return what the options ask for. Raises UserError."""
    from trainers.gpus import gpus_found
    from trainers.plan import plan_of
    from trainers.run_folder import resumed

    name = options["resume"] or options["name"] or _free_name(store, options)
    folder = Path(options["out"]) / name
    if options["resume"]:
        options = _begun(folder, options)
        prepared = resumed(folder)
    else:
        prepared = _prepared(options, store)
    gpus = gpus_found()
    machine = _machine(prepared, options, gpus)
    said = _said({**options, "name": None if options["resume"] else name})
    return Request(name, folder, options, plan_of(prepared, machine, gpus, said))


def tell(request: Request) -> None:
    """Print the plan: on stdout where that is all that was asked for, else on stderr. Exits with 2 where
    the run cannot start here."""
    from arena.commands.printing import print_json
    from arena.commands.train_lines import missing_lines, plan_lines

    plan, only = request.plan, request.options["dry_run"]
    if only and request.options["as_json"]:
        print_json({"run": request.name} | plan.to_json())
    elif _leads():
        for line in (*plan_lines(plan, request.name), *missing_lines(plan)):
            typer.echo(line, err=not only)
    if plan.missing and not only:
        if _leads() and request.options["as_json"]:
            print_json({"run": request.name} | plan.to_json())
        raise typer.Exit(2)


def start(request: Request) -> None:
    """Train, and evaluate where that was asked for. Exits with 1 where either is not complete."""
    from arena.commands.evaluate import evaluate

    options, plan = request.options, request.plan
    _check_cost(plan, options["yes"])
    if plan.layout.processes > 1 and not _launched():
        _launch(request)
    if not _launched():
        _see_one_gpu(plan)
    with _record(options["db"]) as store:
        finished = _trained(request, store)
        if not _leads():
            return
        design = options["evaluate"] if finished.checkpoints else None
        _close(request, finished, store, quiet=design is not None and options["as_json"])
        complete = finished.status == "done"
        if design is not None:
            scored = evaluate(
                store,
                finished.base,
                finished.checkpoints,
                design,
                yes=options["yes"],
                as_json=options["as_json"],
            )
            complete = complete and scored
    if not complete:
        raise typer.Exit(1)


def _prepared(options: Mapping[str, Any], store: "Store") -> "Prepared":
    from trainers.prepare import prepare

    return prepare(options, store)


def _free_name(store: "Store", options: Mapping[str, Any]) -> str:
    """Return the first name of the form SIZE-NUMBER that no run has."""
    if _launched():
        raise UserError("processes that train together need one name: give it with --name")
    called = options["size"] or Path(options["model"] or "run").name
    taken = {run.name for run in store.training_runs()}
    numbers = range(1, len(taken) + 10_000)
    names = (f"{called}-{number}" for number in numbers)
    return next(n for n in names if n not in taken and not (Path(options["out"]) / n).exists())


def _begun(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which a run goes on. Raises UserError where they would make it another."""
    changed = [name for name, value in options.items() if name not in BESIDE and value is not None]
    if changed or options["name"]:
        option = (changed or ["name"])[0].replace("_", "-")
        raise UserError(f"a run goes on as it was begun: leave out --{option}, or begin another run")
    try:
        kept = json.loads((folder / COMMAND).read_text(encoding="utf-8"))
    except FileNotFoundError:
        kept = {}
    # A server is named by two options, which go together.
    left_out = [n for n in KEPT if options[n] is None and not (n == "url" and options["vllm"])]
    return {**options, **{name: kept.get(name) for name in left_out}}


def _machine(prepared: "Prepared", options: Mapping[str, Any], gpus: Any) -> "Machine":
    from trainers.grpo import Machine
    from trainers.layout import on_cpu

    size = prepared.size
    vllm = options["vllm"] or (size.vllm if size else "off")
    if options["url"] and vllm != "server":
        raise UserError(f"{options['url']}: an address stands after --vllm server only")
    cpu = on_cpu(prepared, vllm, gpus)
    return Machine(
        cpu=cpu,
        micro_batch=options["micro_batch"] or (None if cpu else 1),
        processes=int(os.environ.get("WORLD_SIZE", "1")),
        vllm=vllm,
        vllm_url=(options["url"] or SERVER_URL) if vllm == "server" else None,
        vllm_tensor_parallel=size.vllm_tensor_parallel if size and vllm != "off" else 1,
        report_to=options["report_to"],
    )


def _said(options: Mapping[str, Any]) -> list[str]:
    """Return the options again, to be shown and started anew; an address with a password stays out."""
    from arena.store import redacted
    from trainers.launch import arguments
    from trainers.run_folder import OUT

    db = to_name(options["db"])
    said = {name: value for name, value in options.items() if name not in ("dry_run", "as_json")}
    said["db"] = db if db and redacted(db) == db else None
    said["out"] = None if options["out"] == OUT else options["out"]
    return arguments(said)


def _check_cost(plan: "Plan", yes: bool) -> None:
    paid = [bill.name for bill in plan.work.bills if bill.usd != 0]
    if paid and not yes:
        raise UserError(
            f"{', '.join(paid)} may cost money (the plan says how much): add --yes to train, or name "
            "other agents with --buyers"
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
    if not plan.machine.cpu and len(plan.gpus) > 1:
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        os.environ["CUDA_VISIBLE_DEVICES"] = seen.split(",")[0]


def _trained(request: Request, store: "Store") -> "Finished":
    from trainers.run import train
    from trainers.run_folder import resume_command

    if _leads() and not request.resume:
        _keep(request)
    # Its notice that rollouts of one's own are experimental is nothing that a user can mend.
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    plan = request.plan
    try:
        return train(
            plan.prepared,
            plan.machine,
            request.folder,
            store,
            name=request.name,
            resume=request.resume,
            progress=lambda line: typer.echo(line, err=True),
        )
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise UserError(
            "the GPU ran out of memory: fewer dialogues at once (--micro-batch), shorter ones, or more "
            f"GPUs; to go on from the last checkpoint: {resume_command(request.folder)}"
        ) from error


def _keep(request: Request) -> None:
    """Write down the options that `--resume` needs, in a folder that holds no run yet; no password."""
    from arena.store import redacted

    folder, db = request.folder, request.options["db"]
    if folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir()):
        return  # the trainer refuses it, with advice
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: request.options[name] for name in KEPT}
    kept["db"] = db if db and redacted(db) == db else None
    (folder / COMMAND).write_text(json.dumps(kept), encoding="utf-8")


def _close(request: Request, finished: "Finished", store: "Store", *, quiet: bool) -> None:
    """Say how the run ended: on stdout, unless something else is printed as JSON there."""
    from arena.commands.printing import print_json
    from arena.commands.train_lines import closing_lines

    if request.options["as_json"] and not quiet:
        print_json(
            {
                "run": request.name,
                "status": finished.status,
                "why": finished.why,
                "next": finished.next,
                "step": finished.step,
                "base": finished.base,
                "checkpoints": finished.checkpoints,
            }
        )
        return
    steps, judged = request.plan.prepared.recipe.steps, request.options["evaluate"] is not None
    for line in closing_lines(finished, request.name, steps, to_name(store.address), judged):
        typer.echo(line, err=quiet)


def _launched() -> bool:
    """Return whether a launcher started this process."""
    return "WORLD_SIZE" in os.environ


def _record(db: str | None) -> "Store":
    """Return the database for the process that leads, and for every other an empty one in memory."""
    from arena.store import Store

    return open_store(db, create=True) if _leads() else Store.open("sqlite://")


def _leads() -> bool:
    """Return whether this is the process that speaks."""
    return os.environ.get("RANK", "0") == "0"
