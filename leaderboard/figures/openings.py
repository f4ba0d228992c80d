"""Openings: what each agent's first offer asks for."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import wording
from leaderboard.figures import palette
from leaderboard.inference.openings import Opening
from leaderboard.inference.statistic import Estimate
from scenarios.scenario import Role

_ROW_HEIGHT = 30
_AROUND = 62
"""Pixels that the axis takes: a figure's height includes them."""
READING = (
    "Post hoc. Left, what the first offer would score if it were accepted as it stands; the dot's size "
    "says how often the first turn names a term. Right, how much lower the deal is, over matches with "
    "both. Bars: 95% intervals. Agents whose first turn never names a term are left out."
)


def openings_figure(found: Sequence[Opening], role: Role) -> alt.LayerChart | None:
    """Return a row an agent: what its first offer asks for. None where nobody opens with an offer."""
    rows = [_row(one) for one in found if one.accepted.value is not None]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    ends = [*frame.low, *frame.high]
    scale = alt.Scale(domain=[max(0.0, min(ends) - 0.02), min(1.0, max(ends) + 0.02)], nice=True)
    colour = palette.SELLER if role is Role.SELLER else palette.BUYER
    labels = alt.Axis(labelLimit=150, labelFontSize=12, labelFlush=False, domain=False, ticks=False)
    y = alt.Y("agent:N", sort=list(frame.agent), title=None, axis=labels)

    def x(field: str) -> alt.X:
        axis = alt.Axis(format=".2f", tickCount=8, labelFlush=False)
        title = "worth if accepted, own utility"
        return alt.X(f"{field}:Q", title=title, scale=scale, axis=axis)

    chart = alt.Chart(frame).encode(y=y, tooltip=_HINT)
    size = alt.Size("named:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[25, 190]))
    layers: list[Any] = [
        chart.mark_rule(color=colour, strokeWidth=2).encode(x=x("low"), x2="high:Q"),
        chart.mark_point(color=colour, filled=True, opacity=1).encode(x=x("score"), size=size),
    ]
    figure: alt.LayerChart = (
        alt.layer(*layers)
        .properties(height=_ROW_HEIGHT * len(frame) + _AROUND)
        .configure_axisY(grid=True)
        .configure_view(stroke=None)
    )
    return figure


_HINT = [
    alt.Tooltip("agent:N"),
    alt.Tooltip("named:Q", title="first turn names a term", format=".1%"),
    alt.Tooltip("terms:Q", title="terms named", format=".1f"),
    alt.Tooltip("score:Q", title="worth if accepted", format=".3f"),
    alt.Tooltip("interval:N", title="95% interval"),
    alt.Tooltip("matches:Q", format=","),
    alt.Tooltip("scenarios:Q", format=","),
]


def _row(one: Opening) -> dict[str, object]:
    asked: Estimate = one.accepted
    assert asked.value is not None
    low, high = asked.interval() or (asked.value, asked.value)
    return {
        "agent": wording.visible(one.agent),
        "named": one.named.value,
        "terms": one.terms_named.value,
        "score": asked.value,
        "low": low,
        "high": high,
        "interval": wording.interval(asked),
        "matches": asked.cells,
        "scenarios": asked.clusters,
    }
