"""From an identity to a player: the one place that knows every kind of agent."""

from agents.agent import Agent
from agents.spec import AgentSpec, Connection


class UnplayableError(Exception):
    """An agent that cannot be played here and now; the message says why and what to do."""


def build(spec: AgentSpec, connection: Connection | None = None) -> Agent:
    """Return the agent of `spec`, reached over `connection` where it is a language model.

    Raises UnplayableError where this release, or this machine, cannot play it: an unknown strategy or
    version, a plug-in that cannot be loaded or whose source has changed, a missing library.
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

                return LanguageModelAgent(spec, connection)
    except (ValueError, ImportError) as error:
        raise UnplayableError(str(error)) from error
