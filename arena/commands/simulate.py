"""`arena simulate`: boards with planted effects, and what the statistics make of them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson
from arena.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leaderboard.simulation.checks import Finding

_NAMES = "study, coverage, holm, alarm, ranks or all"


def simulate(
    preset: Annotated[
        str,
        typer.Argument(metavar="[WHAT]", help=f"What to check: {_NAMES}; study plants its own gains."),
    ] = "study",
    gains: Annotated[
        str | None,
        typer.Option(metavar="G,H", help="Plant these gains over one base instead, such as 0.02,0.05."),
    ] = None,
    sd: Annotated[
        float, typer.Option(min=0.001, max=1.0, help="With --gains: SD of a cell's paired difference.")
    ] = 0.21,
    scenarios: Annotated[
        int, typer.Option(min=2, help="With --gains: scenarios in each of eight domains.")
    ] = 64,
    worlds: Annotated[int, typer.Option(min=10, help="Boards to draw.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other boards.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw boards whose truth is known, and say how often the statistics find it.

    A share is given with one Monte Carlo standard error. docs/statistics.md has the figures at 2,000
    worlds.
    """
    from arena.commands.printing import print_json, progress_bar

    found: list[Finding] = []
    for run, steps in _checks(preset, gains, sd, scenarios):
        with progress_bar("boards", worlds * steps) as tick:
            found += run(worlds, seed, tick)
    if as_json:
        print_json([_json(finding) for finding in found])
    else:
        _print(found, worlds)


def _checks(
    preset: str, gains: str | None, sd: float, scenarios: int
) -> "list[tuple[Callable[..., Iterator[Finding]], int]]":
    """Return what to run, each with the steps that its progress bar has for every world."""
    from functools import partial

    from leaderboard.simulation.checks import CHECKS, STEPS, planted

    if gains is not None:
        return [(partial(planted, _numbers(gains), sd, scenarios), 1)]
    if preset != "all" and preset not in CHECKS:
        raise UserError(f"there is nothing to simulate called {preset}: name {_NAMES}")
    names = list(CHECKS) if preset == "all" else [preset]
    return [(CHECKS[name], STEPS[name]) for name in names]


def _numbers(text: str) -> list[float]:
    try:
        found = [float(number) for number in text.split(",")]
    except ValueError:
        raise UserError(f"--gains takes numbers by commas, such as 0.02,0.05, not {text!r}") from None
    if any(not -0.5 <= number <= 0.5 for number in found):
        raise UserError("--gains takes gains from -0.5 to 0.5")
    return found


def _json(finding: "Finding") -> dict[str, Any]:
    meant = None if (finding.low, finding.high) == (0, 1) else [finding.low, finding.high]
    return {
        "check": finding.check,
        "case": finding.case,
        "share": finding.share,
        "standard_error": finding.error,
        "worlds": finding.worlds,
        "meant": meant,
        "as_meant": finding.as_meant,
    }


def _print(found: "list[Finding]", worlds: int) -> None:
    from arena.commands.printing import add_row, new_table, print_table
    from leaderboard.wording import counted

    table = new_table("check", "case", ">share of worlds", ">meant", "as meant")
    table.title = f"What the statistics find in {counted(worlds, 'world')} whose truth is known"
    table.title_justify = "left"
    for finding in found:
        share = "no interval"
        if finding.share is not None:
            share = f"{finding.share:.1%} ± {finding.error:.1%}"
        meant = (
            "" if (finding.low, finding.high) == (0, 1) else f"{finding.low:.1%} to {finding.high:.1%}"
        )
        verdict = {True: "yes", False: "NO", None: ""}[finding.as_meant]
        add_row(table, finding.check, finding.case, share, meant, verdict)
    print_table(table)
