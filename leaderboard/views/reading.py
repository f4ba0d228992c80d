"""How to read this: every word of the boards in plain words."""

import streamlit as st

from arena.errors import UserError
from leaderboard import glossary, markup

INTRODUCTION = (
    "The board answers one question: does this seller bargain better than that one, against whom, and "
    "how sure are we? Read a row from left to right. The score says how much a seller gets; the bar "
    "around it how far luck of the draw may have moved it; the rank which places are left to it. A "
    "trained seller's gain is the length from the hollow dot, its base, to the solid one. Then ask "
    "whether it is real: the buyers' small marks should move together, the guards should pass, and no "
    "alarm should be raised."
)


def show() -> None:
    """List the terms; the one that the address names stands above all."""
    st.html(f'<h2 class="ba-title">How to read this</h2><p>{markup.text(INTRODUCTION)}</p>')
    name = st.query_params.get("term")
    if name:
        asked = glossary.term(name)
        if asked is None:
            raise UserError(f"there is no entry {name!r} here")
        st.html(f'<dl class="ba-term">{_entry(asked)}</dl>')
    for section in glossary.SECTIONS:
        entries = "".join(_entry(term) for term in section.terms)
        st.html(f'<h3>{markup.text(section.title)}</h3><dl class="ba-terms-list">{entries}</dl>')


def _entry(term: glossary.Term) -> str:
    return f"<dt><b>{markup.text(term.name)}</b></dt><dd>{markup.text(term.meaning)}</dd>"
