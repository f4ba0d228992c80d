"""Training runs as curves: a small chart a metric."""

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import wording
from leaderboard.figures import palette
from leaderboard.training import Steps

POINTS = 2_000
"""Points of a curve that are drawn; a longer run is thinned evenly, its first and last step kept."""
_HEIGHT = 220


def curve(
    metric: str, runs: Mapping[str, Steps], checkpoints: Mapping[int, str] | None = None
) -> alt.LayerChart | alt.FacetChart:
    """Return a metric against the step, a line a run; `checkpoints` (names by step) are marked."""
    names = [wording.visible(name) for name in runs]
    rows = [
        {"run": wording.visible(name), "step": step, "value": float(value)}
        for name, steps in runs.items()
        for step, value in _thinned(_points(steps, metric))
    ]
    frame = pd.DataFrame(rows, columns=["run", "step", "value"])
    colours = alt.Scale(domain=names, range=[colour(place) for place in range(len(names))])
    base = alt.Chart(frame).encode(
        x=alt.X("step:Q", title="step", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        color=alt.Color("run:N", scale=colours, legend=None),
        tooltip=["run", alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", title=metric)],
    )
    layers: list[Any] = [base.mark_line(strokeWidth=1.8), base.mark_point(size=60, opacity=0)]
    if len(rows) <= len(names):
        layers.append(base.mark_point(filled=True, size=40))
    if checkpoints:
        marks = pd.DataFrame([{"step": step, "checkpoint": n} for step, n in checkpoints.items()])
        layers.append(
            alt.Chart(marks)
            .mark_rule(color=palette.ANCHOR, strokeDash=[3, 3])
            .encode(x="step:Q", tooltip=["checkpoint", "step"])
        )
    return alt.layer(*layers).properties(height=_HEIGHT, title=metric.replace("_", " "))


def colour(place: int) -> str:
    """Return the colour of a run's curves, by its place among those shown together."""
    return palette.colour(place + 3)


def _points(steps: Steps, metric: str) -> list[tuple[int, float]]:
    """Return the finite values of a metric; a gap is where it was not reported, or no number."""
    return [(step, values[metric]) for step, values in steps if isfinite(values.get(metric, nan))]


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    every = -(-len(points) // POINTS)
    return points if every <= 1 else [*points[:-1:every], points[-1]]
