"""`arena withdraw`: take an agent or a match out, with a reason; nothing is deleted."""

from typing import Annotated

import typer

from arena.commands.options import Db, open_store
from arena.errors import UserError


def withdraw(
    agent: Annotated[
        str | None, typer.Argument(help="A name (all its versions), or name@version.")
    ] = None,
    match: Annotated[
        str | None, typer.Option(metavar="KEY", help="A match's key, or its start.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; it is kept and shown.")] = ...,  # type: ignore[assignment]
    db: Db = None,
) -> None:
    """Withdraw an agent from future tournaments, or a match from every board.

    Both stay in the record with the reason. A withdrawn match is not played again: its cell counts as
    missing. Designs that lose matches by it get an entry in their log (arena design show).
    """
    from arena.commands.printing import plain
    from arena.deviations import log_withdrawn_agent, log_withdrawn_match
    from arena.registry import Registry

    if (agent is None) == (match is None):
        raise UserError("name an agent, or a match with --match")
    if not reason.strip():
        raise UserError("a withdrawal needs a reason")
    with open_store(db) as store:
        if agent is not None:
            for gone in Registry(store).withdraw(agent, reason):
                typer.echo(f"{plain(gone.full_name)} is withdrawn: {plain(reason)}")
                _say_logged(log_withdrawn_agent(store, gone.spec.version, reason.strip()))
            return
        found = store.match(match or "")
        if found.withdrawn_at is not None:
            raise UserError(f"match {found.key} is withdrawn already: {found.withdrawn_reason}")
        store.withdraw_match(found.key, reason.strip())
        typer.echo(f"match {found.key} is withdrawn: {plain(reason)}")
        _say_logged(log_withdrawn_match(store, found, reason.strip()))


def _say_logged(designs: list[str]) -> None:
    if designs:
        typer.echo(f"Logged as a deviation from {', '.join(designs)}.", err=True)
