"""The leaderboard in the browser: ``arena leaderboard``, or ``streamlit run`` on this file.

It only reads. The address decides what is shown: `view`, and the parameters of that view.
"""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import streamlit as st

from arena.errors import UserError
from arena.store import DEFAULT, redacted
from leaderboard import markup
from leaderboard.views import common, following

log = logging.getLogger("leaderboard")


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
    _guarded(_show)
    address = {name: st.query_params.get_all(name) for name in st.query_params}
    st.html(markup.follow(address), unsafe_allow_javascript=True)


def _guarded(show: Callable[[], None]) -> None:
    """Draw a page. What goes wrong is told in a sentence, until the record changes; a traceback goes to
    the log alone."""
    try:
        show()
        return
    except UserError as error:
        st.warning(markup.plain(_sentence(str(error))))
        following.follow_what_fails()
    except Exception:
        log.exception("a page failed")
        st.error("This page failed. The window in which the leaderboard runs says why.")
    if set(st.query_params) - {"view"} or st.query_params.get("view", "board") != "board":
        st.html(markup.link("To the board", "board"))


def _sentence(message: str) -> str:
    """Return a message with a capital letter, but for the database's name, which stays as it is."""
    if message.startswith(redacted(common.database() or DEFAULT)):
        return message
    return message[:1].upper() + message[1:]


def _show() -> None:
    name = st.query_params.get("view", "board")
    labels = {key: view.label for key, view in VIEWS.items() if view.label is not None}
    st.html(markup.navigation(labels, name, st.query_params.get("design")))
    if name not in VIEWS:
        raise UserError(f"there is no page {name!r}")
    import_module(f"leaderboard.views.{VIEWS[name].module}").show()


main()
