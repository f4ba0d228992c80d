"""An evaluation in the terminal: gains over base, where they come from, guards, the other sellers."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from arena.design import Design
    from leaderboard.evaluation import Evaluated, SeedMean
    from leaderboard.inference.compared import ContrastPanel

PANELS = {False: "open", True: "held out"}


def show(found: "Sequence[Evaluated]", design: "Design", database: str | None) -> None:
    """Print what became of a base's checkpoints on a design; `database` has to be named in further
    commands, None for the default."""
    from arena.printable import plain
    from leaderboard.evaluation import seed_means
    from leaderboard.wording import database_option

    typer.echo(plain(f"Gains over {_base(found[0])}, on design {design.hash}"))
    _gains(found)
    typer.echo("Where the gains come from, in utility; the parts sum to the gain")
    _parts(found)
    if means := list(seed_means(found)):
        typer.echo("Means of checkpoints that differ in seed alone, in utility")
        _means(means)
    typer.echo("Guards (limits are ours), over open domains")
    _guards(found)
    if found[0].against:
        typer.echo("Against the other sellers, over open domains; exploratory, p not corrected")
        _against(found)
    at = database_option(database)
    typer.echo(f"More: arena compare, value, guards and standings --design {design.hash}{at}")


def _base(one: "Evaluated") -> str:
    (version,) = one.gain.contrast.minus
    return one.gain.names[version]


def _gains(found: "Sequence[Evaluated]") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording
    from leaderboard.metrics import worded

    table = new_table(
        *("checkpoint", ">step", ">KL", "domains", ">gain", "95% interval", ">Holm p", ">n/G", "status")
    )
    for one in found:
        kl = worded("kl", one.kl)
        add_row(table, one.name, one.step, kl, PANELS[False], *_gain(one.gain))
        if one.gain.held_out is not None:
            add_row(table, "", "", "", PANELS[True], *_gain(one.gain.held_out))
    print_table(table)
    estimates = [one for gained in found for one in gained.gain.estimates()]
    for note in wording.notes(estimates):
        typer.echo(note)


def _gain(panel: "ContrastPanel") -> list[str]:
    from leaderboard import wording

    estimate = panel.estimate
    return [
        wording.signed(estimate.value),
        wording.signed_interval(panel.interval) + wording.mark(estimate),
        wording.p_value(panel.adjusted_p, ""),
        wording.n_per_g(estimate.cells, estimate.clusters),
        panel.status,
    ]


def _parts(found: "Sequence[Evaluated]") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording
    from leaderboard.inference.value import MAIN_PARTS

    table = new_table("checkpoint", "domains", *(f">{part}" for part in MAIN_PARTS))
    for one in found:
        for place, value in enumerate(one.values):
            shown = [wording.difference(part) for part in value.main_parts().values()]
            add_row(table, "" if place else one.name, PANELS[value.held_out], *shown)
    print_table(table)


def _means(means: "Sequence[SeedMean]") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard import wording

    table = new_table("checkpoints", "domains", "what", ">mean", "95% interval", ">n/G")
    for one in means:
        less = {f"less {name}": estimate for name, estimate in one.against.items()}
        rows = {"gain over base": one.gain, **one.parts, **less}
        for place, (what, estimate) in enumerate(rows.items()):
            first = [", ".join(one.names), PANELS[one.held_out]] if place == 0 else ["", ""]
            add_row(
                table,
                *first,
                what,
                wording.signed(estimate.value),
                wording.difference_interval(estimate),
                wording.n_per_g(estimate.cells, estimate.clusters),
            )
    print_table(table)
    typer.echo("These intervals are for new scenarios and these very runs, not for new runs.\n")


def _guards(found: "Sequence[Evaluated]") -> None:
    from arena.commands.guards import why
    from arena.commands.printing import add_row, new_table, print_table
    from arena.printable import plain

    table = new_table("checkpoint", *(guard.name for guard in found[0].guards))
    for one in found:
        add_row(table, one.name, *(guard.result.value for guard in one.guards))
    print_table(table)
    for line in why({one.name: one.guards for one in found}):
        typer.echo(plain(line))
    typer.echo()


def _against(found: "Sequence[Evaluated]") -> None:
    from arena.commands.printing import add_row, new_table, print_table

    table = new_table("checkpoint", "less", ">difference", "95% interval", ">p", ">n/G")
    for name, place, row in _differences(found):
        add_row(table, "" if place else name, *row)
    print_table(table)


def _differences(found: "Sequence[Evaluated]") -> Iterator[tuple[str, int, list[str]]]:
    from leaderboard import wording

    for one in found:
        for place, other in enumerate(one.against):
            (version,) = other.contrast.minus
            estimate = other.estimate
            yield (
                one.name,
                place,
                [
                    other.names[version],
                    wording.signed(estimate.value),
                    wording.difference_interval(estimate),
                    wording.p_value(estimate.p, ""),
                    wording.n_per_g(estimate.cells, estimate.clusters),
                ],
            )
