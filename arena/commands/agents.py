"""`arena agents`: who is registered, and the scripted strategies that need no registration."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_if_there

if TYPE_CHECKING:
    from agents.spec import AgentSpec
    from arena.store import Registration


def agents(
    every: Annotated[
        bool, typer.Option("--all", help="Older versions and withdrawn agents, too.")
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List the registered agents, and the scripted strategies, which need no registration."""
    from arena.commands.printing import print_json
    from arena.registry import Registry

    with open_if_there(db) as store:
        registry = Registry(store)
        known = registry.known() if every else registry.current()
    if as_json:
        print_json([agent_json(agent) for agent in known] + _strategies_json())
    else:
        _print(known)


def agent_json(agent: "Registration") -> dict[str, Any]:
    """Return a registration as `--json` prints it."""
    return {
        "name": agent.name,
        "version": agent.spec.version,
        "kind": agent.spec.kind,
        "what": what(agent.spec),
        "role": agent.role,
        "spec": agent.spec.content(),
        "profile": agent.profile.model_dump(mode="json", exclude_none=True),
        "connection": agent.connection.model_dump(mode="json", exclude_none=True),
        "registered_at": agent.registered_at or None,
        "withdrawn_at": agent.withdrawn_at,
        "withdrawn_reason": agent.withdrawn_reason,
    }


def what(spec: "AgentSpec") -> str:
    """Return what an agent is, in a few words."""
    settings = spec.sampling if spec.is_language_model else spec.parameters
    shown = ", ".join(f"{key} {value}" for key, value in settings.items())
    thing = spec.model or spec.strategy or spec.target or spec.kind
    return f"{thing} ({shown})" if shown else thing


def _strategies_json() -> list[dict[str, Any]]:
    from agents.scripted import STRATEGIES
    from arena.registry import scripted

    return [agent_json(scripted(name)) for name in STRATEGIES]


def _print(known: "list[Registration]") -> None:
    from agents.scripted import STRATEGIES
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard.wording import when

    if known:
        table = new_table("agent", "version", "role", "kind", "what", "registered", "withdrawn")
        for agent in known:
            who = (agent.name, agent.spec.version, agent.role, agent.spec.kind, what(agent.spec))
            add_row(table, *who, when(agent.registered_at), agent.withdrawn_reason)
        print_table(table)
    else:
        typer.echo("No agent is registered yet: arena register NAME --model ... adds one.\n")
    table = new_table("scripted strategy", "what it does")
    for name, entry in STRATEGIES.items():
        add_row(table, name, entry.summary)
    print_table(table)
