"""What a run's folder holds, so that it needs nothing else to go on.

``recipe.json``; ``resolved.json``: domains and buyers as they were; ``base.json``: the weights that it
started from; and a folder a checkpoint (:mod:`trainers.checkpoints`).
"""

import fcntl
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from agents.spec import AgentSpec, Connection
from arena.errors import UserError
from arena.store import Store
from scenarios.domain import Domain
from trainers.bases import Base
from trainers.checkpoints import write_json
from trainers.prepare import Prepared
from trainers.recipe import Recipe
from trainers.sizes import SIZES

OUT = "runs"
"""Where the folders of runs lie unless another place is named."""
RECIPE, RESOLVED, BASE, LOCK = "recipe.json", "resolved.json", "base.json", ".lock"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def begin(prepared: Prepared, folder: Path, store: Store, name: str, resume: bool) -> None:
    """Check that the run can begin, or go on; write down what it is."""
    recipe = prepared.recipe
    if not _NAME.fullmatch(name):
        raise UserError(f"a run is named by up to 80 letters, digits, dots, - and _; {name!r} is not")
    if resume:
        _check_same(resumed(folder).recipe, recipe, name)
    elif (folder / RECIPE).exists():
        raise UserError(
            f"{folder} holds a run already: go on with it ({resume_command(folder)}), or choose another "
            "--name"
        )
    elif folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise UserError(f"{folder} exists and holds no run: choose another --name or --out")
    mine = re.compile(re.escape(name) + r"-\d+")
    for agent in store.registrations():
        if mine.fullmatch(agent.name) and agent.profile.lineage.get("run") != name:
            raise UserError(f"an agent of another origin is called {agent.name}: choose another --name")
    store.add_training_run(name, recipe.content())
    if not resume:
        folder.mkdir(parents=True, exist_ok=True)
        resolved = {
            "domains": [domain.model_dump(mode="json") for domain in prepared.domains.values()],
            "pool": [
                {"spec": spec.content(), "connection": connection.model_dump(exclude_none=True)}
                for spec, connection in prepared.pool.values()
            ],
            "excluded": list(prepared.excluded),
        }
        write_json(folder / RESOLVED, resolved)
        write_json(folder / RECIPE, recipe.content())


def resume_command(folder: Path) -> str:
    """Return what is typed to go on with the run in `folder`."""
    out = "" if str(folder.parent) == OUT else f" --out {shlex.quote(str(folder.parent))}"
    return f"arena train --resume {shlex.quote(folder.name)}{out}"


def resumed(folder: Path) -> Prepared:
    """Return what the run in `folder` trains. Raises UserError where there is none."""
    try:
        recipe = Recipe.model_validate_json((folder / RECIPE).read_text(encoding="utf-8"))
        found = json.loads((folder / RESOLVED).read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = sorted(path.parent.name for path in folder.parent.glob(f"*/{RECIPE}"))
        hint = f"there are {', '.join(known)}" if known else "there is none yet"
        raise UserError(f"there is no run in {folder}: of the runs beside it {hint}") from None
    except ValueError as error:
        raise UserError(f"the run in {folder} was begun by another release: {error}") from error
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
        excluded=tuple(found["excluded"]),
        warnings=[],
        ours=[],
    )


def kept_base(folder: Path) -> Base | None:
    """Return which base the run in `folder` starts from; None where it has not come so far."""
    path = folder / BASE
    return Base(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other process from training in `folder` meanwhile."""
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"the run in {folder} is under way in another process") from None
        yield


def _check_same(stored: Recipe, asked: Recipe, name: str) -> None:
    before, now = stored.content(), asked.content()
    other = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if other:
        said = "; ".join(f"{key} {before.get(key)}, not {now.get(key)}" for key in sorted(other))
        raise UserError(
            f"{name} was begun with {said}. A run goes on only as it was begun: leave these options "
            "out, or begin another with --name"
        )
