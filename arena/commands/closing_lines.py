"""What a tournament says when it ends: what was played, what needs attention, what is next."""

from arena.lineup import Lineup
from arena.printable import plain
from arena.tournament import Summary
from leaderboard.wording import database_option


def closing_lines(summary: Summary, lineup: Lineup, database: str | None) -> list[str]:
    """Return the three lines a person wants: what was played, what needs attention, what is next in
    the `database` that has to be named (None for the default)."""
    scored = summary.already + summary.played
    rate = f" in {duration(summary.seconds)}" if summary.played else ""
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


def duration(seconds: float) -> str:
    """Return a time in the largest unit that suits it, as ``4 min``."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
