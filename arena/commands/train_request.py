"""From the options of `arena train` to a plan."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from arena.commands.options import open_if_there, to_name
from arena.errors import UserError
from arena.run_lock import RUNS, check_place
from trainers.launch import SERVER_URL
from trainers.ranks import launched, leads, processes

if TYPE_CHECKING:
    from arena.store import Store
    from trainers.grpo import Machine
    from trainers.plan import Plan
    from trainers.prepare import Prepared

KEPT = ("vllm", "url", "micro_batch", "report_to", "evaluate", "db")
"""Options that may change when a run goes on; left out, they are as it was begun."""
BESIDE = ("resume", "out", "dry_run", "as_json", "yes", "name", *KEPT)
"""Options that are no part of a recipe."""


@dataclass(frozen=True)
class Request:
    """A run that was asked for."""

    out: Path
    """Where runs lie, a folder each."""
    name: str
    options: Mapping[str, Any]
    """As given, or for a run that goes on as it was begun."""
    plan: "Plan"

    @property
    def folder(self) -> Path:
        """The run's own."""
        return self.out / self.name

    @property
    def resume(self) -> bool:
        """Whether the run goes on."""
        return bool(self.options["resume"])


def request_of(options: Mapping[str, Any]) -> Request:
    """Return what the options ask for; leaves no database and no folder behind. Raises UserError."""
    from trainers.gpus import gpus_found
    from trainers.plan import plan_of
    from trainers.prepare import checked, prepare
    from trainers.run_folder import check_name, resumed

    resume, out = options["resume"], Path(options["out"])
    if resume:
        options = _begun(out / resume, options)
    with open_if_there(options["db"]) as store:
        name = resume or options["name"] or _free_name(store, options)
        check_name(name)
        if resume:
            planning = bool(options["dry_run"])
            prepared = checked(resumed(out / name), options["evaluate"], store, planning=planning)
        else:
            check_place(out / name)
            prepared = prepare(options, store)
    gpus = gpus_found()
    machine = _machine(prepared, options, gpus)
    said = _said({**options, **_server(machine), "name": None if resume else name})
    return Request(out, name, options, plan_of(prepared, machine, gpus, said))


def tell(request: Request) -> None:
    """Print the plan: on stdout where that is all that was asked for, else on stderr. Exits with 2 where
    the run cannot start here."""
    from arena.commands.printing import print_json
    from arena.commands.train_lines import missing_lines, plan_lines

    plan, only = request.plan, request.options["dry_run"]
    if only and request.options["as_json"]:
        print_json({"run": request.name} | plan.to_json())
    elif leads():
        for line in (*plan_lines(plan, request.name), *missing_lines(plan)):
            typer.echo(line, err=not only)
    if plan.missing and not only:
        if leads() and request.options["as_json"]:
            print_json({"run": request.name} | plan.to_json())
        raise typer.Exit(2)


def _free_name(store: "Store", options: Mapping[str, Any]) -> str:
    """Return the first name of the form SIZE-NUMBER that no run has."""
    if launched():
        raise UserError("processes that train together need one name: give it with --name")
    model = Path(options["model"] or "run")
    named = model.resolve().name if model.is_dir() else model.name
    called = options["size"] or re.sub(r"[^A-Za-z0-9._-]+", "-", named).strip("-._")[:60] or "run"
    taken = {run.name for run in store.training_runs()}
    names = (f"{called}-{number}" for number in count(1))
    return next(n for n in names if n not in taken and not (Path(options["out"]) / n).exists())


def _begun(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which a run goes on. Raises UserError where they would make it another."""
    from trainers.run_folder import kept_command

    changed = [name for name, value in options.items() if name not in BESIDE and value is not None]
    if changed or options["name"]:
        option = (changed or ["name"])[0].replace("_", "-")
        raise UserError(f"a run goes on as it was begun: leave out --{option}, or begin another run")
    kept = kept_command(folder)
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
    if options["url"]:
        _check_address(options["url"])
    if vllm == "server" and size is not None and size.makes(prepared.recipe.model):
        raise UserError(
            f"--vllm server: {size.name} is made here as its run begins, so that no server can hold it; "
            "leave --vllm out"
        )
    cpu = on_cpu(prepared, vllm, gpus)
    return Machine(
        cpu=cpu,
        micro_batch=options["micro_batch"] or (None if cpu else 1),
        processes=processes(),
        vllm=vllm,
        vllm_url=options["url"],
        vllm_tensor_parallel=size.vllm_tensor_parallel if size and vllm != "off" else 1,
        report_to=options["report_to"],
    )


def _server(machine: "Machine") -> dict[str, str]:
    """Return the options that name a server which was not named yet, with HOST in its place."""
    unnamed = machine.vllm == "server" and machine.vllm_url is None
    return {"vllm": machine.vllm, "url": SERVER_URL} if unnamed else {}


def _check_address(url: str) -> None:
    """Raise UserError where a server's address is none, or holds a password, which would be printed."""
    try:
        found = urlsplit(url)
        good = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        good = False
    if not good:
        raise UserError("--vllm server takes an address such as http://127.0.0.1:8000")
    if found.username or found.password:
        raise UserError("--vllm server: leave user and password out of the address")


def _said(options: Mapping[str, Any]) -> list[str]:
    """Return the options again, to be shown and started anew; an address with a password stays out."""
    from arena.store import redacted
    from trainers.launch import arguments

    db = to_name(options["db"])
    said = {name: value for name, value in options.items() if name not in ("dry_run", "as_json")}
    said["db"] = db if db and redacted(db) == db else None
    said["out"] = None if options["out"] == RUNS else options["out"]
    return arguments(said)
