"""`arena openings`: what first turns ask for, and how far deals fall from it."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.inference.openings import Opening


def openings(
    role: Annotated[Literal["seller", "buyer"], typer.Option(help="Whose openings.")] = "seller",
    design: DesignHash = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print how each agent opens: whether its first turn names terms, and what that would score.

    Post hoc: no opening is declared before play. An opening's score is what it would bring if it were
    accepted as it stands, with what it leaves out at the public default. Over open domains.
    """
    from arena.commands.printing import print_json
    from leaderboard.inference.openings import openings as find
    from scenarios.scenario import Role

    with open_store(db) as store:
        results = store.results(store.design(design).design)
    found = find(results, Role(role))
    if as_json:
        print_json([one.to_json() | {"design": results.design.hash} for one in found])
    else:
        _print(found, role)


def _print(found: "Sequence[Opening]", role: str) -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording

    typer.echo("Openings, over open domains. Post hoc: not declared before play.")
    columns = (">terms", ">as it stands", ">named only", ">deal lower by", ">n/G")
    table = new_table(role, ">names any", *columns)
    for one in found:
        named = one.named
        terms = wording.NONE
        if one.terms_named.value is not None and one.terms.value is not None:
            terms = f"{one.terms_named.value:.1f} of {one.terms.value:.1f}"
        add_row(
            table,
            one.agent,
            f"{wording.percent(named.value)} {wording.share_interval(named.low, named.high)}",
            terms,
            wording.half_width(one.accepted),
            wording.half_width(one.accepted_named),
            wording.difference(one.fall),
            wording.n_per_g(named.n, named.clusters),
        )
    print_table(table)
    means = [mean for one in found for mean in (one.accepted, one.accepted_named, one.fall)]
    for note in wording.notes(means):
        typer.echo(note)
    typer.echo("Names any: matches whose first turn names a term. As it stands: what that would score.")
    typer.echo("± is half a 95% interval. n/G: matches in which it had a turn, and scenarios.")
