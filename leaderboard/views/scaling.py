"""Gain over base against size: what training buys, at which scale and learning rate."""

from collections.abc import Sequence

import streamlit as st

from arena.store import Store, StoredDesign
from leaderboard import board_words, markup
from leaderboard.figures import scaling as scaling_figure
from leaderboard.inference.contrasts import family
from leaderboard.inference.scaling import Point, boundaries, points
from leaderboard.tables import scaling as scaling_table
from leaderboard.verdicts import gains_over_base
from leaderboard.views import common, filters
from leaderboard.views.downloads import download
from leaderboard.views.following import follow
from scenarios.scenario import Role

_EXAMPLE = """agents:
  - name: my-12b-3e6
    model: hosted_vllm/my-12b-3e6
    api_base: http://127.0.0.1:8000/v1
    base: my-12b            # a registered agent that plays in the same tournament
    params: 12.0e9          # effective parameters; of the base where left out
    lineage:
      learning_rate: 3.0e-6
      steps: 56             # or tokens; says which arms are compute-matched
      architecture: conventional
"""


def show() -> None:
    """Draw the gains of the design that the address names."""
    store = common.open_store()
    follow(store)
    stored = common.chosen_design(store)
    design = stored.design
    gains = common.computed(gains_over_base, store, stored)
    shown = points(design, filters.agents_of(store, stored), gains)
    if not shown:
        st.info("No seller of this design has its base among the sellers, so there is no gain to show.")
        _how()
        return
    borders = boundaries([point for point in shown if point.placed])
    figure = scaling_figure.scaling_figure(shown, borders)
    if figure is None:
        _nothing(store, stored, shown)
    else:
        st.altair_chart(figure, width="stretch", alt="Gain over base against effective parameters")
        st.html(f'<div class="ba-note">{markup.text(scaling_figure.READING)}</div>')
    st.html(scaling_table.scaling_table(shown, design.hash))
    download("the gains", scaling_table.scaling_rows(shown), f"scaling-{design.hash}")
    _differences(store, stored)
    lacking = [point.seller for point in shown if point.lacking and point.lacking != ["matches"]]
    if lacking:
        st.caption(markup.plain(f"Not in the figure for want of metadata: {', '.join(lacking)}."))
        _how()


def _nothing(store: Store, stored: StoredDesign, shown: Sequence[Point]) -> None:
    """Say why no arm can be drawn."""
    if any(point.gain.estimate.value is None for point in shown):
        board = common.board_of(store, stored, Role.SELLER)
        command = board_words.fill_command(board, common.database())
        st.info(f"No gain can be formed yet: an arm and its base lack matches. To play: `{command}`")
    else:
        st.info("No arm is registered with its size and its learning rate, so none has a place.")


def _differences(store: Store, stored: StoredDesign) -> None:
    """Show the differences of gains that the design declares."""
    found = [one for one in common.computed(family, store, stored) if len(one.contrast.plus) > 1]
    if found:
        common.part("Differences of gains")
        st.html(scaling_table.differences_list(found))


def _how() -> None:
    st.markdown(
        "To place an arm, register it with its size, its learning rate and its base: write a file like "
        "this, and `arena register --file agents.yaml`. Registering the same agent again only updates "
        "what is known of it; its matches stay."
    )
    st.code(_EXAMPLE, language="yaml")
