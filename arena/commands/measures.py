"""`arena standings --measures`: the secondary measures as tables."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaderboard.inference.rates import Rate
    from leaderboard.inference.secondary import Mean, MeasuresPanel, Secondary
    from scenarios.scenario import Role

_GROUPS = {
    "Score ± half its 95% interval": (
        "score",
        "score_over_deals",
        "score_without_opponents_forfeits",
    ),
    "Score by opener and self-play": (
        "score_seller_opens",
        "score_buyer_opens",
        "score_without_self_play",
        "score_in_self_play",
    ),
    "Value to itself and to both": ("advantage", "surplus_share", "welfare", "welfare_advantage"),
    "How much of what was there was used": ("surplus_efficiency", "frontier_distance"),
    "Effort, its own, a match": ("turns", "tokens", "cost", "latency"),
}
_RATES = {
    "Shares of matches [95% interval]": ("deals", "below_walk_away", "infeasible_deals"),
    "Forfeits of matches, faulty turns of turns": ("forfeits", "opponents_forfeits", "faulty_turns"),
    "Messages that state own private numbers": ("disclosures",),
}
_HEADING_WIDTH = 15


def print_measures(found: "Sequence[Secondary]", role: "Role", frozen: str, design: str) -> None:
    """Print every agent's measures, over open domains and then over held-out ones."""
    from leaderboard import wording

    typer.echo(f"Secondary measures of {role.value}s. Design {design}, frozen {wording.when(frozen)}")
    panels = [("Open domains", [(one, one.open) for one in found])]
    apart = [(one, one.held_out) for one in found if one.held_out is not None]
    for title, lines in [*panels, ("Held-out domains", apart)]:
        if any(panel.matches for _, panel in lines):
            typer.echo(f"\n{title}")
            _print_panel(lines, role)
    typer.echo("(n): the matches or turns that a figure rests on, where not all of the agent's matches.")
    if any(one.self_play for one in found):
        typer.echo("* also sits opposite: its self-play is in the score, and shown apart.")


def _print_panel(lines: "Sequence[tuple[Secondary, MeasuresPanel]]", role: "Role") -> None:
    from leaderboard import wording
    from leaderboard.inference.secondary import MEANS, RATES

    for title, names in _GROUPS.items():
        used = [name for name in names if any(_has(panel, name) for _, panel in lines)]
        if used:
            _print_table(
                title,
                [MEANS[name] for name in used],
                [(_name(one), [_mean(panel, name) for name in used]) for one, panel in lines],
                role,
            )
    for title, names in _RATES.items():
        used = [name for name in names if any(panel.rates[name].n for _, panel in lines)]
        if not used:
            continue
        _print_table(
            title,
            [RATES[name] for name in used],
            [(_name(one), [_rate(panel, name) for name in used]) for one, panel in lines],
            role,
        )
    _print_table(
        "Matches and faulty answers",
        ["matches", "void", "faulty answers by kind"],
        [
            (_name(one), [f"{panel.matches:,}/{panel.planned:,}", f"{panel.void:,}", _faults(panel)])
            for one, panel in lines
        ],
        role,
    )
    estimates = [mean.estimate for _, panel in lines for mean in panel.means.values()]
    for note in wording.notes(estimates):
        typer.echo(note)


def _print_table(
    title: str, headings: "Sequence[str]", rows: "Sequence[tuple[str, list[str]]]", role: "Role"
) -> None:
    from textwrap import fill

    from arena.commands.printing import add_row, new_table, print_table

    typer.echo(title)
    table = new_table(role.value, *(fill(heading, _HEADING_WIDTH) for heading in headings))
    for name, cells in rows:
        add_row(table, name, *cells)
    print_table(table)


def _name(one: "Secondary") -> str:
    return f"{one.agent}*" if one.self_play else one.agent


def _has(panel: "MeasuresPanel", name: str) -> bool:
    return name in panel.means and panel.means[name].estimate.value is not None


def _mean(panel: "MeasuresPanel", name: str) -> str:
    from leaderboard import wording

    mean: Mean | None = panel.means.get(name)
    if mean is None or mean.estimate.value is None:
        return wording.NONE
    found = mean.estimate
    if name == "cost":
        shown = wording.dollars(found.value)
    elif name in ("turns", "tokens", "latency"):
        interval = found.interval()
        half = wording.NONE if interval is None else f"{(interval[1] - interval[0]) / 2:,.1f}"
        shown = f"{found.value:,.1f} ±{half}{wording.mark(found)}"
    else:
        shown = wording.half_width(found)
    return f"{shown} ({found.cells:,})" if mean.left_out else shown


def _rate(panel: "MeasuresPanel", name: str) -> str:
    from leaderboard import wording

    found: Rate = panel.rates[name]
    if found.value is None:
        return wording.NONE
    interval = wording.share_interval(found.low, found.high)
    count = "" if found.n == panel.matches else f" ({found.n:,})"
    return f"{found.value:.1%} {interval}{'~' if found.approximate else ''}{count}"


def _faults(panel: "MeasuresPanel") -> str:
    from leaderboard import wording

    faults = [f"{name} {count:,}" for name, count in panel.faults.items()]
    return ", ".join(faults) or wording.NONE
