"""Guards against hollow gains, and how sellers and buyers open."""

from collections.abc import Sequence

import streamlit as st

from arena.store import Store, StoredDesign
from leaderboard import drift_words, markup
from leaderboard.board import Board
from leaderboard.figures import intervals as interval_figure
from leaderboard.figures import openings as openings_figure
from leaderboard.inference.drift import Drift, drift
from leaderboard.inference.guards import guards
from leaderboard.inference.openings import Opening, openings
from leaderboard.known import known_kl
from leaderboard.tables import guards as guards_table
from leaderboard.tables.drift import drift_table
from leaderboard.views import common, controls, filters
from leaderboard.views.downloads import download
from leaderboard.views.following import follow
from scenarios.scenario import Role


def show() -> None:
    """Show the guards and the openings of the design that the address names."""
    store = common.open_store()
    follow(store)
    stored = common.chosen_design(store)
    board = common.board_of(store, stored, Role.SELLER)
    if common.nothing_played(board):
        return
    _guards(store, stored, board)
    _drift(store, stored)
    _openings(store, stored)


def _guards(store: Store, stored: StoredDesign, board: Board) -> None:
    design = stored.design
    st.html(guards_table.STYLE)
    common.part("Guards (ours)")
    st.html(f'<div class="ba-note">{markup.text(guards_table.LEGEND)}</div>')
    judged = common.computed(guards, store, stored)
    agents = filters.agents_of(store, stored)
    kl = known_kl(design, {version: agent.lineage for version, agent in agents.items()})
    ordered = {row.agent: judged[row.agent] for row in board.rows}
    versions = {name: version for version, name in design.names(Role.SELLER).items()}
    st.html(guards_table.guards_table(ordered, versions, kl, design))
    download("the guards", guards_table.guards_rows(ordered, versions, kl), f"guards-{design.hash}")
    if not kl:
        st.caption(
            "No seller was registered with its KL divergence from its base (`lineage: {kl: 0.31}` in an "
            "agents file); it would stand here and decide nothing."
        )


def _drift(store: Store, stored: StoredDesign) -> None:
    """Show whether what was served changed, where matches were replayed."""
    found = _found(store, store.address, stored.design.hash, store.revision())
    if found is None:
        return
    common.part("Drift")
    st.html(f"<div><b>{markup.text(drift_words.capital(drift_words.verdict(found)))}.</b></div>")
    st.html(drift_table(found))
    st.html(f'<div class="ba-note">{markup.text(drift_words.READING)}</div>')
    download("the drift", drift_words.flat(found), f"drift-{stored.design.hash}")


@st.cache_resource(show_spinner=False, max_entries=32)
def _found(_store: Store, address: str, design: str, revision: int) -> Drift | None:
    frozen = _store.design(design).design
    return drift(frozen, _store.replays(frozen))


def _openings(store: Store, stored: StoredDesign) -> None:
    st.html(
        '<h3 class="ba-part">Openings <span class="ba-badge">post hoc</span></h3>'
        '<div class="ba-note">No opening was declared before play, and none is a guard.</div>'
    )
    role = Role(controls.choose("Openings of", list(controls.ROLES), "of", controls.ROLES))
    computed = common.computed(openings, store, stored, role)
    found = common.in_boards_order(computed, store, stored, role)
    _figures(found, role)
    st.html(guards_table.openings_table(found, stored.design.hash))
    name = f"openings-{role.value}-{stored.design.hash}"
    download("the openings", [one.to_json() for one in found], name)


def _figures(found: Sequence[Opening], role: Role) -> None:
    figure = openings_figure.openings_figure(found, role)
    if figure is None:
        st.info(f"No {role.value} named a term on its first turn in the open domains.")
        return
    falls = {one.agent: one.fall for one in found if one.accepted.value is not None}
    fallen = interval_figure.interval_figure(
        falls, interval_figure.span(list(falls.values())), "deal lower by"
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.altair_chart(figure, width="stretch", alt="What first offers would score if accepted")
    with right:
        if fallen is not None:
            st.altair_chart(fallen, width="stretch", alt="How much lower the deals are")
    st.html(f'<div class="ba-note">{markup.text(openings_figure.READING)}</div>')
