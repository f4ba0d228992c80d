"""What a tournament says before it plays: its plan, and what freezing the design logged."""

from collections.abc import Generator, Iterable

from arena.commands.drift import plan_line
from arena.design import Design
from arena.deviations import NO_REASON, Frozen
from arena.differences import Departure
from arena.lineup import Lineup
from arena.printable import plain
from arena.protocol import LEAST_TURNS, MOST_TURNS
from arena.tournament import Tournament
from leaderboard.wording import counted, listed
from scenarios.scenario import Role


def plan_lines(tournament: Tournament, lineup: Lineup) -> Generator[str]:
    """Yield what is about to be played."""
    design, summary = lineup.design, tournament.summary
    held_out = [domain.name for domain in design.domains if domain.held_out]
    apart = f" ({', '.join(held_out)} held out)" if held_out else ""
    hidden = f"hidden limits of {LEAST_TURNS} to {MOST_TURNS} turns a side"
    turns = f"{counted(design.turns, 'turn')} a side" if design.turns else hidden
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
    planned = counted(summary.planned, "match", "matches")
    yield f"{planned} planned{going_on}{lost}; {todo:,} to play{_where(tournament)}"
    if tournament.settings.drift:
        yield plan_line(tournament, lineup)


def _where(tournament: Tournament) -> str:
    """Say where matches are played, unless that is in this process."""
    settings = tournament.settings
    if settings.on_ray:
        which = "of its own" if settings.ray_address is None else f"at {plain(settings.ray_address)}"
        here = f", {tournament.waiting:,} here, which wait for answers" if tournament.waiting else ""
        return f" ({tournament.quick:,} on a Ray {which}{here})"
    return f" ({tournament.workers} worker processes)" if tournament.workers > 1 else ""


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


def _names(lineup: Lineup, role: Role) -> str:
    return listed(list(lineup.design.names(role).values()))
