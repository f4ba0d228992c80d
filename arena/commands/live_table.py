"""What a terminal shows while language models or plug-ins play: a row an agent, and how far all is."""

from collections.abc import Mapping, Sequence

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arena.commands.closing_lines import duration, in_words
from arena.commands.pace import Pace, Paces
from arena.money import dollars, usd
from arena.printable import plain
from arena.summary import Summary
from arena.tally import Tally

AROUND = 4
"""Lines of the screen that are not rows of agents."""
WORDS = ("agent", "void")
"""Columns that give way where there is little room."""
NARROW = 8
"""Characters that they have at least."""


def live_table(summary: Summary, paces: Paces, console: Console) -> RenderableType:
    """Return the table and the bar, no higher than the `console`: where there are more agents, those
    that need attention are shown. Where all agents are scripted, only the bar."""
    tallies = list(summary.tallies.values())
    if not tallies:
        return _bar(summary, paces)
    room = max(1, console.height - AROUND)
    shown = tallies
    if len(tallies) > room:
        room -= 1
        first = sorted(tallies, key=_at_rest)[:room]  # stable: in the line-up's order
        shown = [tally for tally in tallies if tally in first]
    rows = [_cells(tally, paces.by_agent[tally.version]) for tally in shown]
    if not any(tally.already for tally in tallies):
        del rows[0]["before"]
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for heading, width in _widths(rows, console.width).items():
        table.add_column(heading, justify=_JUSTIFY[heading in WORDS], no_wrap=True, width=width)
    for tally, row in zip(shown, rows, strict=True):
        table.add_row(*(Text(row[heading]) for heading in rows[0]), style=_style(tally))
    hidden = len(tallies) - len(shown)
    more = [Text(f"and {hidden} more")] if hidden else []
    return Group(table, *more, _bar(summary, paces))


_JUSTIFY: tuple[JustifyMethod, JustifyMethod] = ("right", "left")


def _widths(rows: Sequence[Mapping[str, str]], room: int) -> dict[str, int]:
    """Return the width of each column: numbers whole, and words in what is left of the `room`."""
    widths = {heading: max(len(heading), *(len(row[heading]) for row in rows)) for heading in rows[0]}
    numbers = sum(width for heading, width in widths.items() if heading not in WORDS)
    left = room - numbers - len(widths)  # a space after each
    half = max(NARROW, left // 2)
    agent = min(widths["agent"], max(half, left - widths["void"]))
    return widths | {"agent": agent, "void": min(widths["void"], max(NARROW, left - agent))}


def _cells(tally: Tally, pace: Pace) -> dict[str, str]:
    """Return an agent's row by heading."""
    rate = pace.a_second
    speed = "-" if rate is None else f"{rate * 60:,.1f}"
    last = f" {in_words(tally.last_trouble)}" if tally.voids else ""
    return {
        "agent": plain(tally.name),
        "played": f"{tally.played:,}/{tally.planned - tally.already:,}",
        "before": f"{tally.already:,}",
        "/min": "aside" if tally.set_aside else speed,
        "faults": f"{tally.faults:,}",
        "forfeits": f"{tally.forfeits.total():,}",
        "void": f"{tally.voids.total():,}{last}",
        "tokens": _short(tally.tokens_in + tally.tokens_out),
        "spent": spent(tally),
    }


def spent(tally: Tally) -> str:
    """Return what an agent's calls cost, as far as it is known."""
    known = usd(tally.account.known)
    if tally.cost_usd is None:
        return f"{dollars(known)}+?" if known else "unknown"
    return "-" if tally.free and not known else dollars(known)


def _bar(summary: Summary, paces: Paces) -> RenderableType:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True)
    grid.add_row(ProgressBar(max(1, paces.total), paces.done), Text(how_far(summary, paces)))
    return grid


def how_far(summary: Summary, paces: Paces) -> str:
    """Say how far a tournament is, how fast, and how long it will take."""
    parts = [f"{paces.done:,} of {paces.total:,} played"]
    if summary.already:
        parts[0] += f" ({summary.already:,} before)"
    if summary.void:
        parts.append(f"{summary.void:,} void")
    if (rate := paces.a_second) is not None:
        parts.append(f"{rate:,.0f} matches/s" if rate >= 10 else f"{rate * 60:,.1f} matches/min")
    if summary.put_off:
        parts.append(f"{summary.put_off:,} put off")
    if left := paces.left_s:
        parts.append(f"about {duration(left)} left")
    return ", ".join(parts)


def _at_rest(tally: Tally) -> bool:
    """Return whether nothing about an agent needs attention."""
    return not (tally.set_aside or tally.voids or tally.forfeits or tally.faults)


def _style(tally: Tally) -> str:
    return "red" if tally.set_aside else "yellow" if tally.voids else ""


def _short(count: int) -> str:
    """Return a count in at most six characters."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 999.5 * size else f"{count / size:,.0f}{unit}"
    return str(count)
