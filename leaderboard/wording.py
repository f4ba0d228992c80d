"""How figures are worded, the same in the terminal and on the page."""

from collections.abc import Iterable
from datetime import datetime
from shlex import quote

from arena.printable import plain
from arena.results import Results
from arena.store import DEFAULT, redacted
from leaderboard.board import Board, Row
from leaderboard.inference.statistic import FEW_CLUSTERS, Estimate
from scenarios.scenario import Role

NONE = "–"  # noqa: RUF001 (an en dash is what stands for "nothing" in a table)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s in the plural: ``1 seller``, ``2 sellers``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def score(estimate: Estimate) -> str:
    """Return the score with three decimals."""
    return NONE if estimate.value is None else f"{estimate.value:.3f}"


def interval(estimate: Estimate) -> str:
    """Return ``[low, high]``, marked ~ where approximate, or why there is none."""
    found = estimate.interval()
    if found is None:
        return estimate.problem or NONE
    return f"[{found[0]:.3f}, {found[1]:.3f}]{mark(estimate)}"


def half_width(estimate: Estimate) -> str:
    """Return the score and half its interval, as ``0.512 ±.022``; an interval is symmetric."""
    found = estimate.interval()
    if estimate.value is None:
        return NONE
    if found is None:
        return f"{estimate.value:.3f} ±{NONE}"
    half = f"{(found[1] - found[0]) / 2:.3f}"
    return f"{estimate.value:.3f} ±{half.removeprefix('0')}{mark(estimate)}"


def signed(value: float | None) -> str:
    """Return a difference with its sign and three decimals."""
    return NONE if value is None else f"{value:+.3f}"


def signed_interval(found: tuple[float, float] | None) -> str:
    """Return the interval of a difference as ``[+0.052, +0.075]``; where there is none, a dash."""
    return NONE if found is None else f"[{found[0]:+.3f}, {found[1]:+.3f}]"


def p_value(p: float | None, name: str = "p") -> str:
    """Return ``p = 0.012`` or ``p < 0.001``, whatever p is called; of none, a dash. Without a name, as
    in a column headed p: ``0.012`` or ``< 0.001``."""
    if p is None:
        return NONE
    if p < 0.001:
        return f"{name} < 0.001".lstrip()
    return f"{name} = {p:.3f}" if name else f"{p:.3f}"


def share_interval(low: float | None, high: float | None) -> str:
    """Return the interval of a share as ``[12.1%, 14.0%]``; where there is none, a dash."""
    return NONE if low is None or high is None else f"[{low:.1%}, {high:.1%}]"


def dollars(amount: float | None) -> str:
    """Return US dollars with two significant digits, or with cents from 1 dollar on."""
    if amount is None:
        return NONE
    return (
        f"${amount:,.2f}"
        if amount >= 1 or amount == 0
        else f"${float(f'{amount:.2g}'):.10f}".rstrip("0")
    )


def mark(estimate: Estimate) -> str:
    """Return the sign of an approximate interval, or nothing."""
    return "~" if estimate.approximate else ""


def rank(row: Row) -> str:
    """Return the rank interval, as ``2 to 4``."""
    return NONE if row.rank is None else str(row.rank)


def percent(share: float | None) -> str:
    """Return a share in percent with one decimal."""
    return NONE if share is None else f"{share:.1%}"


def matches(row: Row) -> str:
    """Return matches of planned."""
    return f"{row.matches:,}/{row.planned:,}"


def missing(row: Row) -> str:
    """Say what an agent lacks."""
    lacks = row.planned - row.matches
    if not lacks:
        return row.open.pooled.problem or ""
    void = f" ({row.void:,} void)" if row.void else ""
    return f"{lacks:,} of {row.planned:,} matches missing{void}"


def fill_command(board: Board, database: str | None) -> str:
    """Return the command that plays what is missing."""
    return f"arena run-tournament --design {board.design.hash}{database_option(database)}"


def database_option(given: str | None) -> str:
    """Return `` --db ...`` for a command that is shown to a person, as a shell reads it and without a
    password; nothing for the default database (or None)."""
    return "" if given in (None, "", DEFAULT) else f" --db {quote(redacted(str(given)))}"


def scenarios(estimates: Iterable[Estimate]) -> str:
    """Return how many scenarios each of `estimates` rests on, as ``64 scenarios each``."""
    counts = {estimate.clusters for estimate in estimates}
    if len(counts) == 1:
        return f"{counted(counts.pop(), 'scenario')} each"
    return f"{min(counts, default=0):,} to {max(counts, default=0):,} scenarios"


def when(iso: str) -> str:
    """Return an ISO 8601 time as ``29 Nov 2026, 16:46 UTC``; text that is no time as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment:%d %b %Y, %H:%M} UTC"


def progress(board: Board) -> str:
    """Return matches of planned and the void share, for the head of a board."""
    tried = board.matches + board.void
    share = board.void / tried if tried else 0.0
    return (
        f"{board.matches:,} of {board.planned:,} matches scored, "
        f"{board.void:,} void ({share:.1%} of those tried)"
    )


def caveats(results: Results) -> list[str]:
    """Say what of a design's results was not declared before play, or not played after its freeze."""
    found = []
    if results.design.analysis is None:
        found.append(
            "Nothing was declared before play: all is exploratory, and limits are the defaults."
        )
    if stale := int((~results.fresh_M).sum()):
        share = f"{stale:,} of {len(results.fresh_M):,} matches"
        found.append(f"{share} began before the design was frozen: what rests on them is exploratory.")
    return found


def infeasible(board: Board) -> str | None:
    """Return a line on the panel without a zone of agreement, where there is one."""
    count, deals = board.infeasible
    if not count:
        return None
    return (
        f"Infeasible panel (in no score): {count:,} matches, {deals:,} agreements; "
        "an agreement there is a mistake of at least one side."
    )


def openers(board: Board) -> list[Role]:
    """Return the sides that opened any match of the board."""
    return [role for role in Role if any(role in row.conduct.by_opener for row in board.rows)]


def misconduct(board: Board) -> bool:
    """Return whether any agent, or any opponent, gave a faulty answer or forfeited."""
    conducts = [row.conduct for row in board.rows]
    return any(c.faults or c.forfeits or c.opponents_forfeits for c in conducts)


def conduct_title(board: Board) -> str:
    """Return the title of the table of :func:`conduct`."""
    title = "By opener: score ± half its 95% interval"
    return f"{title}. Then faulty answers and forfeits" if misconduct(board) else title


def conduct_headings(board: Board) -> list[str]:
    """Return the headings of :func:`conduct`'s columns."""
    more = ["faulty answers", "forfeits", "opponents' forfeits", "score without"]
    return [f"{role.value} opens" for role in openers(board)] + (more if misconduct(board) else [])


def conduct(board: Board, row: Row) -> list[str]:
    """Return an agent's scores by opener; where anyone misbehaved also its faulty answers, its forfeits,
    its opponents' forfeits, and its score without the latter."""
    found = row.conduct
    scores = [found.by_opener.get(role) for role in openers(board)]
    cells = [NONE if estimate is None else half_width(estimate) for estimate in scores]
    if misconduct(board):
        counts = (found.faults, found.forfeits, found.opponents_forfeits)
        without = half_width(found.held) if found.opponents_forfeits else NONE
        cells += [*(f"{count:,}" for count in counts), without]
    return cells


def notes(estimates: Iterable[Estimate]) -> list[str]:
    """Return the footnotes that a table with these estimates needs."""
    shown = list(estimates)
    found = []
    if any(estimate.approximate for estimate in shown):
        found.append(f"~ fewer than {FEW_CLUSTERS} scenarios: the interval is approximate.")
    problems = sorted({e.problem for e in shown if e.problem and e.value is not None})
    if problems:
        found.append(f"No interval: {'; '.join(problems)}.")
    return found


def visible(text: str) -> str:
    """Return `text` as a terminal or a page may show it, with its line ends."""
    return plain(text, lines=True)
