"""Lines about a board, the same in the terminal and on the page."""

from arena.results import LastRun, Results
from leaderboard.board import Board, Row
from leaderboard.wording import NONE, database_option, half_width
from scenarios.scenario import Role


def rank(row: Row) -> str:
    """Return the rank interval, as ``2 to 4``."""
    return NONE if row.rank is None else str(row.rank)


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
    return play_command(board.design.hash, board.last_run, database)


def play_command(design: str, last: LastRun, database: str | None) -> str:
    """Return the command that plays the design with this hash as it was played last."""
    return f"arena run-tournament --design {design}{last.options}{database_option(database)}"


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
