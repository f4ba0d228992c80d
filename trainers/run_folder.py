"""What a run's folder holds, so that it needs nothing else to go on.

``recipe.json``; ``resolved.json``: domains and buyers as they were; ``base.json``: the weights that it
started from; ``.command.json``: the options that it goes on with unless others are given; and a folder
a checkpoint (:mod:`trainers.checkpoints`).
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agents.spec import AgentSpec, Connection
from arena.errors import UserError, mistakes
from arena.run_lock import RUNS
from arena.store import Store
from scenarios.domain import Domain
from trainers.bases import Base
from trainers.checkpoints import write_json
from trainers.prepare import Prepared
from trainers.recipe import Recipe
from trainers.sizes import SIZES

RECIPE, RESOLVED, BASE = "recipe.json", "resolved.json", "base.json"
COMMAND = ".command.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def check_name(name: str) -> None:
    """Raise UserError where a run cannot be called `name`."""
    if not _NAME.fullmatch(name):
        raise UserError(f"a run is named by up to 80 letters, digits, dots, - and _; {name!r} is not")


def check(recipe: Recipe, folder: Path, store: Store, *, resume: bool) -> None:
    """Check that a run, called as its folder, can begin there or go on; nothing is written. Raises
    UserError, with what to do."""
    name = folder.name
    if not resume and (folder / RECIPE).exists():
        raise UserError(
            f"{folder} holds a run already: go on with it ({resume_command(folder)}), or choose another "
            "--name"
        )
    if not resume and folder.exists() and any(path.name[0] != "." for path in folder.iterdir()):
        raise UserError(f"{folder} exists and holds no run: choose another --name or --out")
    if any(run.name == name and run.recipe != recipe.content() for run in store.training_runs()):
        raise UserError(
            f"{store.address} holds a training run {name!r} with another recipe: choose another --name"
        )
    mine = re.compile(re.escape(name) + r"-\d+")
    for agent in store.registrations():
        if mine.fullmatch(agent.name) and agent.profile.lineage.get("run") != name:
            raise UserError(f"an agent of another origin is called {agent.name}: choose another --name")


def begin(prepared: Prepared, folder: Path, command: Mapping[str, Any]) -> None:
    """Write down what a run is, and the options of `command` that it may go on without."""
    write_json(folder / COMMAND, dict(command))
    resolved = {
        "domains": [domain.model_dump(mode="json") for domain in prepared.domains.values()],
        "pool": [
            {"spec": spec.content(), "connection": connection.model_dump(exclude_none=True)}
            for spec, connection in prepared.pool.values()
        ],
    }
    write_json(folder / RESOLVED, resolved)
    write_json(folder / RECIPE, prepared.recipe.content())


def resume_command(folder: Path) -> str:
    """Return what is typed to go on with the run in `folder`."""
    out = "" if str(folder.parent) == RUNS else f" --out {shlex.quote(str(folder.parent))}"
    return f"arena train --resume {shlex.quote(folder.name)}{out}"


def resumed(folder: Path) -> Prepared:
    """Return what the run in `folder` trains. Raises UserError where there is none, or none that this
    release understands."""
    try:
        recipe = Recipe.model_validate_json((folder / RECIPE).read_text(encoding="utf-8"))
        found = json.loads((folder / RESOLVED).read_text(encoding="utf-8"))
        return _prepared(recipe, found)
    except (FileNotFoundError, NotADirectoryError):
        known = sorted(path.parent.name for path in folder.parent.glob(f"*/{RECIPE}"))
        hint = f"there are {', '.join(known)}" if known else "there is none yet"
        raise UserError(f"there is no run in {folder}: of the runs beside it {hint}") from None
    except (ValueError, KeyError, TypeError) as error:
        said = mistakes(error) if isinstance(error, ValidationError) else repr(error)
        raise UserError(
            f"the run in {folder} was begun by another release, or changed since ({said}): begin "
            "another run"
        ) from error


def _prepared(recipe: Recipe, found: Mapping[str, Any]) -> Prepared:
    """Return a recipe with what was resolved when its run began."""
    domains = [Domain.model_validate(domain) for domain in found["domains"]]
    pool = [
        (AgentSpec.model_validate(buyer["spec"]), Connection.model_validate(buyer["connection"]))
        for buyer in found["pool"]
    ]
    return Prepared(
        recipe=recipe,
        domains={domain.version: domain for domain in domains},
        pool={spec.version: (spec, connection) for spec, connection in pool},
        size=SIZES[recipe.size] if recipe.size else None,
        warnings=[],
        ours=[],
    )


def kept_command(folder: Path) -> dict[str, Any]:
    """Return the options that the run in `folder` was begun with; none where nobody wrote them down.
    Raises UserError where they cannot be read."""
    path = folder / COMMAND
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, TypeError) as error:
        raise UserError(
            f"{path} is not as it was written ({error}): delete it, and give again where the run is "
            "computed, by which design it is evaluated, and its --db"
        ) from error


def kept_base(folder: Path) -> Base | None:
    """Return which base the run in `folder` starts from; None where it has not come so far."""
    path = folder / BASE
    if not path.exists():
        return None
    try:
        return Base(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}): put it back, or begin another run") from error


def keep(base: Base, folder: Path) -> None:
    """Write down which base a run starts from. Raises UserError where it had another."""
    before = kept_base(folder)
    if before is None:
        write_json(folder / BASE, asdict(base))
    elif before.revision != base.revision:
        raise UserError(
            f"{folder.name} started from other weights ({before.revision}) than {base.weights} holds "
            f"now ({base.revision}): its KL penalty would lose its anchor. Put those of "
            f"{before.weights} back, or begin another run"
        )
