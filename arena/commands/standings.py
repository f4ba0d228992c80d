"""`arena standings`: the board of a design in the terminal."""

from typing import Annotated, Literal

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store, to_name
from arena.errors import UserError


def standings(
    role: Annotated[Literal["seller", "buyer"], typer.Option(help="Whose board.")] = "seller",
    measures: Annotated[
        bool, typer.Option("--measures", help="Print secondary measures: welfare, deals, faults, cost.")
    ] = False,
    bradley_terry: Annotated[
        bool, typer.Option("--bradley-terry", help="Print strengths from pairwise wins: a second view.")
    ] = False,
    design: DesignHash = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print who bargains better, by how much, how sure, and whether it is real.

    Scores with 95% intervals, ranks and a column a buyer; then gains over base, splits and guards.
    """
    from arena.commands import second_views
    from arena.commands.printing import print_json
    from leaderboard.board import board
    from leaderboard.board_words import caveats
    from leaderboard.inference.badges import badges
    from leaderboard.terminal import console, render
    from leaderboard.verdicts import to_json, verdicts
    from scenarios.scenario import Role

    if measures and bradley_terry:
        raise UserError("--measures and --bradley-terry are two views: ask for one at a time")
    with open_store(db) as store:
        stored = store.design(design)
        results = store.results(stored.design)
        if measures or bradley_terry:
            view = second_views.measures if measures else second_views.strengths
            view(results, Role(role), stored.created_at, as_json)
            return
        marks = badges(stored.design, store.audits())
    found, said = board(results, Role(role)), verdicts(results, Role(role))
    if as_json:
        print_json(to_json(found, said, marks))
    else:
        render(found, stored.created_at, to_name(db), console(), said, marks, caveats(results))
