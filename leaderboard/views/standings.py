"""The board: figure and table."""

from dataclasses import replace

import streamlit as st

from arena.results import Results
from arena.store import Store, StoredDesign
from leaderboard import board_words, markup, signs, void_words, wording
from leaderboard.board import Board, BoardPanel, Row, board
from leaderboard.figures import board as board_figure
from leaderboard.inference.badges import badges
from leaderboard.inference.chosen import part
from leaderboard.inference.voids import missing
from leaderboard.known import anchors
from leaderboard.tables import board as board_table
from leaderboard.tables.voids import voids_table
from leaderboard.verdicts import Verdict, to_json, verdicts
from leaderboard.views import common, filters, head
from leaderboard.views.downloads import download
from scenarios.scenario import Role

_ALT = "Scores with 95% intervals, one row an agent; the table below has the same figures"


def show() -> None:
    """Draw the board that the address names."""
    store = common.open_store()
    stored, agents, choice = filters.choices(store)
    whole = common.board_of(store, stored, choice.role)
    head.show(store, stored, whole)
    arguments = (choice.role, choice.domains, choice.opener)
    found = common.computed(_board, store, stored, *arguments) if choice.recomputed else whole
    said = common.computed(_verdicts, store, stored, *arguments)
    lines = [
        (row, panel)
        for row in found.rows
        if (panel := _panel(row, choice.panel)) is not None and choice.shows(agents[row.player.version])
    ]
    _scope(found, choice, hidden=len(found.rows) - len(lines))
    if not lines:
        st.info("No agent of this design fits these filters: choose every kind and every family.")
        return
    marks = badges(stored.design, store.audits())
    shown = board_table.BoardTable(found, lines, said, marks, common.database() or "")
    _draw(shown)
    versions = {row.player.version for row, _ in lines}
    rows = [row for row in to_json(found, said, marks) if row["version"] in versions]
    download("the board", rows, f"board-{stored.design.hash}")
    if choice.panel == "open":
        st.caption(board_words.conduct_title(found))
        st.html(board_table.conduct_table(found, lines))
    _voids(store, stored, found, whole)
    _notes(shown)


def _voids(store: Store, stored: StoredDesign, found: Board, whole: Board) -> None:
    """Show what is missing of the whole board, and why, where anything is and no filter narrows it."""
    lacking = missing(whole, store.void_counts(stored.design))
    if found is not whole or not void_words.anything(lacking):
        return
    common.part("Missing and void")
    st.html(voids_table(lacking, whole.role, stored.design.hash))
    st.html(f'<div class="ba-note">{markup.text(void_words.READING)}</div>')
    rows = [one.to_json() for one in lacking]
    download("what is missing", rows, f"voids-{whole.role.value}-{stored.design.hash}")


def _board(results: Results, role: Role, domains: tuple[str, ...], opener: Role | None) -> Board:
    """Return the board of a part of the results; its links lead to the whole design."""
    return replace(board(part(results, domains, opener), role), design=results.design)


def _verdicts(
    results: Results, role: Role, domains: tuple[str, ...], opener: Role | None
) -> dict[str, Verdict]:
    why = "a part of the design that nobody declared" if domains or opener else ""
    return verdicts(part(results, domains, opener), role, why)


def _panel(row: Row, panel: str) -> BoardPanel | None:
    return row.open if panel == "open" else row.held_out


def _scope(found: Board, choice: filters.Choice, hidden: int) -> None:
    """Say which domains the scores are over, and what the filters did."""
    domains = found.open_domains if choice.panel == "open" else found.held_out_domains
    apart = "" if choice.panel == "open" else "Held out, reported apart: "
    st.caption(apart + markup.plain(", ".join(domains) or "no domain"))
    if choice.recomputed:
        opener = f", the {choice.opener.value} opening" if choice.opener else ""
        st.info(
            f"Filtered: scores, ranks and verdicts are recomputed over {len(domains)} "
            f"{'domain' if len(domains) == 1 else 'domains'}{opener}. Nobody declared this part before "
            "play, so all of it is exploratory."
        )
    if hidden:
        st.caption(f"{wording.counted(hidden, 'agent')} hidden by the filters; ranks count them all.")


def _draw(shown: board_table.BoardTable) -> None:
    figure = board_figure.board_figure(shown.board, shown.lines, anchors(), shown.verdicts)
    if figure is not None:
        with st.container(key="ba-figure-judged" if shown.judged else "ba-figure"):
            st.altair_chart(figure, width="stretch", alt=_ALT)
        st.html(f'<div class="ba-note">{markup.text(board_figure.reading(shown.trained))}</div>')
    st.html(board_table.board_table(shown))


def _notes(shown: board_table.BoardTable) -> None:
    scores = [score for _, p in shown.lines for score in (p.pooled, *p.by_opponent.values())]
    notes = [
        "Score: the mean over opponents of the mean over domains of an agent's own utility. Intervals: "
        "95%, t, by scenario as cluster within domain. Rank: the places that 95% confidence leaves.",
        *wording.notes(scores),
    ]
    if shown.trained:
        notes.append("A gain over base leads to the comparison of the two.")
    if shown.judged:
        notes.append(f"Guards (ours): {signs.LEGEND}.")
    if any(row.self_play for row, _ in shown.lines):
        notes.append("* against itself.")
    if (line := board_words.infeasible(shown.board)) is not None:
        notes.append(line)
    link = markup.link("How to read this", "reading", design=shown.board.design.hash)
    st.html(f'<div class="ba-note">{"<br>".join(map(markup.text, notes))}</div>{link}')
