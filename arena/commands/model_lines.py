"""What is told of a model that others serve: what it is sent, its price, and how it is reached."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from arena.printable import plain

if TYPE_CHECKING:
    from agents.language_model.route import Route
    from agents.spec import Connection
    from arena.lineup import Lineup
    from arena.store import Registration

TOKENS = 1000
"""So many are priced to know the price of a million: some providers charge more for long requests."""


def asked_of(agent: "Registration") -> dict[str, Any]:
    """Return, JSON-ready, what LiteLLM says of a model: what a request would hold beside the
    conversation (`sent`; None where there would be none), whether a schema goes with it, its price, and
    what is wrong or worth knowing."""
    from agents.language_model.admission import admit, takes_schema
    from agents.language_model.route import route
    from agents.language_model.sent import NotTakenError, Reader

    spec = agent.spec
    kept = {name: value for name, value in spec.sampling.items() if name not in spec.may_drop}
    try:
        notes, problem = admit(spec, agent.connection), None
    except ValueError as error:
        notes, problem = [], str(error)
    try:
        reader = Reader(spec)
        sent, schema = reader.settings(kept), bool(spec.structured) and takes_schema(reader, kept)
    except NotTakenError:
        sent, schema = None, False
    return {
        "sent": sent,
        "schema": schema,
        "prompt": spec.prompt_version,
        "route": route(spec, agent.connection)._asdict(),
        "price": _price(agent),
        "notes": notes,
        "problem": problem,
    }


def _price(agent: "Registration") -> dict[str, float] | None:
    """Return US dollars a million tokens in and out; None where either is not known."""
    from agents.language_model.prices import price_of

    taken = price_of(agent.spec, agent.connection, TOKENS, 0)
    given = price_of(agent.spec, agent.connection, 0, TOKENS)
    if taken is None or given is None:
        return None
    millions = 1e6 / TOKENS
    return {"input_usd_per_million": taken * millions, "output_usd_per_million": given * millions}


def asked_lines(asked: dict[str, Any], connection: "Connection") -> Iterator[str]:
    """Yield :func:`asked_of` and how the model is reached, in words."""
    from agents.language_model.route import Route
    from arena.money import dollars
    from leaderboard.receipt_words import settings_words

    if asked["sent"] is not None:
        schema = "a JSON schema" if asked["schema"] else "no schema"
        yield f"sent: {plain(settings_words(asked['sent']))}; {schema}; prompt {asked['prompt']}"
    if (price := asked["price"]) is None:
        yield "price: unknown (--price-in and --price-out give one)"
    else:
        taken, given = price["input_usd_per_million"], price["output_usd_per_million"]
        yield f"price: {dollars(taken)} a million tokens in, {dollars(given)} out"
    yield from reached_lines(connection, Route(**asked["route"]))
    for note in asked["notes"]:
        yield f"note: {plain(note)}"


def reached_lines(connection: "Connection", found: "Route | None" = None) -> Iterator[str]:
    """Yield where a model is reached, as far as it was `found`, and with which limits."""
    from agents.language_model.gateway import TIMEOUT_S
    from leaderboard.wording import counted

    if connection.api_base is not None:
        yield f"reached at {plain(', '.join((connection.api_base, *connection.api_bases)))}"
    elif connection.server is not None:
        yield f"served here by {connection.server} ({plain(connection.weights or '')})"
    elif found is None:
        yield "reached at its provider (arena check says where)"
    elif found.by is None:
        yield f"reached at its provider{plain(f' ({found.host})' if found.host else '')}"
    if found is not None and found.words is not None:
        yield f"reached {plain(found.words)}"
    limits = [f"{connection.timeout_s or TIMEOUT_S:g} s a call"]
    if connection.max_concurrent is not None:
        limits.append(f"{counted(connection.max_concurrent, 'request')} at once")
    if connection.requests_per_minute is not None:
        limits.append(f"{connection.requests_per_minute:,g} requests a minute")
    if connection.tokens_per_minute is not None:
        limits.append(f"{connection.tokens_per_minute:,.0f} tokens a minute")
    streamed = "; its answers are streamed" if connection.stream else ""
    yield f"limits: {', '.join(limits)}{streamed}"


def rerouted(lineup: "Lineup") -> dict[str, "Route"]:
    """Return which served models variables of the environment send elsewhere, or through a proxy, by
    name."""
    from agents.language_model.route import redirected

    models = [agent for agent in lineup.agents.values() if agent.spec.kind == "model"]
    found = {agent.name: redirected(agent.spec, agent.connection) for agent in models}
    return {name: way for name, way in found.items() if way is not None}


def rerouted_lines(lineup: "Lineup") -> Iterator[str]:
    """Yield the same for a plan."""
    for name, way in rerouted(lineup).items():
        yield f"  note: {plain(name)} is reached {plain(way.words or '')}"
