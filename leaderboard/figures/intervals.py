"""Differences as dots with their intervals, one under the other, around a line at zero."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import wording
from leaderboard.figures import palette
from leaderboard.inference.statistic import Estimate

ROW_HEIGHT = 30
_AROUND = 62
_LABELS = 150
"""Pixels that the axis and the labels take: a figure's height and width include them."""
Estimates = Mapping[str, Estimate]
Span = tuple[float, float]


def span(estimates: Sequence[Estimate]) -> Span:
    """Return an axis that holds zero and every interval, so that figures side by side share one."""
    ends = [0.0]
    for found in estimates:
        if found.value is not None:
            ends += [found.value, *(found.interval() or ())]
    low, high = min(ends), max(ends)
    margin = 0.04 * (high - low) or 0.01
    return low - margin, high + margin


def interval_figure(
    estimates: Estimates, axis: Span, title: str, mark: float | None = None, bars: bool = False
) -> alt.LayerChart | None:
    """Return a row an estimate: a dot with its 95% t interval, solid where that excludes zero.

    `axis` as from :func:`span`; `mark` draws a dashed line, where a whole is to be compared with its
    parts; `bars` draws a bar from zero to each dot, for parts that add up. None where nothing has a
    value.
    """
    frame = pd.DataFrame([_row(label, found) for label, found in estimates.items() if _has(found)])
    if not len(frame):
        return None
    scale = alt.Scale(domain=list(axis), nice=False, zero=False)
    ticks = alt.Axis(format="+.2f", tickCount=6, labelFlush=False, grid=True)
    x = alt.X("difference:Q", title=title, scale=scale, axis=ticks)
    labels = alt.Axis(
        labelLimit=_LABELS,
        minExtent=_LABELS,
        labelFontSize=12,
        labelFlush=False,
        domain=False,
        ticks=False,
    )
    y = alt.Y("label:N", sort=list(frame.label), title=None, axis=labels)
    base = alt.Chart(frame).encode(y=y, tooltip=_HINT)
    layers: list[Any] = [_line(0.0, scale, [1, 0])]
    if mark is not None:
        layers.append(_line(mark, scale, [4, 3]))
    if bars:
        bar = base.mark_bar(color=palette.SELLER, opacity=0.3, size=ROW_HEIGHT - 12)
        layers.append(bar.encode(x=x, x2=alt.datum(0)))
    layers += [
        base.mark_rule(color=palette.SELLER, strokeWidth=2).encode(
            x=alt.X("low:Q", title=title, scale=scale, axis=ticks), x2="high:Q"
        ),
        base.mark_point(size=70, strokeWidth=2, color=palette.SELLER, opacity=1).encode(
            x=x, fill=alt.condition("datum.detectable", alt.value(palette.SELLER), alt.value(_PAPER))
        ),
    ]
    figure: alt.LayerChart = (
        alt.layer(*layers)
        .properties(height=ROW_HEIGHT * len(frame) + _AROUND)
        .configure_view(stroke=None)
    )
    return figure


READING = (
    "Dot: the difference; bar: its 95% interval (t); solid where it excludes zero, before any "
    "correction."
)
_PAPER = "rgba(255,255,255,0.01)"
"""As good as no fill, yet a mouse over the middle of a hollow dot meets it."""
_HINT = [
    alt.Tooltip("label:N", title="of"),
    alt.Tooltip("difference:Q", format="+.3f"),
    alt.Tooltip("interval:N", title="95% interval"),
    alt.Tooltip("cells:Q", format=","),
    alt.Tooltip("scenarios:Q", format=","),
]


def _has(found: Estimate) -> bool:
    return found.value is not None


def _row(label: str, found: Estimate) -> dict[str, object]:
    ends = found.interval()
    low, high = ends or (found.value, found.value)
    return {
        "label": wording.visible(label),
        "difference": found.value,
        "low": low,
        "high": high,
        "interval": (found.problem or wording.NONE) if ends is None else wording.signed_interval(ends),
        "detectable": ends is not None and not ends[0] <= 0 <= ends[1],
        "cells": found.cells,
        "scenarios": found.clusters,
    }


def _line(at: float, scale: alt.Scale, dash: Sequence[int]) -> Any:
    rule = alt.Chart(pd.DataFrame([{"at": at}])).mark_rule(
        color=palette.QUIET, strokeDash=list(dash), strokeWidth=1.2
    )
    return rule.encode(x=alt.X("at:Q", scale=scale))
