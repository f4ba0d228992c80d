"""The smallest real training: a Gemma 4 of two layers that was taught the protocol for some seconds.

Use the fixture by importing it: ``from tests.trainers.small_run import tiny_base`` (a folder of weights
that answers with deals, faults and forfeits, so that rewards differ). A step of :func:`recipe_for` takes
about a second on one thread.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.scripted import spec_of
from agents.spec import AgentSpec, Connection
from scenarios.catalogue import bundled
from scenarios.domain import Domain
from trainers.cells import Cells
from trainers.grpo import Machine
from trainers.prepare import Prepared
from trainers.recipe import Recipe, TrainingBuyer, TrainingDomain

CPU = Machine(cpu=True)
LAYERS = ["sliding_attention", "full_attention"]
SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": len(LAYERS),
    "layer_types": LAYERS,
    "head_dim": 16,
    "global_head_dim": 16,
}
OWN: dict[str, dict[str, Any]] = {
    "E-series": {"hidden_size_per_layer_input": 8, "num_kv_shared_layers": 0},
    "conventional": {},
}


def pool_of(buyers: Sequence[str] = ("linear", "boulware")) -> dict[str, AgentSpec]:
    """Return scripted buyers by name."""
    return {name: spec_of(name) for name in buyers}


def domains_of(names: Sequence[str] = ("lamps", "chairs")) -> dict[str, Domain]:
    """Return small domains by version."""
    return {domain.version: domain for domain in (bundled("small")[name] for name in names)}


def recipe_for(model: str | Path, **changes: Any) -> Recipe:
    """Return a recipe of three short steps on `model`."""
    fields: dict[str, Any] = {
        "model": str(model),
        "buyers": tuple(TrainingBuyer(name=n, version=s.version) for n, s in pool_of().items()),
        "domains": tuple(TrainingDomain(name=d.name, version=d.version) for d in domains_of().values()),
        "learning_rate": 1e-3,
        "steps": 3,
        "group_size": 4,
        "groups_per_step": 2,
        "beta": 0.05,
        "turns": 4,
        "message_limit": 80,
        "scenarios": 16,
        "prompt_version": "brief1",
        "answer_tokens": 48,
        "context_tokens": 1200,
        "save_steps": 2,
    }
    return Recipe(**fields | changes)


def prepared_for(recipe: Recipe) -> Prepared:
    """Return `recipe` with the small domains and scripted buyers that it names."""
    pool = {
        spec.version: (spec, Connection()) for spec in pool_of([b.name for b in recipe.buyers]).values()
    }
    domains = domains_of([domain.name for domain in recipe.domains])
    return Prepared(recipe, domains, pool, size=None, warnings=[], ours=[])


def cells_for(recipe: Recipe) -> Cells:
    """Return the cells of a recipe made here."""
    prepared = prepared_for(recipe)
    return Cells(recipe, prepared.domains, prepared.pool)


def make_base(folder: Path, architecture: str = "E-series") -> Path:
    """Make a base of two layers in `folder` and teach it for some seconds; return the folder."""
    from trainers.warm_start import warm_start

    recipe = recipe_for("none")
    taught = {"matches": 120, "steps": 60, "batch": 8, "learning_rate": 1.5e-2}
    shape = SHAPE | OWN[architecture]
    warm_start(recipe, cells_for(recipe), folder, architecture=architecture, shape=shape, **taught)
    return folder


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a taught base of the E-series, made once; nobody writes into it."""
    pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")
    return make_base(tmp_path_factory.mktemp("bases") / "tiny-test")
