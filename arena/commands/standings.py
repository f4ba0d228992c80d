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
    """Print who bargains better, by how much, how sure, and whether it is real.

    Scores with 95% intervals, ranks and a column a buyer; then gains over base, splits and guards.
    """
    from arena.commands.printing import print_json
    from leaderboard.badges import badges
    from leaderboard.board import board
    from leaderboard.terminal import console, render
    from leaderboard.verdicts import to_json, verdicts
    from leaderboard.wording import caveats
    from scenarios.scenario import Role

    with open_store(db) as store:
        stored = store.design(design)
        results = store.results(stored.design)
        marks = badges(stored.design, store.audits())
    found, said = board(results, Role(role)), verdicts(results, Role(role))
    if as_json:
        print_json(to_json(found, said, marks))
    else:
        render(found, stored.created_at, db, console(), said, marks, caveats(results))
