"""What a tournament says: its plan, its progress, and three lines at the end."""

import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from arena.commands.drift import plan_line
from arena.design import Design
from arena.deviations import NO_REASON, Frozen
from arena.differences import Departure
from arena.lineup import Lineup
from arena.printable import plain
from arena.protocol import LEAST_TURNS, MOST_TURNS
from arena.tournament import Summary, Tournament
from leaderboard.wording import counted, database_option
from scenarios.scenario import Role

SPARSE_S = 15.0
"""Where there is no terminal, progress is a line this often."""


def plan_lines(tournament: Tournament, lineup: Lineup) -> Generator[str]:
    """Yield what is about to be played."""
    design, summary = lineup.design, tournament.summary
    held_out = [domain.name for domain in design.domains if domain.held_out]
    apart = f" ({', '.join(held_out)} held out)" if held_out else ""
    hidden = f"hidden limits of {LEAST_TURNS} to {MOST_TURNS} turns a side"
    turns = f"{design.turns} turns a side" if design.turns else hidden
    panel = f" and {design.infeasible} without a zone of agreement" if design.infeasible else ""
    yield (
        f"Design {design.hash}: {counted(len(design.sellers), 'seller')} x "
        f"{counted(len(design.buyers), 'buyer')} on {counted(len(design.domains), 'domain')}{apart}, "
        f"{counted(design.scenarios, 'scenario')} each{panel}"
    )
    yield f"  sellers: {_names(lineup, Role.SELLER)}"
    yield f"  buyers:  {_names(lineup, Role.BUYER)}"
    alone = {p.version for p in design.sellers} & {p.version for p in design.buyers}
    if alone:
        are = "is" if len(alone) == 1 else "are"
        yield f"  {len(alone)} of the pairs {are} an agent against itself, and marked so on the board"
    opener = {"alternate": "the opener alternates", "both": "each side opens once"}
    yield f"  rules:   {opener.get(design.opener, f'the {design.opener} opens')}; {turns}"
    if design.replicates > 1:
        yield (
            f"  {design.replicates} replicates where a side plays by chance; deterministic pairs play "
            "one, since every other would be the same"
        )
    yield f"  asked:   {family(design)}"
    for note in lineup.notes:
        yield f"  note: {plain(note)}"
    going_on = f", {summary.already:,} played already" if summary.already else ""
    lost = f", {summary.void:,} void" if summary.void else ""
    todo = tournament.quick + tournament.waiting
    where = f" ({tournament.workers} worker processes)" if tournament.workers > 1 else ""
    yield f"{summary.planned:,} matches planned{going_on}{lost}; {todo:,} to play{where}"
    if tournament.settings.drift:
        yield plan_line(tournament, lineup)


def family(design: Design) -> str:
    """Say how many contrasts were declared, and what Holm's m is."""
    count = len(design.analysis.contrasts) if design.analysis is not None else 0
    if not count:
        return "no contrast is declared, so every comparison will be exploratory"
    return f"{counted(count, 'contrast')} declared, Holm over m = {count}"


def departure_lines(departures: Iterable[Departure], verb: str) -> Generator[str]:
    """Yield a line for each departure from an earlier design, with what happens to it."""
    for kind, what in departures:
        yield f"Deviation {verb} ({kind.value}): {plain(what)}"


def frozen_lines(frozen: Frozen) -> Generator[str]:
    """Yield what freezing a design has just logged, with the reason; nothing where it logged nothing."""
    yield from departure_lines(frozen.logged, "logged")
    if frozen.logged:
        given = (
            plain(frozen.reason) if frozen.reason != NO_REASON else f"{NO_REASON} (--reason gives one)"
        )
        yield f"  reason: {given}"


@contextmanager
def shown(tournament: Tournament) -> Generator[Callable[[Summary], None]]:
    """Give the function that a running tournament reports to: a bar on a terminal, else few lines."""
    total = tournament.quick + tournament.waiting
    if not total:
        yield lambda summary: None
    elif sys.stderr.isatty():
        with _bar(total, tournament.summary.void) as tick:
            yield tick
    else:
        yield _sparse(total)


def closing_lines(summary: Summary, lineup: Lineup, database: str | None) -> list[str]:
    """Return the three lines a person wants: what was played, what needs attention, what is next in
    the `database` that has to be named (None for the default)."""
    scored = summary.already + summary.played
    rate = f" in {_duration(summary.seconds)}" if summary.played else ""
    already = f" ({summary.already:,} were there already)" if summary.already else ""
    at = database_option(database)
    needs = attention(summary, lineup, database)
    if summary.left > summary.withdrawn:
        following = "run the same command again: it goes on where it stopped"
    elif summary.void:
        following = f"arena matches --void{at} says what failed; --retry-voids tries again"
    else:
        following = f"arena standings{at}"
    return [
        f"Played: {summary.played:,} matches{rate}; {scored:,} of {summary.planned:,} scored{already}.",
        f"Attention: {'; '.join(needs) or 'nothing'}.",
        f"Next: {following}",
    ]


def attention(summary: Summary, lineup: Lineup, database: str | None) -> list[str]:
    """Return what needs attention, each in a few words; `database` as in :func:`closing_lines`."""
    at = database_option(database)
    names = {version: plain(agent.name) for version, agent in lineup.agents.items()}
    found = [plain(broken) for broken in lineup.broken]
    if summary.interrupted:
        found.append("stopped before the end")
    if summary.trouble:
        found.append(plain(summary.trouble))
    for version, words in summary.paused.items():
        found.append(
            f"{names[version]} was set aside, because its provider kept failing ({plain(words)})"
        )
    if summary.left > summary.withdrawn:
        found.append(f"{summary.left - summary.withdrawn:,} matches are left to play")
    if summary.void:
        found.append(f"{summary.void:,} matches were void every time and are missing")
    if summary.withdrawn:
        found.append(f"{summary.withdrawn:,} matches are withdrawn")
    for (version, ending), count in summary.forfeits.items():
        found.append(f"{names[version]} forfeited {count:,} (arena matches --ending {ending}{at})")
    recovered = {v: n for v, n in summary.void_attempts.items() if v not in summary.paused}
    if recovered:
        by = ", ".join(f"{names[version]} {count:,}" for version, count in recovered.items())
        found.append(f"void attempts: {by}")
    return found


def _names(lineup: Lineup, role: Role) -> str:
    names = list(lineup.design.names(role).values())
    shown = ", ".join(plain(name) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


@contextmanager
def _bar(total: int, void_before: int) -> Generator[Callable[[Summary], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("playing"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("left{task.fields[void]}"),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        task = bar.add_task("playing", total=total, rate="", void="")

        def tick(summary: Summary) -> None:
            done = summary.played + summary.void - void_before
            void = f", {summary.void:,} void" if summary.void else ""
            bar.update(task, completed=done, rate=_rate(summary), void=void)

        yield tick


def _sparse(total: int) -> Callable[[Summary], None]:
    due = time.monotonic() + SPARSE_S

    def tick(summary: Summary) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + SPARSE_S
            rest = (total - summary.played) * summary.seconds / max(1, summary.played)
            left = f", about {_duration(rest)} left" if summary.played else ""
            line = f"{summary.played:,} of {total:,} played, {_rate(summary)}{left}"
            print(line, file=sys.stderr, flush=True)

    return tick


def _rate(summary: Summary) -> str:
    rate = summary.played / max(summary.seconds, 1e-9)
    return f"{rate:,.0f} matches/s" if rate >= 10 else f"{rate * 60:,.1f} matches/min"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
