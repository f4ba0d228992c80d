"""Drift as HTML."""

from leaderboard import drift_words
from leaderboard.inference.drift import Drift
from leaderboard.markup import cell, heading, table, text


def drift_table(found: Drift) -> str:
    """Return a row for all replays, then one a base (where there are several), a buyer and a block."""
    headings = [
        heading("replays", term="drift"),
        heading("drift", "replay less first play", number=True),
        heading("95% interval", "t, by scenario as cluster", number=True),
        heading("n/G", "replays, and scenarios", number=True),
    ]
    rows = [
        f"<tr>{cell(text(what))}{''.join(cell(text(figure), number=True) for figure in figures)}</tr>"
        for what, *figures in drift_words.rows(found)
    ]
    return table(headings, rows)
