"""The leaderboard in the browser: ``arena leaderboard``, or ``streamlit run`` on this file.

It only reads. The address decides what is shown: `view`, and the parameters of that view.
"""

from importlib import import_module
from typing import NamedTuple

import streamlit as st

from arena.errors import UserError
from leaderboard import markup
from leaderboard.views import common


class View(NamedTuple):
    """A page: a module of :mod:`leaderboard.views` with a function `show`, imported when opened."""

    module: str
    label: str | None
    """What the row of links calls it; None: other pages lead to it."""


VIEWS = {
    "board": View("standings", "Board"),
    "compare": View("compare", "Compare"),
    "buyers": View("buyers", "Buyers"),
    "scaling": View("scaling", "Scaling"),
    "guards": View("guards", "Guards and openings"),
    "matches": View("matches", "Matches"),
    "match": View("match", None),
    "scenarios": View("scenarios", "Scenarios"),
    "runs": View("runs", "Training runs"),
    "designs": View("designs", "Designs"),
    "reading": View("reading", "How to read this"),
}


def main() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="Bargaining Arena", page_icon="⚖", layout="wide")
    st.html(markup.STYLE)
    common.guarded(_show)
    address = {name: st.query_params.get_all(name) for name in st.query_params}
    st.html(markup.follow(address), unsafe_allow_javascript=True)


def _show() -> None:
    name = st.query_params.get("view", "board")
    labels = {key: view.label for key, view in VIEWS.items() if view.label is not None}
    st.html(markup.navigation(labels, name, st.query_params.get("design")))
    if name not in VIEWS:
        raise UserError(f"there is no page {name!r}")
    import_module(f"leaderboard.views.{VIEWS[name].module}").show()


main()
