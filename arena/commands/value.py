"""`arena value`: where one seller's gain over another comes from."""

from typing import TYPE_CHECKING, Annotated

import typer

from arena.commands.options import AsJson, Db, DesignHash, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.inference.statistic import Estimate
    from leaderboard.inference.value import Share, Value


def value(
    a: Annotated[str, typer.Argument(metavar="A", help="A seller's name on the board.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The seller to hold it against.")],
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Over the held-out domains instead of the open ones.")
    ] = False,
    design: DesignHash = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Say where A's gain over B comes from: forfeits, deals, better deals by kind of term, the buyer.

    Over the cells both completed; the parts sum to the gain. A share is given where the interval of what
    it is a share of excludes 0, with Fieller's interval.
    """
    from arena.commands.printing import print_json
    from leaderboard.inference.value import value as find

    with open_store(db) as store:
        results = store.results(store.design(design).design)
    found = find(results, a, b, held_out)
    if as_json:
        print_json(found.to_json() | {"design": results.design.hash})
    else:
        _print(found)


def _print(found: "Value") -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from arena.printable import plain
    from leaderboard import wording

    where = "held-out domains" if found.held_out else "open domains"
    dropped = f" ({found.dropped:,} planned ones that not both completed are left out)"
    typer.echo(
        plain(
            f"Where the gain of {found.a} over {found.b} comes from, in {where}: "
            f"{wording.counted(found.gain.cells, 'cell')}{dropped if found.dropped else ''}, "
            f"{wording.counted(found.gain.clusters, 'scenario')}"
        )
    )
    table = new_table("part", ">utility", "95% interval", ">of the gain", ">of better deals", ">cells")
    for label, estimate, *rest in _rows(found):
        add_row(table, label, *_difference(estimate), *rest)
    print_table(table)
    _print_notes(found)


def _rows(found: "Value") -> "Iterator[tuple[str, Estimate, str, str, str]]":
    """Yield label, estimate, share of the gain, share of the better deals, and cells."""
    from leaderboard.inference.value import BETTER

    yield "gain", found.gain, "", "", f"{found.gain.cells:,}"
    kinds = {f"{BETTER}: {kind}": kind for kind in found.better_by_kind}
    for part in (p for p in found.parts if p.label not in kinds):
        yield f"  {part.label}", part.estimate, _share(part.share), "", f"{part.cells:,}"
    better = found.better
    yield f"  {BETTER}", better.estimate, _share(better.share), "", f"{better.cells:,}"
    for part in (p for p in found.parts if p.label in kinds):
        kind = kinds[part.label]
        shares = _share(part.share), _share(found.better_by_kind[kind])
        yield f"    {kind} terms", part.estimate, *shares, ""
    left = found.deals_by_opponents_forfeits
    if left.cells:
        yield "deals by buyers' forfeits", left.estimate, _share(left.share), "", f"{left.cells:,}"
    yield "buyers' utility", found.buyers_share.estimate, "", "", ""
    yield "welfare", found.welfare, "", "", ""
    yield "welfare (advantage)", found.welfare_advantage, "", "", ""


def _print_notes(found: "Value") -> None:
    from leaderboard import wording

    out = found.buyers_share.share
    if out is not None:
        typer.echo(f"Out of the buyers' share came {_share(out)} of the gain.")
    else:
        typer.echo("No shares: the interval of the gain does not exclude 0.")
    typer.echo("Parts sum to the gain. Welfare is the mean of both sides, in utility and in advantage.")
    parts = [part.estimate for part in found.parts]
    for note in wording.notes([found.gain, *parts, found.welfare]):
        typer.echo(note)


def _difference(found: "Estimate") -> tuple[str, str]:
    from leaderboard import wording

    return wording.signed(found.value), wording.difference_interval(found)


def _share(share: "Share | None") -> str:
    from leaderboard import wording

    if share is None:
        return wording.NONE
    value, low, high = (None if end is None else round(end, 2) + 0.0 for end in share)
    return f"{value:.0%}" if low is None or high is None else f"{value:.0%} [{low:.0%}, {high:.0%}]"
