"""`arena standings --bradley-terry`: the second view as a table."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaderboard.inference.bradley_terry import Strength
    from scenarios.scenario import Role


def print_strengths(
    panels: "Mapping[bool, Sequence[Strength]]", role: "Role", frozen: str, design: str
) -> None:
    """Print the strengths over open domains (False) and held-out ones (True)."""
    from leaderboard import wording

    typer.echo(
        f"Bradley-Terry strengths of {role.value}s, a second view beside the score.\n"
        f"Design {design}, frozen {wording.when(frozen)}"
    )
    for held_out, found in panels.items():
        typer.echo("\nHeld-out domains" if held_out else "\nOpen domains")
        _print_panel(found, role)
    typer.echo(
        "A win is the higher score on the same cell, a tie half a win. The geometric mean of strengths "
        "is 1;\nratings are 1000 on average, and 400 points are odds of ten to one (ours)."
    )


def _print_panel(found: "Sequence[Strength]", role: "Role") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording
    from leaderboard.inference.statistic import FEW_CLUSTERS

    columns = (">strength", "95% interval", ">rating", ">wins", ">ties", ">losses", ">scenarios")
    table = new_table(role.value, *columns)
    for one in found:
        strength = wording.NONE if one.strength is None else f"{one.strength:.3f}"
        interval = wording.NONE
        if one.low is not None and one.high is not None:
            interval = f"[{one.low:.3f}, {one.high:.3f}]{'~' if one.approximate else ''}"
        rating = wording.NONE if one.rating is None else f"{one.rating:,.0f}"
        counts = (one.wins, one.ties, one.losses, one.clusters)
        add_row(table, one.agent, strength, interval, rating, *(f"{count:,}" for count in counts))
    print_table(table)
    for problem in dict.fromkeys(one.problem for one in found if one.problem):
        them = ", ".join(wording.visible(one.agent) for one in found if one.problem == problem)
        typer.echo(f"No interval for {them}: {problem}.")
    if any(one.approximate for one in found):
        typer.echo(f"~ fewer than {FEW_CLUSTERS} scenarios: the interval is approximate.")
