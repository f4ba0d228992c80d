"""`arena costs`: what calls to providers came to, by tournament and agent."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store

if TYPE_CHECKING:
    from arena.commands.naming import Naming
    from arena.store import Cost

READING = (
    "retries: calls that were a further try. cached: answers from the cache, which cost nothing. known: "
    "what calls cost, where that is known. at most: what others can have cost beside. unpriced: calls "
    "that cost nobody knows what. unsettled: calls under way, or cut off as their process was killed."
)


def costs(
    design: Annotated[
        str | None,
        typer.Option("--design", metavar="HASH", help="Only of this design. [default: of each]"),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print what was spent at providers, by tournament and agent: every call, failed tries included."""
    from arena.commands.naming import Naming
    from arena.commands.printing import print_json

    with open_store(db) as store:
        chosen = None if design is None else store.design(design).design
        naming = Naming(store, chosen)
        found = store.costs(None if chosen is None else chosen.hash)
    if as_json:
        print_json([cost_json(cost, naming) for cost in found])
    elif not found:
        typer.echo("No provider was asked anything.")
    else:
        _print(found, naming)


def cost_json(cost: "Cost", naming: "Naming") -> dict[str, Any]:
    """Return an agent's costs in a design as `costs --json` prints them."""
    from arena.money import usd

    return {
        "design": cost.design_hash,
        "agent": _name(cost, naming),
        "version": cost.agent_version,
        "calls": cost.calls,
        "retries": cost.retries,
        "cached": cost.cached,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
        "cost_usd": None if cost.most_nano or cost.unpriced else usd(cost.known_nano),
        "known_cost_usd": usd(cost.known_nano),
        "unknown_at_most_usd": usd(cost.most_nano),
        "unsettled": cost.unsettled,
        "unpriced": cost.unpriced,
    }


def _name(cost: "Cost", naming: "Naming") -> str:
    from scenarios.scenario import Role

    names = (naming.name(role, cost.agent_version) for role in Role)
    return next((name for name in names if name != cost.agent_version), cost.agent_version)


def _print(found: "list[Cost]", naming: "Naming") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from arena.store import Cost

    numbers = ("calls", "retries", "cached", "tokens in", "out", "known", "at most", "unpriced")
    table = new_table("design", "agent", *(f">{name}" for name in (*numbers, "unsettled")))
    for cost in found:
        add_row(table, cost.design_hash, _name(cost, naming), *_figures(cost))
    if len(found) > 1:
        sums = [sum(column) for column in zip(*(cost[2:] for cost in found), strict=True)]
        add_row(table, "all", "", *_figures(Cost("", "", *sums)))
    print_table(table)
    typer.echo(READING)


def _figures(cost: "Cost") -> list[str]:
    """Return the cells of a row: of what is not known there is no sum, not 0."""
    from arena.money import dollars, usd
    from leaderboard.wording import NONE

    told = cost.calls > cost.unpriced or cost.known_nano
    counts = [f"{count:,}" for count in cost[2:7]]
    known = dollars(usd(cost.known_nano)) if told else NONE
    most = f"+ {dollars(usd(cost.most_nano))}" if cost.most_nano else ""
    unpriced, unsettled = (f"{count:,}" if count else "" for count in (cost.unpriced, cost.unsettled))
    return [*counts, known, most, unpriced, unsettled]
