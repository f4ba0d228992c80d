"""Pages that follow a record which grows while they are open: a tournament or a training under way."""

import streamlit as st

from arena.errors import UserError
from arena.store import Store
from leaderboard.views import common

EVERY = "10s"
"""How often an open page asks whether the record has changed."""
State = tuple[Store, int] | None


def follow(store: Store) -> None:
    """Let the page be drawn again whenever the record has changed. To be called before it reads."""
    st.fragment(redraw, run_every=EVERY)((store, store.revision()))


def follow_what_fails() -> None:
    """The same for a page that could not be drawn: there may be no record yet, or nothing in it."""
    st.fragment(redraw, run_every=EVERY)(state())


def state() -> State:
    """Return the open record and its revision; None where it cannot be opened."""
    try:
        store = common.open_store()
        return store, store.revision()
    except UserError:
        return None


def redraw(drawn: State) -> None:
    """Draw the page again if the record is another than the one that was `drawn`, or at another
    revision."""
    if state() != drawn:
        st.rerun(scope="app")
