"""`arena compare`: what one agent scores more than another on the same cells."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store
from arena.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.results import Results
    from leaderboard.inference.compared import Comparison, ContrastPanel
    from leaderboard.inference.statistic import Estimate
    from scenarios.scenario import Role

_COLUMNS = (">difference", "95% interval", ">p", ">n/G")


def compare(
    a: Annotated[str | None, typer.Argument(metavar="A", help="An agent's name on the board.")] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The agent to hold it against.")] = None,
    role: Annotated[Literal["seller", "buyer"], typer.Option(help="Whose scores.")] = "seller",
    over: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="BASE_A BASE_B", help="Compare gains instead: (A - BASE_A) - (B - BASE_B)."
        ),
    ] = None,
    family: Annotated[
        bool, typer.Option("--family", help="Print the contrasts that the design declares.")
    ] = False,
    design: DesignHash = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Compare two agents on the cells both completed: difference, interval, p, and where it comes from.

    By buyer, by domain, without each domain in turn, and held-out domains apart with what they can
    detect. What the design did not declare, or what reuses matches from before it was frozen, is called
    exploratory. p is the t statistic's, adjusted by Holm within the declared family.
    """
    from arena.commands.printing import print_json
    from leaderboard.comparison import to_json
    from leaderboard.inference.contrasts import family as declared
    from scenarios.scenario import Role

    if family and (a is not None or over is not None or role != "seller"):
        raise UserError(
            "--family prints the declared contrasts, all of sellers: give no A, B, --over or --role"
        )
    if not family and a is None:
        raise UserError("name two agents (arena compare A B), or give --family alone")
    with open_store(db) as store:
        results = store.results(store.design(design).design)
    if not family:
        one = _asked(results, a, b, over, Role(role))
        print_json(to_json(one, results.design.hash)) if as_json else _print(one)
        return
    found = declared(results)
    if as_json:
        print_json([to_json(one, results.design.hash) for one in found])
    elif found:
        _print_family(found)
    else:
        typer.echo("The design declares no contrast: whatever is compared in it is exploratory.")


def _asked(
    results: "Results", a: str | None, b: str | None, over: tuple[str, str] | None, role: "Role"
) -> "Comparison":
    from leaderboard.inference.contrasts import gains, pair

    if a is None or b is None:
        raise UserError("name two agents: arena compare A B")
    if over is None:
        return pair(results, a, b, role)
    return gains(results, (a, over[0]), (b, over[1]), role)


def _print(found: "Comparison") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from arena.printable import plain
    from leaderboard import wording
    from leaderboard.comparison import held_out_sentence, sentence

    typer.echo(plain(f"{sentence(found)}."))
    if (held_out := held_out_sentence(found)) is not None:
        typer.echo(plain(f"Held out: {held_out}."))
    typer.echo()
    table = new_table("score", *_COLUMNS)
    for name, row in _rows(found):
        add_row(table, name, *row)
    print_table(table)
    if found.mde is not None:
        typer.echo(
            f"Detectable in the open domains: {wording.effect(found.mde)} or more (80% power, "
            "alpha 0.05)."
        )
    if found.advice:
        typer.echo(f"{found.advice[0].upper()}{found.advice[1:]}.")
    for note in wording.notes(found.estimates()):
        typer.echo(note)
    typer.echo("n/G: cells that all completed, and scenarios. p in the table is not corrected by Holm.")


def _rows(found: "Comparison") -> "Iterator[tuple[str, list[str]]]":
    from leaderboard import wording

    other = found.role.other.value
    yield "open domains", _row(found.estimate)
    yield "  bootstrap", ["", wording.signed_interval(found.bootstrap_interval)]
    for name, estimate in found.by_buyer.items():
        yield f"against {other} {name}", _row(estimate)
    for name, estimate in found.by_domain.items():
        yield f"in {name}", _row(estimate)
    for name, estimate in found.leave_one_out.items():
        yield f"without {name}", _row(estimate)
    if found.held_out is not None:
        yield "held-out domains", _row(found.held_out.estimate)
        yield "  bootstrap", ["", wording.signed_interval(found.held_out.bootstrap_interval)]


def _row(estimate: "Estimate") -> list[str]:
    from leaderboard import wording

    interval = wording.difference_interval(estimate)
    count = wording.n_per_g(estimate.cells, estimate.clusters)
    return [wording.signed(estimate.value), interval, wording.p_value(estimate.p, ""), count]


def _print_family(found: "list[Comparison]") -> None:
    from arena.commands.printing import add_row, new_table, print_table

    typer.echo(f"The declared family, m = {len(found)}, over open domains")
    table = new_table("contrast", *_COLUMNS, ">Holm p", ">detectable", "status")
    for one in found:
        add_row(table, one.label, *_family_row(one))
    print_table(table)
    apart = [(one.label, one.held_out) for one in found if one.held_out is not None]
    if apart:
        typer.echo(f"Held-out domains, a family of their own, m = {len(apart)}")
        table = new_table("contrast", *_COLUMNS, ">Holm p", ">detectable", "status")
        for label, panel in apart:
            add_row(table, label, *_family_row(panel))
        print_table(table)
    typer.echo("Detectable: the least difference with 80% power at alpha 0.05, before Holm.")


def _family_row(panel: "ContrastPanel") -> list[str]:
    from leaderboard import wording

    difference, _, p, count = _row(panel.estimate)
    interval = wording.signed_interval(panel.interval) + wording.mark(panel.estimate)
    holm = wording.p_value(panel.adjusted_p, "")
    mde = wording.effect(panel.mde)
    return [difference, interval, p, count, holm, mde, panel.status]
