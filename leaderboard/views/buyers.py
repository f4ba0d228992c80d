"""Sellers by buyers: who scores what against whom, whether a gain lives on one buyer, and what the
matches were like beside their scores."""

import streamlit as st

from arena.store import Store, StoredDesign
from leaderboard import markup
from leaderboard.board import Board
from leaderboard.figures import buyers as buyers_figure
from leaderboard.inference.badges import badges
from leaderboard.inference.secondary import secondary
from leaderboard.inference.splits import ArmSplit, splits
from leaderboard.tables import buyers as buyers_table
from leaderboard.views import common, controls
from leaderboard.views.downloads import download
from leaderboard.views.following import follow
from scenarios.scenario import Role

STYLE = """<style>
.st-key-ba-grid { overflow-x: auto; }
.ba-table th.num { white-space: normal; }
.ba-table td.ba-why { min-width: 20rem; }
</style>"""


def show() -> None:
    """Draw the design that the address names by buyers."""
    store = common.open_store()
    follow(store)
    left, right = st.columns([5, 2])
    with left:
        stored = common.chosen_design(store)
    with right:
        held = any(domain.held_out for domain in stored.design.domains)
        panel = controls.choose("Panel", list(controls.PANELS)[: 1 + held], "panel", controls.PANELS)
    controls.asked(list(controls.ROLES), "of")
    controls.asked_many(list(buyers_table.COLUMNS.values()), "columns")
    st.html(STYLE)
    board = common.board_of(store, stored, Role.SELLER)
    if common.nothing_played(board):
        return
    lines = [
        (row, part)
        for row in board.rows
        if (part := row.open if panel == "open" else row.held_out) is not None
    ]
    _grid(store, stored, board, lines)
    arms = {arm.version: arm for arm in common.computed(splits, store, stored)}
    _splits(board, lines, arms, panel)
    _measures(store, stored, panel)


def _grid(store: Store, stored: StoredDesign, board: Board, lines: buyers_figure.Lines) -> None:
    marks = badges(stored.design, store.audits())
    figure = buyers_figure.heatmap(board, lines, marks)
    common.part("Score of each seller against each buyer")
    if figure is None:
        st.info("No seller has a score on these domains yet.")
        return
    left, right = st.columns([5, 4], gap="large")
    with left, st.container(key="ba-grid"):
        st.altair_chart(figure, width="content", alt="Scores of every seller against every buyer")
    with right:
        listed = buyers_table.badge_list(marks)
        plain = (
            '<div class="ba-note">No buyer here is known to share a family with those that arms trained '
            "against, and none is known to be exploitable: <code>arena scenarios audit</code> finds "
            "out.</div>"
        )
        note = "* against itself. " if any(row.self_play for row, _ in lines) else ""
        st.html(
            (listed or plain)
            + f'<div class="ba-note">{note}Darker is higher. Hover for the interval and n; a click '
            "opens the matches. Rows stand in the board's order.</div>"
        )
        rows = [
            {"seller": row.agent, "buyer": name, **score.to_json()}
            for row, part in lines
            for name, score in part.by_opponent.items()
        ]
        download("the grid", rows, f"buyers-{board.design.hash}")


def _splits(board: Board, lines: buyers_figure.Lines, arms: dict[str, ArmSplit], panel: str) -> None:
    """Draw the splits, and say of which arms the gain over base lives on one buyer."""
    common.part("Does a gain live on one buyer?")
    if len(board.opponents) < 2:
        st.info("There is one buyer only, so no split. To play two: `arena run-tournament --buyers X,Y`")
        return
    trained = [arms[row.player.version] for row, _ in lines if arms[row.player.version].base]
    if trained:
        st.html(buyers_table.verdicts(trained))
    figure = buyers_figure.dumbbells(board, lines, arms)
    if figure is not None:
        st.altair_chart(figure, width="stretch", alt="Each seller's scores by buyer, and its base's")
        st.html(f'<div class="ba-note">{markup.text(buyers_figure.READING)}</div>')
    if not trained:
        st.info(
            "No seller here has its base among the sellers, so no gain is questioned. A base is named "
            "where the seller is registered (`arena register NAME --base BASE`), or under "
            "`analysis: bases:` in a design file."
        )
        return
    if panel != "open":
        st.caption("The alarm and the table below are over the open domains.")
    st.html(buyers_table.splits_table(trained, board.design.hash))
    download("the splits", [arm.to_json() for arm in trained], f"splits-{board.design.hash}")


def _measures(store: Store, stored: StoredDesign, panel: str) -> None:
    """Show the secondary measures that the reader chose."""
    common.part("What the matches were like")
    left, right = st.columns([2, 7])
    with left:
        role = Role(controls.choose("Measures of", list(controls.ROLES), "of", controls.ROLES))
    with right:
        labels = list(buyers_table.COLUMNS.values())
        chosen = controls.choose_many("Columns", labels, "columns", "the main ones")
    found = common.computed(secondary, store, stored, role)
    rows = [
        (row, part)
        for row in common.in_boards_order(found, store, stored, role)
        if (part := row.open if panel == "open" else row.held_out) is not None
    ]
    columns = [name for name, label in buyers_table.COLUMNS.items() if label in chosen]
    st.html(
        buyers_table.measures_table(rows, columns or buyers_table.MAIN, role.value, stored.design.hash)
    )
    download("all measures", buyers_table.measures_rows(rows), f"measures-{role.value}")
    if any(row.self_play for row in found):
        st.caption("Matches against itself are in; *without self-play* and *in self-play* part them.")
