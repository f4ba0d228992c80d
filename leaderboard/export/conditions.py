"""Sections of a report on what play was like: what is missing, and whether what was served changed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from leaderboard import drift_words, void_words
from leaderboard.markup import text
from leaderboard.tables.drift import drift_table
from leaderboard.tables.voids import voids_table

if TYPE_CHECKING:
    from leaderboard.export.report import Report


def missing(report: "Report") -> Iterator[str]:
    """Yield what is missing of each agent's matches, why, and the bounds that it leaves."""
    yield voids_table(report.missing, report.board.role, report.stored.design.hash)
    yield f'<p class="ba-note">{text(void_words.READING)}</p>'


def drift(report: "Report") -> Iterator[str]:
    """Yield what the base scored when matches were played once more."""
    assert report.drift is not None
    yield f"<p><b>{text(drift_words.capital(drift_words.verdict(report.drift)))}.</b></p>"
    yield drift_table(report.drift)
    yield f'<p class="ba-note">{text(drift_words.READING)}</p>'
