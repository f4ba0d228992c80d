"""From an identity to a player: the one place that knows every kind of agent."""

from math import prod
from typing import TYPE_CHECKING

from agents.agent import Agent
from agents.spec import AgentSpec, Connection
from scenarios.domain import Domain

if TYPE_CHECKING:
    from agents.language_model.gateway import Gateway


class UnplayableError(Exception):
    """An agent that cannot be played here and now; the message says why and what to do."""


def build(
    spec: AgentSpec, connection: Connection | None = None, gateway: "Gateway | None" = None
) -> Agent:
    """Return the agent of `spec`, reached over `connection` where it is a language model, through the
    run's `gateway`.

    Raises UnplayableError where this release, or this machine, cannot play it: an unknown strategy or
    version, a plug-in that cannot be loaded or whose source has changed, weights that are not there or
    were overwritten, a missing library.
    """
    try:
        match spec.kind:
            case "scripted":
                from agents.scripted import build_scripted

                return build_scripted(spec)
            case "plugin":
                from agents.plugin import load_plugin

                return load_plugin(spec)
            case "model":
                from agents.language_model import LanguageModelAgent

                return LanguageModelAgent(spec, connection, gateway)
            case "local":
                from agents.local.agent import LocalAgent

                return LocalAgent(spec, connection)
    except (ValueError, ImportError) as error:
        raise UnplayableError(str(error)) from error


def refusal(spec: AgentSpec, domain: Domain) -> str | None:
    """Return why this agent cannot play `domain`, or None where it can. Ask before a tournament."""
    if spec.kind != "scripted":
        return None
    from agents.scripted import STRATEGIES

    entry = STRATEGIES.get(spec.strategy or "")
    size = prod(len(term.options) for term in domain.terms)
    if entry is None or entry.most_packages is None or size <= entry.most_packages:
        return None
    return (
        f"{spec.strategy} plays domains of up to {entry.most_packages} packages, and {domain.name} "
        f"has {size:,}"
    )
