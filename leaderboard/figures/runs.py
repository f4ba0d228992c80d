"""Training runs as curves: a small chart a metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import wording
from leaderboard.figures import palette
from leaderboard.metrics import BUYER, described
from leaderboard.training import Points, Steps, points

POINTS = 2_000
"""Points of a curve that are drawn; a longer run is thinned evenly, its first and last step kept."""
_HEIGHT, _LEGEND = 170, 40


def curve(
    metric: str, runs: Mapping[str, Steps], checkpoints: Mapping[int, str] | None = None
) -> alt.LayerChart | alt.FacetChart:
    """Return a metric against the step, a line a run; `checkpoints` (names by step) are marked."""
    known = described(metric)
    colours = {wording.visible(name): colour(place) for place, name in enumerate(runs)}
    lines = {wording.visible(name): points(steps, metric) for name, steps in runs.items()}
    layers = _lines("run", lines, colours, known.title, known.share, legend=False)
    if checkpoints:
        marks = pd.DataFrame([{"step": step, "checkpoint": n} for step, n in checkpoints.items()])
        layers.append(
            alt.Chart(marks)
            .mark_rule(color=palette.ANCHOR, strokeDash=[3, 3])
            .encode(x="step:Q", tooltip=["checkpoint", "step"])
        )
    return alt.layer(*layers).properties(height=_HEIGHT)


def buyers(steps: Steps, metrics: Sequence[str]) -> alt.LayerChart | alt.FacetChart:
    """Return the share of a run's dialogues with each buyer, a line a buyer of `metrics`."""
    names = {wording.visible(metric.removeprefix(BUYER)): metric for metric in metrics}
    lines = {name: points(steps, metric) for name, metric in names.items()}
    colours = {name: palette.colour(place) for place, name in enumerate(names)}
    layers = _lines("buyer", lines, colours, "share of the dialogues", share=True, legend=True)
    return alt.layer(*layers).properties(height=_HEIGHT + _LEGEND)


def colour(place: int) -> str:
    """Return the colour of a run's curves, by its place among those shown together."""
    return palette.colour(place + 3)


def _lines(
    kind: str,
    lines: Mapping[str, Points],
    colours: Mapping[str, str],
    title: str,
    share: bool,
    legend: bool,
) -> list[Any]:
    """Return the layers of lines by name; a line of one point is a dot."""
    rows = [
        {kind: name, "step": step, "value": float(value)}
        for name, found in lines.items()
        for step, value in _thinned(found)
    ]
    frame = pd.DataFrame(rows, columns=[kind, "step", "value"])
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    base = alt.Chart(frame).encode(
        x=alt.X("step:Q", title=None, axis=alt.Axis(tickMinStep=1)),
        y=alt.Y(
            "value:Q",
            title=None,
            scale=alt.Scale(zero=False),
            axis=alt.Axis(format="~%" if share else ",.4~r"),
        ),
        color=alt.Color(
            f"{kind}:N", scale=scale, legend=alt.Legend(title=None, orient="top") if legend else None
        ),
        tooltip=[
            f"{kind}:N",
            alt.Tooltip("step:Q", format=","),
            alt.Tooltip("value:Q", title=title, format=".1%" if share else ",.4~r"),
        ],
    )
    layers: list[Any] = [base.mark_line(strokeWidth=1.8), base.mark_point(size=60, opacity=0)]
    if len(rows) <= len(lines):
        layers.append(base.mark_point(filled=True, size=40))
    return layers


def _thinned(found: Points) -> Points:
    every = -(-len(found) // POINTS)
    return found if every <= 1 else [*found[:-1:every], found[-1]]
