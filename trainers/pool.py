"""The frozen pool of buyers: who may be in it, and what a reader of the results should know of it.

A buyer that the design of the evaluation excludes from training is refused in every guise
(:mod:`arena.opponents`). One that it plays without excluding it is warned of, and so is one of the same
family.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from agents.build import UnplayableError, build, refusal
from agents.language_model.library import library
from agents.language_model.serving import serving_of
from agents.scripted import PANEL_BUYERS, STRATEGIES, spec_of
from arena.design import Design
from arena.errors import UserError
from arena.opponents import Opponent, guise
from arena.registry import Registry
from arena.store import Registration, Store
from scenarios.domain import Domain
from scenarios.scenario import Role

DEFAULT_BUYERS = ("boulware", "conceder", "tit_for_tat")
"""This project's choice: holding out, giving way, and giving what is given, none of them exploitable by
a fixed policy. `micro_quantile` and `logroller` are left to meet a trained seller for the first time."""


def pool_of(
    names: Sequence[str], domains: Sequence[Domain], store: Store, *, planning: bool
) -> list[Registration]:
    """Return the agents of the pool, in the order named: ``name`` or ``name@version``.

    With `planning` nothing will be played here, so keys, weights and plug-ins need not be there. Raises
    UserError for a buyer that is not known, stands twice, cannot play a domain, or not from here.
    """
    if not names:
        raise UserError("name at least one buyer to train against, such as --buyers boulware,conceder")
    agents = [Registry(store).find(name) for name in names]
    seen: dict[str, Registration] = {}
    for agent in agents:
        if (other := seen.get(agent.spec.version)) is not None:
            raise UserError(f"{other.name} and {agent.name} are the same buyer: name it once")
        seen[agent.spec.version] = agent
        if agent.role == Role.SELLER:
            raise UserError(f"{agent.name} is registered as a seller only: name a buyer")
        if refused := next((why for domain in domains if (why := refusal(agent.spec, domain))), None):
            raise UserError(f"{agent.name} cannot play this: {refused}")
        if not planning:
            check_playable(agent)
    return agents


def missing_key(agent: Registration) -> str | None:
    """Return the environment variable in which a buyer's key is missing; None where none is.

    Where the registration names none, LiteLLM knows which its providers read. Providers with other
    ways to sign in, such as a role of the machine, are left to their first call.
    """
    if agent.spec.kind != "model":
        return None
    named = agent.connection.api_key_env
    if named is not None:
        return None if os.environ.get(named) else named
    if agent.connection.api_base is not None or agent.connection.server is not None:
        return None
    missing = library().validate_environment(agent.spec.model)["missing_keys"]
    keys = [name for name in missing if name.endswith("_API_KEY")]
    return " or ".join(keys) if keys and len(keys) == len(missing) else None


def warnings_of(pool: Sequence[Registration], evaluation: Design | None, store: Store) -> Iterator[str]:
    """Yield what should be known before training against `pool`.

    Raises UserError where `evaluation` excludes one of them from training.
    """
    audits = store.audits()
    for agent in pool:
        audit = audits.get(agent.spec.version)
        if audit is not None and audit["exploitable"]:
            yield (
                f"the buyer {agent.name} is exploitable: the fixed policy {audit['best']} earns most of "
                "what it could (arena scenarios audit); a seller trained against it learns that policy"
            )
    unaudited = [agent.name for agent in pool if _needs_audit(agent, audits)]
    if unaudited:
        yield (
            f"not audited in this database: {', '.join(unaudited)}; arena scenarios audit --buyers "
            f"{','.join(unaudited)} tells whether a policy that does not bargain beats them"
        )
    if len(pool) == 1:
        yield (
            f"{pool[0].name} is the only buyer: what is learned may hold against nobody else; "
            "name more with --buyers"
        )
    if evaluation is not None:
        yield from _against(pool, evaluation, store)


def _needs_audit(agent: Registration, audits: Mapping[str, object]) -> bool:
    """Return whether nobody knows if a buyer is exploitable. The panel's own audit is in the docs, and
    language models are not audited."""
    known = agent.spec.version in audits or agent.spec in map(spec_of, PANEL_BUYERS)
    return not known and not agent.spec.is_language_model


def _against(pool: Sequence[Registration], evaluation: Design, store: Store) -> Iterator[str]:
    registry = Registry(store)
    for player in evaluation.buyers:
        other = registry.as_played(player.name, player.version)
        for agent in pool:
            same = guise(
                Opponent(agent.name, agent.spec.version, agent.spec),
                Opponent(player.name, player.version, other.spec if other is not None else None),
            )
            if same and player in evaluation.excluded_buyers:
                raise UserError(
                    f"{agent.full_name} must not be trained against: the design excludes the buyer "
                    f"{player.full_name} from training, and this is {same}; take it out of --buyers"
                )
            if same:
                yield (
                    f"the evaluation plays the buyer {player.full_name}, and {agent.full_name} of the "
                    f"pool is {same}: a gain against it is no gain against an unseen buyer"
                )
            elif other is not None and (family := _shared(agent, other)):
                yield (
                    f"the evaluation's buyer {player.name} and {agent.name} of the pool are both of the "
                    f"family {family}: read the gain against each buyer apart"
                )


def _shared(agent: Registration, other: Registration) -> str | None:
    """Return the family of both, where they have one; of scripted strategies, the formula they share."""
    families = [a.profile.family for a in (agent, other)]
    if families[0] is not None and families[0] == families[1]:
        return families[0]
    entries = [STRATEGIES.get(a.spec.strategy or "") for a in (agent, other)]
    makes = [entry.make.__name__ for entry in entries if entry is not None]
    return makes[0] if len(makes) == 2 and makes[0] == makes[1] else None


def check_playable(agent: Registration) -> None:
    """Raise UserError where a buyer cannot play from here."""
    if (key := missing_key(agent)) is not None:
        raise UserError(
            f"the buyer {agent.name} needs its key in the environment variable {key}: export it"
        )
    if serving_of(agent.spec, agent.connection) is not None:
        raise UserError(
            f"the buyer {agent.name} needs a server, which training does not start: start one, and "
            "register the buyer where it runs with --api-base"
        )
    try:
        build(agent.spec, agent.connection)
    except UnplayableError as error:
        raise UserError(f"the buyer {agent.name} cannot play: {error}") from error
