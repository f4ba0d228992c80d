"""From weights to agents: the base, and every checkpoint of a run with its lineage."""

from collections.abc import Iterable
from importlib.metadata import version
from math import isfinite
from typing import Any

from agents.local.agent import local_spec
from agents.scripted import STRATEGIES
from agents.spec import AgentSpec, Connection, Profile
from arena.entry import checked_name
from arena.record import utc_now
from arena.store import Registration, Store
from trainers.ancestry import ancestor, inherited
from trainers.bases import Base
from trainers.checkpoints import Checkpoint
from trainers.grpo import TEMPERATURE
from trainers.recipe import Recipe
from trainers.work import training_flops

LIBRARIES = ("bargaining-arena", "trl", "transformers", "torch")


def base_agent(base: Base, recipe: Recipe, known: Iterable[Registration]) -> Registration:
    """Return the base as a seller with the prompt and sampling of its checkpoints.

    Where these weights play so already, that agent is the base; where its name means another agent, or a
    scripted strategy, some digits of its version are added.
    """
    spec = local_spec(base.name, base.revision, _sampling(recipe), recipe.prompt_version)
    active = {agent.name: agent for agent in known if agent.withdrawn_at is None}
    for agent in active.values():
        if _behaviour(agent.spec) == _behaviour(spec):
            return agent
    taken = base.name in active or base.name in STRATEGIES
    name = f"{base.name}-{spec.version[:6]}" if taken else base.name
    profile = Profile(
        family=base.family,
        params=base.params,
        lineage={"architecture": base.architecture, "weights": base.revision},
    )
    return _agent(name, spec, profile, base.weights)


def checkpoint_agent(
    run: str, recipe: Recipe, base: Base, anchor: str, saved: Checkpoint, known: Iterable[Registration]
) -> Registration:
    """Return a checkpoint as an agent; `anchor` is the name of its base's agent. All that its lineage
    says is in the recipe, in the checkpoint's own folder, and of what its base met, in the lineage of
    one of the agents `known`."""
    own = lineage(run, recipe, base, saved)
    before = ancestor(base.revision, known)
    profile = Profile(
        family=base.family,
        base=anchor,
        params=base.params,
        lineage=own if before is None else inherited(own, before),
    )
    spec = local_spec(base.name, saved.weights, _sampling(recipe), recipe.prompt_version)
    return _agent(f"{run}-{saved.step}", spec, profile, str(saved.folder.resolve()))


def lineage(run: str, recipe: Recipe, base: Base, saved: Checkpoint) -> dict[str, Any]:
    """Return how a checkpoint came to be.

    `tokens`: of all dialogues so far, both sides and the prompts. `flops`: spent on them, by
    :func:`trainers.work.training_flops`, of what every step really read: one that was sampled with vLLM
    counts so, whatever the run went on with. What only fills up a batch is left out. `kl`: to
    the base, of the step before the save, in nats a token. A varied buyer's version is that of the buyer
    that is named, unvaried.
    """
    logged = saved.logged()
    tokens = sum(entry["dialogue_tokens"] for entry in logged)
    read = sum(entry["read_tokens"] for entry in logged)
    kl = logged[-1].get("kl")
    return {
        "run": run,
        "step": saved.step,
        "steps": saved.step,
        "base": recipe.model,
        "base_weights": base.revision,
        "architecture": base.architecture,
        "learning_rate": recipe.learning_rate,
        "seed": recipe.seed,
        "beta": recipe.beta,
        "loss_type": recipe.loss_type,
        "group_size": recipe.group_size,
        "groups_per_step": recipe.groups_per_step,
        "tokens": tokens,
        "flops": training_flops(base.params, tokens, read) if base.params else None,
        "buyers": [buyer.name for buyer in recipe.buyers],
        "buyer_versions": [buyer.version for buyer in recipe.buyers],
        "buyer_families": sorted({buyer.family for buyer in recipe.buyers if buyer.family}),
        "vary_buyers": recipe.vary_buyers,
        "domains": [domain.name for domain in recipe.domains],
        "domain_versions": [domain.version for domain in recipe.domains],
        "prompt_version": recipe.prompt_version,
        "weights": saved.weights,
        "kl": kl if kl is not None and isfinite(kl) else None,
        "shuffled_rewards": recipe.shuffled_rewards,
        "recipe": recipe.hash,
        "arm": recipe.arm,
        "code": {library: version(library) for library in LIBRARIES},
    }


def register(agents: Iterable[Registration], store: Store) -> list[str]:
    """Register the agents that the record does not hold yet, by name and version; return their names.

    One that was withdrawn stays so.
    """
    known = {(agent.name, agent.spec.version) for agent in store.registrations()}
    new = [agent for agent in agents if (agent.name, agent.spec.version) not in known]
    store.add_registrations(new)
    return [agent.name for agent in new]


def _sampling(recipe: Recipe) -> dict[str, Any]:
    """Return how answers were drawn in training."""
    return {"temperature": TEMPERATURE, "max_tokens": recipe.answer_tokens}


def _behaviour(spec: AgentSpec) -> dict[str, Any]:
    """Return what decides a local agent's answers, whatever its weights are called."""
    return {key: value for key, value in spec.content().items() if key != "model"}


def _agent(name: str, spec: AgentSpec, profile: Profile, weights: str) -> Registration:
    connection = Connection(weights=weights)
    return Registration(checked_name(name), spec, "seller", profile, connection, utc_now())
