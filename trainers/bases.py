"""What a run starts from: weights on disk with a name, and how those of `tiny` are made."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from agents.local.weights import model_type, weights_hash
from agents.scripted import spec_of
from agents.spec import Connection
from scenarios.canonical import digest
from trainers import loading, on_disk
from trainers.cells import Cells
from trainers.pool import DEFAULT_BUYERS
from trainers.prepare import Prepared
from trainers.recipe import Recipe, TrainingBuyer
from trainers.sizes import Size
from trainers.telling import Stage, Tell, silent
from trainers.warm_start import warm_start

LESSON = ("domains", "scenarios", "vary_buyers", "turns", "message_limit", "prompt_version")
"""Fields of a run's recipe that its base of size `tiny` was taught by, beside the buyers."""
MAKERS = ("trainers.tiny", "trainers.warm_start", "trainers.cells", "agents.local.tokens")
"""Modules whose source decides what is made."""


@dataclass(frozen=True)
class Base:
    """Weights that a run starts from, and that its KL divergence is measured from."""

    name: str
    """Of its agent."""
    weights: str
    """A folder, or a Hugging Face id."""
    revision: str
    """The hash of the weights."""
    architecture: str
    """E-series or conventional, else what the configuration calls it."""
    family: str
    """Of models, such as gemma; what its profile says."""
    params: float | None
    """Effective parameters: those that a token is multiplied with; None where nothing tells."""


def located(prepared: Prepared, bases: Path, progress: Tell, stage: Stage) -> str:
    """Return the folder or Hugging Face id to load. A base of size `tiny` is made if it is missing."""
    size, model = prepared.size, prepared.recipe.model
    if size is None or not size.makes(model):
        return model
    return str(made(prepared, size, bases, progress, stage).resolve())


def described(model: str, size: Size | None) -> Base:
    """Return what is known of `model`, a folder or an id whose weights lie on this machine."""
    folder = loading.located(model)
    kind = model_type(folder)
    found = size if size is not None and not size.made_here else on_disk.described(str(folder))
    return Base(
        name=Path(model).name,
        weights=str(folder) if Path(model).is_dir() else model,
        revision=weights_hash(folder),
        architecture=found.architecture if found else kind,
        family=kind.split("_")[0].rstrip("0123456789"),
        params=found.effective_params if found else None,
    )


def made(
    prepared: Prepared,
    size: Size,
    bases: Path,
    progress: Tell,
    stage: Stage = silent,
) -> Path:
    """Return the folder of the warm-started base of a tiny size, made if it is not there yet.

    Its name holds a hash of what this project decides of it: the lesson, and the source that teaches it;
    not of its libraries. So runs that differ in learning rate, seed or length share a base. A folder is
    never half made.
    """
    lesson, cells = _lesson(prepared, size)
    key = digest([lesson.content(), size.architecture, *map(_source, MAKERS)], 8)
    folder = bases / f"{size.name}-{key}"
    if folder.is_dir():
        return folder
    progress(f"making the base {folder.name} once: some minutes on a CPU")
    with _draft(folder) as draft:
        warm_start(lesson, cells, draft, architecture=size.architecture, stage=stage)
        shutil.rmtree(draft / "sft", ignore_errors=True)
    return folder


def _lesson(prepared: Prepared, size: Size) -> tuple[Recipe, Cells]:
    """Return what the base is taught by: the run's domains, rules and prompt, and its scripted buyers;
    the default ones where it has none, so that a lesson never costs money."""
    recipe = prepared.recipe
    pool = {
        buyer.name: prepared.pool[buyer.version][0]
        for buyer in recipe.buyers
        if prepared.pool[buyer.version][0].kind == "scripted"
    } or {name: spec_of(name) for name in DEFAULT_BUYERS}
    lesson = Recipe(
        model=size.name,
        buyers=tuple(TrainingBuyer(name=name, version=spec.version) for name, spec in pool.items()),
        **{field: getattr(recipe, field) for field in LESSON},
    )
    connected = {spec.version: (spec, Connection()) for spec in pool.values()}
    return lesson, Cells(lesson, prepared.domains, connected)


def _source(module: str) -> str:
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    return sha256(Path(found.origin).read_bytes()).hexdigest()


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Yield a folder beside `folder` that takes its place when all went well. What is printed meanwhile
    goes to stderr."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with redirect_stdout(sys.stderr):
            yield draft
        draft.chmod(0o755)
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another run made the same base meanwhile
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
