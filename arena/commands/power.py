"""`arena power`: what a tournament of some size can detect, before money is spent on it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store
from arena.errors import UserError

if TYPE_CHECKING:
    from leaderboard.inference.compared import Comparison


def power(
    cells: Annotated[int | None, typer.Option(min=3, help="Cells that both sellers play.")] = None,
    sd: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="SD of the difference of two sellers' scores from cell to cell."
        ),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            "--from",
            metavar="HASH",
            help="Take variances from a design's matches. [default: the one run last, without --sd]",
        ),
    ] = None,
    effect: Annotated[
        float | None, typer.Option(min=-1.0, max=1.0, help="The difference that has to be detected.")
    ] = None,
    power: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="The chance with which it has to be detected.")
    ] = 0.8,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Say what difference a tournament detects, and how large one must be to detect a difference.

    Two-sided, alpha 0.05, on t. With --cells and --sd every cell counts as a scenario of its own. Else
    the contrasts of a played design (every pair of sellers where it declares none) are taken, with the
    variance between scenarios and within them, and with how much more would settle each.
    """
    from arena.commands.printing import print_json

    if effect is not None and not 0 < abs(effect) <= 1:
        raise UserError("--effect is a difference of scores: not 0, and at most 1 either way")
    sized_by_hand = cells is not None or sd is not None
    if design is not None and sized_by_hand:
        raise UserError("--design has sizes and variances of its own: leave out --cells and --sd")
    if not sized_by_hand:
        found = _rows(design, effect, power, db)
        print_json(found) if as_json else _print(found, effect, power)
        return
    if sd is None or (cells is None and effect is None):
        raise UserError(
            "give --sd with --cells or --effect, or none of them for a design that was played"
        )
    sized = _sized(cells, sd, effect, power)
    print_json(sized) if as_json else typer.echo("\n".join(_sentences(sized)))


def _sized(cells: int | None, sd: float, effect: float | None, power: float) -> dict[str, Any]:
    from leaderboard.inference.power import cells_needed, detectable

    return {
        "cells": cells,
        "sd": sd,
        "power": power,
        "mde": None if cells is None else detectable(sd / cells**0.5, cells - 1, power),
        "effect": effect,
        "cells_needed": None if effect is None else cells_needed(sd, effect, power),
    }


def _sentences(sized: dict[str, Any]) -> list[str]:
    from leaderboard.wording import counted

    chance = f"{sized['power']:.0%} power (two-sided, alpha 0.05)"
    lines = []
    if sized["mde"] is not None:
        lines.append(
            f"{sized['cells']:,} cells with an SD of {sized['sd']:.3f} detect a difference of "
            f"{sized['mde']:.3f} or more with {chance}."
        )
    if sized["effect"] is not None:
        needed = sized["cells_needed"]
        count = "over a billion cells" if needed is None else counted(needed, "cell")
        lines.append(f"A difference of {abs(sized['effect']):.3f} takes {count} with {chance}.")
    return lines


def _rows(
    prefix: str | None, effect: float | None, power: float, db: str | None
) -> list[dict[str, Any]]:
    """Return a row a contrast of the design: its declared ones, else every pair of sellers."""
    from itertools import combinations

    from arena.analysis import Contrast
    from leaderboard.inference.contrasts import compare_all

    with open_store(db) as store:
        results = store.results(store.design(prefix).design)
    sellers = [player.version for player in results.design.sellers]
    declared = results.design.analysis.contrasts if results.design.analysis else ()
    asked = declared or [Contrast(plus=(a,), minus=(b,)) for a, b in combinations(sellers, 2)]
    if not asked:
        raise UserError("the design has one seller: there is no difference to detect")
    # Nothing here shows the bootstrap, which takes longest.
    found = compare_all(results, asked, booted=False)
    return [_row(one, results.design.hash, effect, power) for one in found]


def _row(one: "Comparison", design: str, effect: float | None, power: float) -> dict[str, Any]:
    from leaderboard.inference.power import detectable

    whole, parts, more = one.estimate, one.components, one.needs(effect, power)
    return {
        "contrast": one.label,
        "design": design,
        "declared": one.declared,
        "difference": whole.value,
        "p": one.p,
        "adjusted_p": one.adjusted_p,
        "detectable": one.detectable,
        "clusters": whole.clusters,
        "cells": one.cells,
        "sd_scenario": parts and parts.scenario**0.5,
        "sd_within": parts and parts.within and parts.within**0.5,
        "mde": detectable(whole.se, whole.df, power) if parts and whole.se else None,
        "scenarios": one.scenarios,
        "more_scenarios": more and more.scenarios,
        "replicates": one.replicates,
        "more_replicates": more and more.replicates,
        "settled": _settled(one, effect, power),
        "problem": whole.problem,
    }


def _settled(one: "Comparison", effect: float | None, power: float) -> str:
    """Say what it takes, for the effect asked for or the one seen."""
    from leaderboard.inference.power import advice

    more = one.needs(effect, power)
    if more is None:
        return f"no interval: {one.estimate.problem}"
    done = one.detectable if effect is None else more.scenarios == 0
    return advice(more, done, one.scenarios, one.replicates)


def _print(rows: list[dict[str, Any]], effect: float | None, power: float) -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording

    aim = "as seen" if effect is None else f"{abs(effect):.3f}"
    table = new_table("contrast", ">difference", ">p", ">n/G", ">detectable", f"to settle ({aim})")
    for row in rows:
        p = row["p"] if row["adjusted_p"] is None else row["adjusted_p"]
        count = wording.n_per_g(row["cells"], row["clusters"])
        mde = wording.effect(row["mde"])
        difference, shown = wording.signed(row["difference"]), wording.p_value(p, "")
        add_row(table, row["contrast"], difference, shown, count, mde, row["settled"])
    print_table(table)
    typer.echo(f"Detectable: with {power:.0%} power, two-sided, alpha 0.05. n/G: cells and scenarios.")
    if rows[0]["declared"]:
        typer.echo("p and what settles a difference: after Holm, over the declared family.")
    else:
        typer.echo("The design declares no contrast: every pair of sellers, all exploratory.")
