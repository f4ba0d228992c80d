"""`arena splits`: whether gains hold against every buyer, and the pooling alarm."""

from typing import TYPE_CHECKING

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.inference.splits import ArmSplit
    from leaderboard.inference.statistic import Estimate


def splits(design: DesignHash = None, db: Db = None, as_json: AsJson = False) -> None:
    """Print every seller's gain by buyer, how far its split moved from its base's, and the alarm.

    A split is the score against one buyer less the score against the other (with more than two, against
    each less the mean of the others). The pooling alarm marks a gain that lives on one buyer.
    """
    from arena.commands.printing import print_json
    from arena.printable import plain
    from leaderboard import board_words, signs, wording
    from leaderboard.inference.splits import splits as find

    with open_store(db) as store:
        results = store.results(store.design(design).design)
    found = find(results)
    if as_json:
        print_json([one.to_json() | {"design": results.design.hash} for one in found])
        return
    for line in board_words.caveats(results):
        typer.echo(line)
    _print_gains(found)
    _print_splits(found)
    for one in found:
        if one.base is not None:
            typer.echo(plain(f"{one.arm}: {signs.reach(one)}; {one.why}."))
    for note in wording.notes(_shown(found)):
        typer.echo(note)
    typer.echo("Holm p: over all arms and buyers of its table. n/G: cells, and scenarios.")


def _shown(found: "Sequence[ArmSplit]") -> "list[Estimate]":
    shown = [gain for one in found for gain in one.gain_by_buyer.values()]
    return shown + [split for one in found for split in (one.moved or one.split).values()]


def _print_gains(found: "Sequence[ArmSplit]") -> None:
    from arena.commands.printing import add_row, new_table, print_table

    table = new_table("seller", "base", "against", ">gain", "95% interval", ">p", ">Holm p", ">n/G")
    for one in found:
        if one.gain is None:
            continue
        add_row(table, one.arm, one.base, "all, pooled", *_figures(one.gain, one.gain.p, None))
        for buyer, gain in one.gain_by_buyer.items():
            adjusted = one.gain_by_buyer_adjusted_p[buyer]
            add_row(table, "", "", buyer, *_figures(gain, gain.p, adjusted))
    if table.row_count:
        print_table(table)
    else:
        typer.echo("No seller has a base in this design, so there are splits and no gains.")


def _print_splits(found: "Sequence[ArmSplit]") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording

    columns = (">split", ">base's", ">moved", "95% interval", ">Holm p", ">n/G")
    table = new_table("seller", "between", *columns)
    for one in found:
        for label, split in one.split.items():
            own = wording.signed(split.value)
            moved = one.moved.get(label)
            if moved is None:
                count = wording.n_per_g(split.cells, split.clusters)
                interval = f"(split) {wording.difference_interval(split)}"
                add_row(table, one.arm, label, own, "", "", interval, "", count)
                continue
            base = wording.signed(one.base_split[label].value)
            value, interval, _, adjusted, count = _figures(moved, None, one.moved_adjusted_p[label])
            add_row(table, one.arm, label, own, base, value, interval, adjusted, count)
    if table.row_count:
        print_table(table)
    else:
        typer.echo("The design has one buyer, so there are no splits.")


def _figures(found: "Estimate", p: float | None, adjusted: float | None) -> list[str]:
    from leaderboard import wording

    interval = wording.difference_interval(found)
    shown = [wording.p_value(one, "") for one in (p, adjusted)]
    return [wording.signed(found.value), interval, *shown, wording.n_per_g(found.cells, found.clusters)]
