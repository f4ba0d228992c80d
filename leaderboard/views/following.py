"""Pages that follow a record which grows while they are open: a tournament or a training under way."""

import streamlit as st

from arena.store import Store

EVERY = "10s"
"""How often an open page asks whether the record has changed."""


def follow(store: Store) -> None:
    """Let the page be drawn again whenever the record has changed. To be called before it reads."""
    st.fragment(redraw, run_every=EVERY)(store, store.revision())


def redraw(store: Store, drawn: int) -> None:
    """Draw the page again if the record is no longer at the revision that was `drawn`."""
    if store.revision() != drawn:
        st.rerun(scope="app")
