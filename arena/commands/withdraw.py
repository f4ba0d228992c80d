"""`arena withdraw`: take an agent or a match out, with a reason; nothing is deleted."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store
from arena.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.store import Store

FEWEST_DIGITS = 6


def withdraw(
    agent: Annotated[
        str | None, typer.Argument(help="A name (all its versions), or name@version.")
    ] = None,
    match: Annotated[
        str | None, typer.Option(metavar="KEY", help="A match's key, or its start.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; it is kept and shown.")] = ...,  # type: ignore[assignment]
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw an agent from future tournaments, or a match from every board.

    Both stay in the record with the reason. A withdrawn match is not played again: its cell counts as
    missing. Designs that lose matches by it get an entry in their log (arena design show).
    """
    from arena.commands.printing import print_json
    from arena.printable import plain

    if (agent is None) == (match is None):
        raise UserError("name an agent, or a match with --match")
    reason = reason.strip()
    if not reason:
        raise UserError("a withdrawal needs a reason")
    if match is not None and len(match.strip()) < FEWEST_DIGITS:
        raise UserError(f"give at least {FEWEST_DIGITS} digits of the match's key: nothing undoes this")
    with open_store(db) as store:
        gone = list(
            _agents(store, agent, reason) if agent is not None else _match(store, match or "", reason)
        )
    if as_json:
        print_json(gone)
        return
    for one in gone:
        name = f"match {one['match']}" if one["match"] else f"{one['agent']}@{one['version']}"
        typer.echo(f"{plain(name)} is withdrawn: {plain(reason)}")
        if one["designs"]:
            typer.echo(f"Logged as a deviation from {', '.join(one['designs'])}.", err=True)


def _agents(store: "Store", agent: str, reason: str) -> "Iterator[dict[str, Any]]":
    """Withdraw an agent; yield each version with the designs whose logs say so."""
    from arena.deviations import log_withdrawn_agent
    from arena.registry import Registry

    for gone in Registry(store).withdraw(agent, reason):
        version = gone.spec.version
        yield _row(gone.name, version, None, reason, log_withdrawn_agent(store, version, reason))


def _match(store: "Store", key: str, reason: str) -> "Iterator[dict[str, Any]]":
    """Withdraw a match; yield it with the designs whose logs say so."""
    from arena.deviations import log_withdrawn_match

    found = store.match(key)
    if found.withdrawn_at is not None:
        raise UserError(f"match {found.key} is withdrawn already: {found.withdrawn_reason}")
    store.withdraw_match(found.key, reason)
    yield _row(None, None, found.key, reason, log_withdrawn_match(store, found, reason))


def _row(
    agent: str | None, version: str | None, match: str | None, reason: str, designs: list[str]
) -> dict[str, Any]:
    return {
        "agent": agent,
        "version": version,
        "match": match,
        "reason": reason,
        "designs": designs,
    }
