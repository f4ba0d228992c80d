"""`arena agents`: who is registered, and the scripted strategies that need no registration."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_if_there

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.spec import AgentSpec
    from arena.store import Registration


def agents(
    name: Annotated[str | None, typer.Argument(help="Only this one, with all that is known.")] = None,
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
        if name is not None:
            found = registry.find(name)
            known = [agent for agent in known if every and agent.name == found.name] or [found]
    if name is not None:
        _print_one(known, as_json)
    elif as_json:
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
        "connection": agent.connection.model_dump(mode="json", exclude_defaults=True),
        "registered_at": agent.registered_at or None,
        "withdrawn_at": agent.withdrawn_at,
        "withdrawn_reason": agent.withdrawn_reason,
    }


def what(spec: "AgentSpec") -> str:
    """Return what an agent is, in a few words."""
    settings = spec.sampling if spec.is_language_model else spec.parameters
    unsent = dict.fromkeys(spec.may_drop, " (not sent)")
    shown = ", ".join(f"{key} {value}{unsent.get(key, '')}" for key, value in settings.items())
    thing = spec.model or spec.strategy or spec.target or spec.kind
    return f"{thing} ({shown})" if shown else thing


def _print_one(known: "list[Registration]", as_json: bool) -> None:
    """Print all that is known of one agent, or of its versions."""
    from arena.commands.printing import print_json
    from arena.printable import plain

    if as_json:
        print_json([agent_json(agent) for agent in known])
        return
    for agent in known:
        for line in _lines(agent):
            typer.echo(plain(line))


def _lines(agent: "Registration") -> "Iterator[str]":
    from arena.commands.model_lines import reached_lines
    from leaderboard.receipt_words import settings_words
    from leaderboard.wording import when

    spec, connection = agent.spec, agent.connection
    registered = f", registered {when(agent.registered_at)}" if agent.registered_at else ""
    yield f"{agent.full_name} ({agent.role}): {spec.kind}{registered}"
    if agent.withdrawn_at is not None:
        yield f"  withdrawn: {agent.withdrawn_reason}"
    yield f"  {settings_words(spec.content())}"
    if spec.kind == "model":
        for line in reached_lines(connection):
            yield f"  {line}"
    beside = {"api_key_env", "weights", "input_usd_per_million", "output_usd_per_million"}
    facts = connection.model_dump(include=beside, exclude_none=True)
    facts |= agent.profile.model_dump(exclude_none=True, exclude_defaults=True)
    if facts:
        yield f"  {settings_words(facts)}"


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
