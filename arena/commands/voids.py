"""`arena voids`: which matches are missing, through whose fault, and what that leaves of a score."""

from typing import Annotated, Literal

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store


def voids(
    role: Annotated[Literal["seller", "buyer"], typer.Option(help="Of whom.")] = "seller",
    design: DesignHash = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print what is missing of every agent's matches and why, with the bounds that it leaves on a score.

    The bounds are the score with every missing match at 0, and at 1. Void attempts are told by whose
    provider failed, and how.
    """
    from arena.commands.printing import add_row, new_table, print_json, print_table
    from arena.printable import plain
    from leaderboard import void_words
    from leaderboard.board import MISSING_LIMIT, board
    from leaderboard.inference.voids import missing
    from scenarios.scenario import Role

    with open_store(db) as store:
        plan = store.design(design).design
        found = missing(board(store.results(plan), Role(role)), store.void_counts(plan))
    if as_json:
        print_json([one.to_json() | {"role": role, "design": plan.hash} for one in found])
        return
    if not void_words.anything(found):
        typer.echo("Nothing is missing, and no attempt was void.")
        return
    table = new_table(role, *(f">{name}" for name in void_words.HEADINGS))
    for one in found:
        add_row(table, one.row.agent, *void_words.figures(one))
    print_table(table)
    for one in found:
        if ways := void_words.attempts(one):
            typer.echo(plain(f"Void attempts in matches of {one.row.agent}: {'; '.join(ways)}."))
    typer.echo(void_words.READING)
    if unranked := [one.row.agent for one in found if one.row.rank is None]:
        why = f"over {MISSING_LIMIT:.0%} missing, or nothing against some buyer in some domain"
        typer.echo(plain(f"Not ranked ({why}): {', '.join(unranked)}."))
