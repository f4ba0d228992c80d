"""`arena matches`: the matches of a design, one by one."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store, split_names
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.commands.naming import Naming
    from arena.store import Filter, Listed, Store
    from scenarios.scenario import Scenario

SHOWN = 50
"""Rows of the table for people; --limit says otherwise, and JSON has all."""
NOTED = 40
"""Characters of what is noted of a match there, so that it keeps to a line; JSON and `arena show` have
all."""


def matches(
    seller: Annotated[str | None, typer.Option(metavar="NAMES", help="Of these sellers.")] = None,
    buyer: Annotated[str | None, typer.Option(metavar="NAMES", help="Against these buyers.")] = None,
    domain: Annotated[str | None, typer.Option(metavar="NAMES", help="On these domains.")] = None,
    ending: Annotated[
        str | None, typer.Option(help="agreement, walk_away, deadline, forfeit_format, ...")
    ] = None,
    void: Annotated[bool, typer.Option("--void", help="Void attempts, which count for nobody.")] = False,
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Withdrawn matches as well.")] = False,
    design: DesignHash = None,
    every: Annotated[bool, typer.Option("--all", help="Of every design in the database.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help=f"At most so many. [default: {SHOWN}; all with --json]")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List the scored matches of a design. With --json, one object a line."""
    from arena.commands.naming import Naming
    from arena.store import Filter
    from scenarios.scenario import Role

    if every and design is not None:
        raise UserError("--all is every design's matches: leave --design out")
    sellers, buyers = split_names(seller), split_names(buyer)
    with open_store(db) as store:
        chosen = None if every else store.design(design).design
        naming = Naming(store, chosen)
        wanted = Filter(
            design=chosen,
            sellers=None if sellers is None else naming.versions(Role.SELLER, sellers),
            buyers=None if buyers is None else naming.versions(Role.BUYER, buyers),
            domains=naming.domains(split_names(domain)),
            ending=None if ending is None else _checked_ending(ending),
            withdrawn=withdrawn,
        )
        _list(store, wanted, naming, void=void, limit=limit, as_json=as_json)


def _checked_ending(ending: str) -> str:
    from arena.protocol import Ending

    if ending not in set(Ending):
        raise UserError(f"no match ends in {ending!r}; the endings are {', '.join(Ending)}")
    return ending


def _list(
    store: "Store", wanted: "Filter", naming: "Naming", *, void: bool, limit: int | None, as_json: bool
) -> None:
    found = store.matches(wanted, voids=void)
    from arena.commands.printing import print_json

    if not as_json:
        _print(found[: limit or SHOWN], naming, len(found))
        return
    scenarios = store.scenarios(row.scenario_key for row in found[:limit])
    for row in found[:limit]:
        print_json(match_json(row, naming, scenarios[row.scenario_key]), indent=None)


def match_json(row: "Listed", naming: "Naming", scenario: "Scenario") -> dict[str, Any]:
    """Return a match as `matches --json` prints it; void and withdrawn ones say so in more fields."""
    from scenarios.scenario import Role

    content: dict[str, Any] = {
        "key": row.key,
        "seller": naming.name(Role.SELLER, row.seller_version),
        "buyer": naming.name(Role.BUYER, row.buyer_version),
        "domain": row.domain,
        "held_out": naming.held_out(row.domain_version),
        "scenario": row.scenario,
        "opener": row.opener,
        "replicate": row.replicate,
        "ending": row.ending,
        "at_fault": row.at_fault,
        "deal": row.agreed(scenario),
        "seller_utility": row.seller_utility,
        "buyer_utility": row.buyer_utility,
        "turns": row.turns,
        "tokens": row.tokens,
        "cost_usd": row.cost_usd,
        "worker": row.worker,
    }
    if row.attempt:
        content |= {"attempt": row.attempt, "trouble": row.trouble, "detail": row.detail}
    if row.withdrawn_at is not None:
        content |= {"withdrawn_at": row.withdrawn_at, "withdrawn_reason": row.withdrawn_reason}
    return content


def _print(found: "list[Listed]", naming: "Naming", total: int) -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard.void_words import trouble
    from scenarios.scenario import Role

    if not found:
        typer.echo("No such match.")
        return
    void = any(row.attempt for row in found)  # then nobody got anything
    columns = ("key", "scenario", "opens", "seller", "buyer", "ending")
    table = new_table(*columns, *(() if void else (">seller's", ">buyer's")), ">turns", "")
    for row in found:
        names = (
            naming.name(Role.SELLER, row.seller_version),
            naming.name(Role.BUYER, row.buyer_version),
        )
        utilities = [
            None if utility is None else f"{utility:.4f}"
            for utility in (() if void else (row.seller_utility, row.buyer_utility))
        ]
        where = (row.key[:10], row.scenario, row.opener)
        fault = f" ({row.at_fault})" if row.at_fault else ""
        if row.attempt:
            fault += f": {trouble(row.ending, row.trouble)}"
        note = row.detail or row.withdrawn_reason or ""
        note = note if len(note) <= NOTED else f"{note[: NOTED - 3]}..."
        add_row(table, *where, *names, row.ending + fault, *utilities, row.turns, note)
    print_table(table)
    if total > len(found):
        typer.echo(f"{len(found)} of {total:,}; --limit shows more, filters less.")
