"""The leaderboard in the browser: ``arena leaderboard``, or ``streamlit run`` on this file.

It only reads. The address decides what is shown: `view`, and the parameters of that view.
"""

import streamlit as st

from arena.errors import UserError
from leaderboard import markup
from leaderboard.views import common, match, matches, standings

VIEWS = {"board": standings.show, "matches": matches.show, "match": match.show}


def main() -> None:
    """Draw the page that the address names."""
    st.set_page_config(page_title="Bargaining Arena", page_icon="⚖", layout="wide")
    st.html(markup.STYLE)
    st.html(f'<h1 class="ba-title">{markup.link("Bargaining Arena", "board")}</h1>')
    common.guarded(_show)


def _show() -> None:
    name = st.query_params.get("view", "board")
    if name not in VIEWS:
        raise UserError(f"there is no page {name!r}")
    VIEWS[name]()


main()
