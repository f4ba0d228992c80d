"""What a domain's draws come out as: the kinds of its terms, and both sides' walk-away values."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from leaderboard.figures import palette
from leaderboard.grounds import kinds
from scenarios.domain import Domain, Kind
from scenarios.scenario import Role, Scenario

KIND_COLOURS = {
    Kind.COMPATIBLE: "#009E73",
    Kind.DISTRIBUTIVE: "#D55E00",
    Kind.INTEGRATIVE: "#56B4E9",
    Kind.MIXED: "#8A8A8A",
}


def kinds_figure(domain: Domain, drawn: Sequence[Scenario]) -> alt.Chart:
    """Return in how many of the drawn scenarios each term is of each kind, as bars."""
    counts = kinds(drawn)
    names = [kind.value for kind in Kind]
    rows = [
        {"term": term.name, "kind": kind.value, "place": place, "scenarios": counts[term.name, kind]}
        for term in domain.terms
        for place, kind in enumerate(Kind)
    ]
    colours = alt.Scale(domain=names, range=[KIND_COLOURS[kind] for kind in Kind])
    bars: alt.Chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("scenarios:Q", title=f"of {len(drawn)} scenarios", stack="zero"),
            y=alt.Y("term:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, labelOverlap=False)),
            color=alt.Color(
                "kind:N", scale=colours, legend=alt.Legend(orient="top", title=None, columns=4)
            ),
            order="place:Q",
            tooltip=["term", "kind", "scenarios"],
        )
        .properties(height=24 * len(domain.terms) + 110)
    )
    return bars


def walk_away_figure(drawn: Sequence[Scenario], role: Role) -> alt.Chart:
    """Return one side's walk-away values over the drawn scenarios, as a histogram from 0 to 1."""
    values = [scenario.preferences(role).walk_away for scenario in drawn]
    title = f"{role.value}'s walk-away value, in its own utility"
    figure: alt.Chart = (
        alt.Chart(pd.DataFrame({"value": values}))
        .mark_bar(color=palette.SELLER if role is Role.SELLER else palette.BUYER)
        .encode(
            x=alt.X("value:Q", bin=alt.Bin(step=0.025, extent=[0, 1]), title=title),
            y=alt.Y("count():Q", title="scenarios", axis=alt.Axis(tickMinStep=1, tickCount=3)),
            tooltip=[alt.Tooltip("count():Q", title="scenarios")],
        )
        .properties(height=150)
    )
    return figure
