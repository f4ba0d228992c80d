"""What is said of void attempts and missing matches, the same in the terminal and on the page."""

from collections.abc import Sequence

from arena.protocol import Ending
from leaderboard.inference.voids import Missing
from leaderboard.wording import NONE, score

HEADINGS = ("score", "if missing at 0", "at 1", "planned", "scored", "void", "not tried")
READING = (
    "Void: tried, and its provider (or the arena) failed every time so far; a match counts once, "
    "however often it was tried. Scores and bounds are over open domains, weighed alike. Void attempts "
    "are counted by whose provider failed, those at matches that were scored later, too."
)


def trouble(ending: str, kind: str | None) -> str:
    """Return in words what made an attempt void; `kind` is an `agents.agent.Trouble`."""
    if ending == Ending.HARNESS_ERROR:
        return "a bug of the arena"
    return "kind not kept" if kind is None else kind.replace("_", " ")


def attempts(found: Missing) -> list[str]:
    """Return a text for each agent at fault, as ``served (rate limit 12, connection 3)``."""
    by: dict[str, list[str]] = {}
    for one in found.attempts:
        ours = one.ending == Ending.HARNESS_ERROR
        who = "the arena" if ours else one.at_fault or "nobody"
        how = "bugs" if ours else trouble(one.ending, one.trouble)
        by.setdefault(who, []).append(f"{how} {one.attempts:,}")
    return [f"{who} ({', '.join(ways)})" for who, ways in by.items()]


def figures(found: Missing) -> list[str]:
    """Return what stands under HEADINGS."""
    row = found.row
    ends = [NONE, NONE] if row.bounds is None else [f"{end:.3f}" for end in row.bounds]
    counts = (row.planned, row.matches, row.void, found.untried)
    return [score(row.open.pooled), *ends, *(f"{count:,}" for count in counts)]


def anything(found: Sequence[Missing]) -> bool:
    """Return whether any match is missing, or was ever void."""
    return any(one.missing or one.attempts for one in found)
