"""Gain over base against size: one line a learning rate."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import signs, wording
from leaderboard.figures import palette
from leaderboard.inference.scaling import Boundary, Point, rate_label, size_label

_APART = 1.035
"""The factor by which lines stand apart along the axis, so that intervals at one size can be told."""
_HEIGHT = 430
_SIZES = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '.3~r') + 'B' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '.3~r') + 'M' : format(datum.value, ',')"
)
_HINT = [
    alt.Tooltip("seller:N"),
    alt.Tooltip("base:N"),
    alt.Tooltip("gain:Q", format="+.3f"),
    alt.Tooltip("interval:N", title="95% interval"),
    alt.Tooltip("p:N"),
    alt.Tooltip("size:N", title="effective parameters"),
    alt.Tooltip("rate:N", title="learning rate"),
    alt.Tooltip("compute:N"),
    alt.Tooltip("cells:Q", format=","),
    alt.Tooltip("scenarios:Q", format=","),
]
READING = (
    "Dot: gain over base; bar: the 95% interval that the design prints. Lines: one a learning rate, "
    "slightly apart so that their intervals can be told. Hollow: not compute-matched with the reference "
    "arm of the same base, or a checkpoint that its line does not pass through. Dashed: the "
    "architecture changes."
)


def scaling_figure(shown: Sequence[Point], borders: Sequence[Boundary]) -> alt.LayerChart | None:
    """Return the figure of the points that can be placed; None where none can."""
    placed = [point for point in shown if point.placed]
    if not placed:
        return None
    rates = sorted({point.learning_rate for point in placed if point.learning_rate is not None})
    frame = pd.DataFrame([_row(point, rates) for point in placed])
    sizes = sorted({point.params for point in placed if point.params is not None})
    x = alt.X(
        "at:Q",
        title="effective parameters",
        scale=alt.Scale(type="log", domain=[sizes[0] / 1.35, sizes[-1] * 1.35], nice=False),
        axis=alt.Axis(values=sizes, labelExpr=_SIZES, grid=False, labelFlush=False),
    )
    ends = [0.0, *frame.low, *frame.high]
    room = 0.06 * (max(ends) - min(ends)) or 0.01
    scale = alt.Scale(domain=[min(ends) - room, max(ends) + room], nice=False, zero=False)
    title = "gain over base, in score"
    y, low = (
        alt.Y(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(format="+.2f", tickCount=8))
        for field in ("gain", "low")
    )
    zero = alt.Chart(pd.DataFrame([{"gain": 0.0}])).mark_rule(color=palette.QUIET, strokeWidth=1.2)
    figure: alt.LayerChart = (
        alt.layer(zero.encode(y=y), *_borders(borders, x), *_lines(frame, rates, x, y, low))
        .properties(height=_HEIGHT)
        .configure_view(stroke=None)
    )
    return figure


def _lines(frame: pd.DataFrame, rates: Sequence[float], x: alt.X, y: alt.Y, low: alt.Y) -> list[Any]:
    labels = [rate_label(rate) for rate in rates]
    legend = alt.Legend(orient="top", title="learning rate", symbolOpacity=1)
    colours = alt.Scale(domain=labels, range=[palette.colour(place) for place, _ in enumerate(labels)])
    shapes = alt.Scale(domain=labels, range=[palette.shape(place) for place, _ in enumerate(labels)])
    colour = alt.Color("rate:N", scale=colours, legend=legend)
    shape = alt.Shape("rate:N", scale=shapes, legend=legend)
    base = alt.Chart(frame).encode(x=x, color=colour, tooltip=_HINT)
    line = alt.Chart(frame[frame.on_line]).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    layers = [line, base.mark_rule(strokeWidth=2).encode(y=low, y2="high:Q")]
    for solid, shown in ((True, frame[frame.solid]), (False, frame[~frame.solid])):
        marks = alt.Chart(shown).encode(x=x, y=y, color=colour, shape=shape, tooltip=_HINT)
        if solid:
            layers.append(marks.mark_point(filled=True, size=110, opacity=1))
        else:
            # Not quite unfilled: a mouse over the middle of a hollow mark has to meet it.
            hollow = marks.mark_point(size=110, strokeWidth=2.5, opacity=1, fill="rgba(128,128,128,.02)")
            layers.append(hollow)
    return layers


def _borders(borders: Sequence[Boundary], x: alt.X) -> list[Any]:
    if not borders:
        return []
    rows = [
        {"at": border.at, "smaller": f"{border.smaller} ←", "larger": f"→ {border.larger}"}
        for border in borders
    ]
    chart = alt.Chart(pd.DataFrame(rows)).encode(x=x)
    style: dict[str, Any] = {"fontSize": 12, "color": palette.QUIET, "dy": 6}
    return [
        chart.mark_rule(color=palette.QUIET, strokeDash=[5, 4], strokeWidth=1.5),
        chart.mark_text(align="right", dx=-7, **style).encode(y=alt.value(0), text="smaller:N"),
        chart.mark_text(align="left", dx=7, **style).encode(y=alt.value(0), text="larger:N"),
    ]


def _row(point: Point, rates: Sequence[float]) -> dict[str, object]:
    gain = point.gain
    assert point.params is not None
    assert point.learning_rate is not None
    ends = gain.interval or (gain.estimate.value, gain.estimate.value)
    aside = rates.index(point.learning_rate) - (len(rates) - 1) / 2
    return {
        "seller": wording.visible(point.seller),
        "base": wording.visible(point.base),
        "at": point.params * _APART**aside,
        "gain": gain.estimate.value,
        "low": ends[0],
        "high": ends[1],
        "interval": wording.signed_interval(gain.interval) if gain.interval else gain.estimate.problem,
        "p": signs.contrast_p(gain),
        "size": size_label(point.params),
        "rate": rate_label(point.learning_rate),
        "compute": point.compute,
        "solid": point.matched and point.on_line,
        "on_line": point.on_line,
        "cells": gain.cells,
        "scenarios": gain.estimate.clusters,
    }
