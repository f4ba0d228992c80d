"""From what a user asks for to a recipe and all that it names. What must not be trained is refused here.

Needs neither torch nor the network, so that a plan can be made anywhere. Three rules hold whatever is
asked for: scenarios are drawn from the `train` split, checkpoints are chosen on `dev`, and `eval`, the
held-out domains and the buyers that a design excludes never reach a learner.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agents.language_model.prompt import BRIEF_PROMPT, PROMPT_VERSION, versions
from agents.local.weights import is_id
from agents.spec import AgentSpec, Connection
from arena.declaration import Declaration
from arena.design import Design
from arena.errors import UserError, mistakes
from arena.lineup import read_request, resolve
from arena.registry import unregistered
from arena.store import Registration, Store
from scenarios import catalogue
from scenarios.domain import Domain
from trainers.ancestry import check_base
from trainers.domains import check_open, open_domains
from trainers.on_disk import context_of
from trainers.pool import DEFAULT_BUYERS, check_playable, pool_of, warnings_of
from trainers.recipe import STUDY, Recipe, TrainingBuyer, TrainingDomain

if TYPE_CHECKING:
    from trainers.sizes import Size

OPTIONS = {"lr": "learning_rate", "prompt": "prompt_version"}
"""Recipe fields that the command line calls otherwise, by its name."""
TINY_SUITE = "small"
"""Whose few short terms suit models of a few hundred thousand parameters."""
NAMED = ("size", "model", "buyers", "domains")
"""Recipe fields that are resolved from names."""
SHARE = 8
"""So many answers fit into the context of a model that is too short for the usual limits."""
RULES = (
    "Training draws the train split, checkpoints are chosen on dev; the eval split is never trained on.",
    "Held-out domains, and buyers that the design of --evaluate excludes, are never trained on.",
)


@dataclass(frozen=True)
class Prepared:
    """A recipe with all that it names."""

    recipe: Recipe
    domains: dict[str, Domain]
    """By version."""
    pool: dict[str, tuple[AgentSpec, Connection]]
    """The buyers, by version."""
    size: "Size | None"
    warnings: list[str]
    ours: list[str]
    """Sentences: which settings the study reports, which are this project's choice, which are given."""


def prepare(asked: Mapping[str, Any], store: Store) -> Prepared:
    """Return what `asked` means, with `store` as the registry of buyers.

    `asked` has the command line's names: ``size``, ``model``, ``buyers``, ``domains`` (lists of names),
    ``evaluate`` (a design's hash or file), ``dry_run`` (keys may be missing), and the fields of
    :class:`trainers.recipe.Recipe`, of which ``lr`` and ``prompt`` are short names. What is missing or
    None stands at its default; other keys are not looked at. Raises UserError with what to do.
    """
    size = _size(asked.get("size"), asked.get("model"))
    evaluation = _evaluation(asked.get("evaluate"), store)
    suite = TINY_SUITE if size is not None and size.made_here else catalogue.SUITES[0]
    domains = open_domains([suite] if asked.get("domains") is None else asked["domains"], evaluation)
    names = DEFAULT_BUYERS if asked.get("buyers") is None else asked["buyers"]
    agents = pool_of(names, domains, store, planning=bool(asked.get("dry_run")))
    given, fitted = _given(asked), _fitted(size, asked.get("model"))
    fields = {**_defaults(size), **fitted, **given}
    recipe = _recipe(fields, asked.get("model"), size, agents, domains)
    warnings = _warnings(recipe, agents, evaluation, store)
    chosen = {*given, *(name for name in ("buyers", "domains") if asked.get(name) is not None)}
    return Prepared(
        recipe=recipe,
        domains={domain.version: domain for domain in domains},
        pool={agent.spec.version: (agent.spec, agent.connection) for agent in agents},
        size=size,
        warnings=warnings,
        ours=[*_sources(recipe, chosen, fitted.keys() - given.keys(), size), *RULES],
    )


def checked(prepared: Prepared, evaluate: str | None, store: Store, *, planning: bool) -> Prepared:
    """Return a run that goes on, checked again: its buyers by their keys and weights, unless it is only
    planned, its base, and the design of `evaluate`, which may be new. Raises UserError with what to do.
    """
    evaluation, recipe = _evaluation(evaluate, store), prepared.recipe
    pool = [
        unregistered(b.name, spec, connection, b.family)
        for b in recipe.buyers
        for spec, connection in [prepared.pool[b.version]]
    ]
    if evaluation is not None:
        check_open(prepared.domains.values(), evaluation)
    warnings = _warnings(recipe, pool, evaluation, store)
    if not planning:
        for agent in pool:
            check_playable(agent)
        if os.path.isabs(recipe.model) and not os.path.isdir(recipe.model):
            raise UserError(
                f"the base {recipe.model} is gone: put it back, since the KL penalty of the run is "
                "measured from it"
            )
    return replace(prepared, warnings=warnings)


def _warnings(
    recipe: Recipe, pool: Sequence[Registration], evaluation: Design | None, store: Store
) -> list[str]:
    """Return what should be known before training. Raises UserError where `evaluation` forbids it."""
    return [*warnings_of(pool, evaluation, store), *check_base(recipe.model, evaluation, store)]


def _size(name: str | None, model: str | None) -> "Size | None":
    from trainers.sizes import SIZES

    if name is None and model is None:
        raise UserError(f"say what to train: --size {'|'.join(SIZES)}, or --model ID_OR_FOLDER")
    if name is None:
        return None
    if name not in SIZES:
        raise UserError(f"there is no size {name}; there are {', '.join(SIZES)}")
    return SIZES[name]


def _defaults(size: "Size | None") -> dict[str, Any]:
    """Return the recipe's defaults that the size changes."""
    if size is None:
        return {"prompt_version": PROMPT_VERSION}
    return {"prompt_version": BRIEF_PROMPT if size.made_here else PROMPT_VERSION, **size.defaults}


def _fitted(size: "Size | None", model: str | None) -> dict[str, int]:
    """Return limits of a dialogue that a model on this machine needs smaller than they usually are."""
    context = None if model is None else context_of(model)
    if context is None:
        return {}
    own = size.defaults if size is not None else {}
    most = {"context_tokens": context, "answer_tokens": context // SHARE}
    usual = {name: own.get(name, Recipe.model_fields[name].default) for name in most}
    return {name: most[name] for name in most if most[name] < usual[name]}


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipe's fields that were asked for, by their own names."""
    named = {OPTIONS.get(key, key): value for key, value in asked.items() if value is not None}
    return {key: named[key] for key in Recipe.model_fields if key in named and key not in NAMED}


def _recipe(
    fields: Mapping[str, Any],
    model: str | None,
    size: "Size | None",
    agents: Sequence[Registration],
    domains: Sequence[Domain],
) -> Recipe:
    if fields["prompt_version"] not in versions():
        raise UserError(
            f"there is no prompt {fields['prompt_version']}; there are {', '.join(versions())}"
        )
    try:
        return Recipe(
            model=size.model if model is None and size is not None else _located(model or ""),
            size=size.name if size is not None else None,
            buyers=tuple(
                TrainingBuyer(name=a.name, version=a.spec.version, family=a.profile.family)
                for a in agents
            ),
            domains=tuple(TrainingDomain(name=d.name, version=d.version) for d in domains),
            **fields,
        )
    except ValidationError as error:
        raise UserError(_by_options(mistakes(error))) from None


def _by_options(said: str) -> str:
    """Return mistakes in a recipe's fields, each field by the option that sets it."""
    options = {field: option for option, field in OPTIONS.items()}

    def option(field: re.Match[str]) -> str:
        return f"--{options.get(field[1], field[1]).replace('_', '-')}: "

    return re.sub(r"(?:^|(?<=; ))(\w+): ", option, said)


def _located(model: str) -> str:
    """Return a Hugging Face id as it is, a folder as its full path."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return str(folder.resolve())
    if not is_id(model):
        raise UserError(
            f"there is no folder {model!r}: --model takes a checkpoint's folder, or a Hugging Face id "
            "such as google/gemma-4-E4B-it"
        )
    return model


def _evaluation(text: str | None, store: Store) -> Design | None:
    """Return the design that the checkpoints will be evaluated by; of one in a file, its buyers, domains
    and exclusions only: its sellers may be the checkpoints that do not exist yet."""
    if text is None:
        return None
    if not (text.endswith((".json", ".yaml", ".yml")) or os.path.exists(text)):
        return store.design(text).design
    request = read_request(text)
    excluded = request.analysis.excluded if request.analysis is not None else []
    stand_in = {"sellers": ["walk_away"], "analysis": Declaration(excluded=excluded), "hash": None}
    return resolve(request.model_copy(update=stand_in), store).design


def _sources(recipe: Recipe, given: set[str], fitted: set[str], size: "Size | None") -> list[str]:
    """Return sentences that say where every setting comes from; `given` are those asked for, `fitted`
    those that the model's context bounds."""
    said = {key: str(value) for key, value in recipe.content().items() if key not in ("model", "size")}
    said["buyers"] = ",".join(buyer.name for buyer in recipe.buyers)
    said["domains"] = ",".join(domain.name for domain in recipe.domains)
    study = STUDY.keys() - given - (size.defaults.keys() if size is not None else set())
    sources = {
        "Given": [key for key in said if key in given],
        "Reported by the study": [key for key in said if key in study],
        "As the model's context allows": [key for key in said if key in fitted],
        "This project's choice": [key for key in said if key not in given | study | fitted],
    }
    found = [
        f"{source}: {', '.join(f'{key} {said[key]}' for key in keys)}."
        for source, keys in sources.items()
        if keys
    ]
    if "buyers" not in given:
        found.append("The buyers are scripted strategies until you name others with --buyers.")
    return found
