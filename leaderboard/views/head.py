"""What stands above a board: the design, what departed from it, how far play has come, and how fast."""

from datetime import UTC, datetime, timedelta

import streamlit as st

from arena.schedule import planned
from arena.store import Pace, Store, StoredDesign
from leaderboard import board_words, markup, wording
from leaderboard.board import Board
from leaderboard.tables import designs as design_table
from leaderboard.views import common, following

WINDOW = timedelta(minutes=10)
"""The rate of play is over the last minutes."""
PATIENCE = timedelta(minutes=1)
"""The rate is shown while the last match began no longer ago than this, or than ten times what lies
between two matches. Whether play goes on meanwhile the record cannot tell, so the line does not say."""


def show(store: Store, stored: StoredDesign, board: Board) -> None:
    """Draw the head; while the page is open it follows the record."""
    design = stored.design
    departed = store.deviations(design.hash)
    link = markup.link(wording.counted(len(departed), "deviation"), "designs", design=design.hash)
    counts = (
        f"{wording.counted(len(design.sellers), 'seller')}, "
        f"{wording.counted(len(design.buyers), 'buyer')}, {design.scenarios:,} scenarios a domain"
    )
    st.html(
        f"<div><b>Design <code>{design.hash}</code></b>, frozen "
        f"{markup.text(wording.when(stored.created_at))} · {link} · {counts}"
        f"<br><b>{markup.text(board_words.progress(board))}</b>{_tried(store, stored)}</div>"
    )
    for line in common.computed(board_words.caveats, store, stored):
        st.caption(markup.plain(line))
    common.nothing_played(board)
    complete = planned(design) == board.matches + board.infeasible[0]
    st.fragment(_follow, run_every=following.EVERY)(store, stored, store.revision(), complete)


def _tried(store: Store, stored: StoredDesign) -> str:
    """Say of how many arms those of this design are the shown ones, over all designs of the record."""
    said = design_table.arms_tried(stored.design, store.designs())
    return f"<br>{markup.text('; '.join(said))}" if said else ""


def _follow(store: Store, stored: StoredDesign, drawn: int, complete: bool) -> None:
    """Draw the page again once the record has changed; until all is played, say how fast play runs."""
    following.redraw((store, drawn))
    if complete:
        return
    now = datetime.now(UTC)
    found = _pace(store, store.address, stored.design.hash, drawn)
    if (line := running(found, planned(stored.design), now)) is not None:
        st.markdown(f":material/speed: **{line}**")


@st.cache_resource(show_spinner=False, max_entries=32)
def _pace(_store: Store, address: str, design: str, revision: int) -> Pace:
    return _store.pace(_store.design(design).design, datetime.now(UTC) - WINDOW)


def running(found: Pace, planned: int, now: datetime) -> str | None:
    """Return the rate of play and the time left, as far as the last minutes tell; None where nothing is
    left to play, or none began for a while."""
    left = planned - found.scored
    if found.last is None or found.first is None or left <= 0:
        return None
    first, last = (datetime.fromisoformat(time) for time in (found.first, found.last))
    minutes = (last - first).total_seconds() / 60
    if found.recent < 2 or minutes <= 0:
        if now - last >= WINDOW:
            return None
        return f"A match began at {last:%H:%M} UTC; {wording.counted(left, 'match', 'matches')} left."
    usual = (last - first) / (found.recent - 1)
    if now - last > max(PATIENCE, 10 * usual):
        return None
    rate = (found.recent - 1) / minutes
    pace = "under 1 match" if rate < 1 else wording.counted(round(rate), "match", "matches")
    return (
        f"Up to {last:%H:%M} UTC, {pace} a minute began; {left:,} left, about {_span(left / rate)} "
        "at that rate."
    )


def _span(minutes: float) -> str:
    if minutes < 1:
        return "a minute"
    if minutes < 90:
        return wording.counted(round(minutes), "minute")
    hours = minutes / 60
    return wording.counted(round(hours), "hour") if hours < 48 else f"{hours / 24:.0f} days"
