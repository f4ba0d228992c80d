"""The board: figure and table."""

import streamlit as st

from arena.store import Store, StoredDesign
from leaderboard import figures, markup, wording
from leaderboard.board import Board, Panel, Row
from leaderboard.views import common
from scenarios.scenario import Role

ANCHORS = ("hardliner", "linear", "random", "accept_first", "walk_away")


def show() -> None:
    """Draw the board that the address names."""
    store = common.open_store()
    left, middle, right = st.columns([5, 2, 2])
    with left:
        stored = common.chosen_design(store)
    with middle:
        role = Role(common.choose("Board of", [r.value for r in Role], "role", _ROLES))
    held_out = [domain.name for domain in stored.design.domains if domain.held_out]
    with right:
        panels = ["open", "held_out"] if held_out else ["open"]
        panel = common.choose("Domains", panels, "panel", _PANELS)
    board = common.board_of(store, stored, role)
    _head(store, stored, board, panel)
    lines = [(row, found) for row in board.rows if (found := _panel(row, panel)) is not None]
    _figure(board, lines)
    st.html(markup.board_table(board, lines, common.database() or ""))
    if panel == "open" and lines:
        st.caption(wording.conduct_title(board))
        st.html(markup.conduct_table(board, lines))
    _notes(board, lines)


_ROLES = {"seller": "sellers", "buyer": "buyers"}
_PANELS = {"open": "open domains", "held_out": "held-out domains"}


def _panel(row: Row, panel: str) -> Panel | None:
    return row.open if panel == "open" else row.held_out


def _head(store: Store, stored: StoredDesign, board: Board, panel: str) -> None:
    domains = board.open_domains if panel == "open" else board.held_out_domains
    design = stored.design
    st.markdown(
        f"**Design `{design.hash}`**, frozen {markup.plain(wording.when(stored.created_at))} · "
        f"{len(design.sellers)} sellers, {len(design.buyers)} buyers, {design.scenarios} scenarios a "
        f"domain · **{markup.plain(wording.progress(board))}**"
    )
    apart = "" if panel == "open" else "Held out, reported apart: "
    st.caption(apart + markup.plain(", ".join(domains) or "no domain"))
    if not board.matches:
        st.info(f"Nothing is played yet. To play it: `{wording.fill_command(board, common.database())}`")


def _figure(board: Board, lines: list[tuple[Row, Panel]]) -> None:
    figure = figures.board_figure(board, lines, _anchors())
    if figure is not None:
        st.altair_chart(figure, width="stretch")


def _anchors() -> set[str]:
    """Return the versions of the scripted agents that give the axis a scale people understand."""
    from agents.scripted import spec_of

    return {spec_of(name).version for name in ANCHORS}


def _notes(board: Board, lines: list[tuple[Row, Panel]]) -> None:
    shown = [score for _, p in lines for score in (p.pooled, *p.by_opponent.values())]
    notes = [
        "Score: the mean over opponents of the mean over domains of an agent's own utility. Intervals: "
        "95%, t, by scenario as cluster within domain. Rank: the places that 95% confidence leaves.",
        *wording.notes(shown),
    ]
    if any(row.self_play for row in board.rows):
        notes.append("* against itself.")
    if (line := wording.infeasible(board)) is not None:
        notes.append(line)
    st.html(f'<div class="ba-note">{"<br>".join(map(markup.text, notes))}</div>')
