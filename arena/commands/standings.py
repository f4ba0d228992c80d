"""`arena standings`: the board of a design in the terminal."""

from typing import Annotated, Literal

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store


def standings(
    role: Annotated[Literal["seller", "buyer"], typer.Option(help="Whose board.")] = "seller",
    design: DesignHash = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print who bargains better: scores with 95% intervals, ranks, and a column a buyer."""
    from arena.commands.printing import print_json
    from leaderboard.board import board
    from leaderboard.terminal import console, render
    from scenarios.scenario import Role

    with open_store(db) as store:
        stored = store.design(design)
        found = board(store.results(stored.design), Role(role))
    if as_json:
        print_json(found.to_json())
    else:
        render(found, stored.created_at, db, console())
