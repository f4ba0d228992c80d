"""`arena check`: whether an agent keeps to the interface, answers, and has its key."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db
from arena.commands.printing import print_json
from arena.errors import UserError
from arena.printable import plain

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.language_model.gateway import Gateway
    from arena.play import Outcome
    from arena.store import Registration
    from scenarios.domain import Term

TURN_S = 60.0
"""What a turn of a plug-in may take here, where nothing else is asked for. This project's choice."""
SLOW = (
    "If it is only slow, register it with a higher --timeout, or with less to read and to write: "
    "--prompt brief1, fewer --max-tokens"
)


def check(
    agent: Annotated[
        str, typer.Argument(help="A registered name, a scripted strategy, or module:object.")
    ],
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds that one turn may take. [default: 60; of a language model as in a tournament]",
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Check an agent: conformance, one live turn, and whether its key is set (never its value).

    Of a language model also: what it is sent, its price, how it is reached, and with which limits.
    Exits with 0 when all is well, with 1 when a problem was found.
    """
    from arena.commands.named import named_agent

    registered = named_agent(agent, db)
    report = _report(agent, registered, timeout)
    if as_json:
        print_json(report)
    else:
        for line in _lines(report, registered):
            typer.echo(line)
    raise typer.Exit(0 if report["ok"] else 1)


def _report(name: str, registered: "Registration", timeout: float | None) -> dict[str, Any]:
    asked = _asked(registered)
    key = _key(registered)
    findings, live, deterministic = [], None, False
    if asked is not None and asked["problem"] is not None:
        findings.append({"check": "settings", "problem": asked["problem"]})
    if key is not None and not key["set"]:
        # Without its key a model cannot even be made.
        problem = f"set the environment variable {key['variable']} to your key"
        findings.append({"check": "key", "problem": problem})
    else:
        with _gateway(registered) as gateway:
            player = _built(registered, gateway)
            deterministic = player.deterministic
            findings += _conformance(player, timeout or TURN_S)
            live = None if findings else _live_turn(player, registered, timeout)
    if live is not None and live["problem"] is not None:
        findings.append({"check": "live turn", "problem": live["problem"]})
    return {
        "agent": name,
        "kind": registered.spec.kind,
        "version": registered.spec.version,
        "deterministic": deterministic,
        "ok": not findings,
        "findings": findings,
        "key": key,
        "model": asked,
        "live_turn": live,
    }


def _asked(registered: "Registration") -> dict[str, Any] | None:
    """Ask LiteLLM, whose import takes seconds, about a language model that others serve."""
    if registered.spec.kind != "model":
        return None
    from agents.language_model.library import library
    from arena.commands.model_lines import asked_of
    from arena.commands.printing import progress_bar

    library()
    with progress_bar("asking LiteLLM about the model", 1):
        return asked_of(registered)


@contextmanager
def _gateway(registered: "Registration") -> "Iterator[Gateway | None]":
    """Give the way to an agent that has to be served first; None for one that needs no server."""
    from agents.language_model.serving import Servers, serving_of

    if serving_of(registered.spec, registered.connection) is None:
        yield None
        return
    from agents.language_model.gateway import Gateway

    servers = Servers(tell=lambda _, news: typer.echo(plain(news.line), err=True))
    try:
        yield Gateway(servers=servers)
    finally:
        servers.close()


def _built(registered: "Registration", gateway: "Gateway | None") -> "Agent":
    from agents.build import UnplayableError, build

    try:
        return build(registered.spec, registered.connection, gateway)
    except UnplayableError as error:
        raise UserError(str(error)) from error


def _conformance(player: "Agent", timeout: float) -> list[dict[str, str]]:
    from agents.conformance import check_agent
    from arena.drivers import alarm

    found = check_agent(player, slow_s=timeout, guard=lambda: alarm(timeout))
    return [finding._asdict() for finding in found]


def _key(registered: "Registration") -> dict[str, Any] | None:
    """Return which environment variable must hold the agent's key, and whether it does."""
    import os

    spec, connection = registered.spec, registered.connection
    if spec.kind != "model":
        return None
    if connection.api_key_env is not None:
        variable = connection.api_key_env
        return {"variable": variable, "set": bool(os.environ.get(variable))}
    if connection.api_base is not None or connection.server is not None:
        return None
    from agents.language_model.library import library

    missing = library().validate_environment(spec.model).get("missing_keys") or []
    return {"variable": missing[0], "set": False} if missing else None


def _live_turn(
    player: "Agent", registered: "Registration", timeout: float | None
) -> dict[str, Any] | None:
    """Play the agent's opening turn of a drawn scenario, to a partner that then leaves."""
    import asyncio
    from random import Random
    from time import perf_counter

    from agents.build import build, refusal
    from agents.occasion import OCCASION, Occasion
    from agents.scripted import spec_of
    from arena.commands.printing import awaited
    from arena.drivers import MODEL_TIMEOUT_S, run_async
    from arena.play import briefs, play
    from arena.protocol import Rules
    from scenarios.catalogue import bundled
    from scenarios.draw import draw
    from scenarios.scenario import Role, Split

    domain = next(domain for domain in bundled().values() if not domain.held_out)
    if refusal(player.spec, domain) is not None:
        return None
    scenario, rules = draw(domain, Split.DEV, 0), Rules()
    role = Role.BUYER if registered.role == "buyer" else Role.SELLER
    game = play(scenario, briefs(domain, scenario, rules), rules, role)
    sides = {role: player, role.other: build(spec_of("walk_away"))}
    rngs = {side: Random(0) for side in Role}
    started = perf_counter()
    of_model = timeout or MODEL_TIMEOUT_S

    async def played() -> "Outcome":
        OCCASION.set(Occasion(match="", replicate=0, limit_s=of_model))  # of this task alone
        return await run_async(game, sides, rngs, timeout or TURN_S, of_model)

    with awaited("waiting for its answer") if player.spec.is_language_model else nullcontext():
        outcome = asyncio.run(played())
    shown = _shown(outcome, scenario.terms)
    place = {"scenario": scenario.label, "role": role.value}
    return place | {"seconds": round(perf_counter() - started, 4)} | shown


def _shown(outcome: "Outcome", terms: "tuple[Term, ...]") -> dict[str, Any]:
    """Return what the agent did on its one turn, in words."""
    from agents.agent import UNNAMED, Trouble

    turn = outcome.turns[0]
    offer = {
        term.name: term.options[option]
        for term, option in zip(terms, turn.offer or (), strict=False)
        if option != UNNAMED
    }
    problem = None
    if turn.kind is None:
        kind = "" if outcome.trouble is None else f" ({outcome.trouble.value.replace('_', ' ')})"
        problem = f"{outcome.ending.value}{kind}: {outcome.detail}"
        if outcome.trouble is Trouble.SILENCE:
            problem += f". {SLOW}"
    return {
        "action": turn.kind.value if turn.kind is not None else None,
        "terms": offer or None,
        "message": turn.message,
        "reasoning": turn.reasoning,
        "attempts": [
            {"text": attempt.text, "fault": attempt.fault and attempt.fault.value}
            for attempt in turn.attempts
        ],
        "receipt": outcome.receipts.get(turn.role),
        "trouble": outcome.trouble,
        "problem": problem,
    }


def _lines(report: dict[str, Any], registered: "Registration") -> Iterator[str]:
    from arena.commands.model_lines import asked_lines

    drawn = "deterministic" if report["deterministic"] else "stochastic"
    yield f"{report['agent']}: {report['kind']}, version {report['version']}, {drawn}"
    if (key := report["key"]) is not None:
        yield f"key: {key['variable']} is {'set' if key['set'] else 'not set'}"
    if report["model"] is not None:
        yield from asked_lines(report["model"], registered.connection)
    if (live := report["live_turn"]) is not None:
        yield from _live_lines(live)
    for finding in report["findings"]:
        yield f"problem ({finding['check']}): {plain(finding['problem'])}"
    number = len(report["findings"])
    yield f"{number or 'no'} problem{'' if number == 1 else 's'} found"


def _live_lines(live: dict[str, Any]) -> Iterator[str]:
    from leaderboard.receipt_words import receipt_words

    yield f"live turn as {live['role']} on {live['scenario']} ({live['seconds']:.3g} s):"
    for attempt in live["attempts"]:
        if attempt["text"]:
            fault = f" ({attempt['fault']})" if attempt["fault"] else ""
            yield f"  raw{fault}: {plain(attempt['text'])}"
    if (live["receipt"] or {}).get("schema_refused"):
        yield f"  sent: {plain(receipt_words(live['receipt']))}"
    for channel in ("reasoning", "message"):
        if live[channel]:
            yield f"  {channel}: {plain(live[channel])}"
    yield f"  action: {live['action'] or 'none'}"
    for name, option in (live["terms"] or {}).items():
        yield f"    {name}: {option}"
