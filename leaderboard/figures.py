"""The two figures: the board on one score axis, and a match in the plane of utilities."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import palette, wording
from leaderboard.board import Board, Panel, Row
from leaderboard.markup import address
from leaderboard.replay import Replay
from leaderboard.statistic import Estimate
from scenarios.scenario import Role

ROW_HEIGHT = 36
_AROUND = 110
"""Pixels that the legend and the score axis take: a page's height includes them."""
_X_AXIS = alt.Axis(tickCount=12, format=".2f", labelFlush=False)
_HINT = [
    alt.Tooltip("score:Q", format=".3f"),
    alt.Tooltip("interval:N", title="95% interval"),
    alt.Tooltip("scenarios:Q", format=","),
    alt.Tooltip("matches:Q", format=","),
]
_WORTH = [alt.Tooltip(f"{role.value}:Q", format=".3f") for role in Role]


def board_figure(
    board: Board, panels: Sequence[tuple[Row, Panel]], anchors: set[str]
) -> alt.LayerChart | None:
    """Return the figure: a row an agent with its pooled score, interval and one mark an opponent.

    `anchors` are the versions to draw in grey. None where nobody has a score yet.
    """
    lines = [(row, panel) for row, panel in panels if panel.pooled.value is not None]
    if not lines:
        return None
    pooled = pd.DataFrame([_pooled(board, row, panel, anchors) for row, panel in lines])
    marks = pd.DataFrame([mark for row, panel in lines for mark in _marks(board, row, panel)])
    order = [_label(row) for row, _ in lines]
    ends = [*pooled.low, *pooled.high, *marks.score]
    scale = alt.Scale(domain=[max(0.0, min(ends) - 0.01), min(1.0, max(ends) + 0.01)], nice=True)
    axis = alt.Axis(labelLimit=260, labelFontSize=13, labelOverlap=False, labelFlush=False)
    y = alt.Y("agent:N", sort=order, title=None, axis=axis)
    title = f"score: the {board.role.value}'s own utility, 0 to 1"
    x, low = (alt.X(f"{field}:Q", title=title, scale=scale, axis=_X_AXIS) for field in ("score", "low"))
    plain = palette.SELLER if board.role is Role.SELLER else palette.BUYER
    layers = [_opponent_marks(board, marks, y, x)]
    for colour, shown in ((plain, pooled[~pooled.anchor]), (palette.ANCHOR, pooled[pooled.anchor])):
        if len(shown):
            layers += _pooled_marks(shown, colour, y, x, low)
    figure: alt.LayerChart = (
        alt.layer(*layers)
        .properties(height=ROW_HEIGHT * len(order) + _AROUND, padding={"right": 70, "left": 5})
        .configure_axisY(grid=True, domain=False, ticks=False)
        .configure_view(stroke=None)
    )
    return figure


def _pooled_marks(shown: pd.DataFrame, colour: str, y: alt.Y, x: alt.X, low: alt.X) -> list[Any]:
    """Return the bars, dots and ranks of the rows that have this colour."""
    base = alt.Chart(shown).encode(
        y=y, href="href:N", tooltip=["agent", *_HINT, alt.Tooltip("rank:N", title="rank (open domains)")]
    )
    return [
        base.mark_rule(strokeWidth=9, yOffset=-6, opacity=0.4, color=colour).encode(x=low, x2="high:Q"),
        base.mark_point(filled=True, size=60, yOffset=-6, opacity=1, color=colour).encode(x=x),
        base.mark_text(align="left", dx=12, fontSize=12, color=palette.ANCHOR).encode(
            x=alt.value("width"), text="place:N"
        ),
    ]


def _opponent_marks(board: Board, marks: pd.DataFrame, y: alt.Y, x: alt.X) -> Any:
    names = [wording.visible(name) for name in board.opponents]
    other = board.role.other.value
    legend = alt.Legend(orient="top", title=f"against the {other}", columns=6, labelLimit=160)
    positions = range(len(names))
    return (
        alt.Chart(marks)
        .mark_point(filled=True, size=55, yOffset=7, opacity=0.9)
        .encode(
            y=y,
            x=x,
            color=alt.Color(
                "opponent:N",
                legend=legend,
                scale=alt.Scale(domain=names, range=[palette.colour(i) for i in positions]),
            ),
            shape=alt.Shape(
                "opponent:N",
                legend=legend,
                scale=alt.Scale(domain=names, range=[palette.shape(i) for i in positions]),
            ),
            tooltip=["agent", alt.Tooltip("opponent:N", title="against"), *_HINT],
        )
    )


def _label(row: Row) -> str:
    return wording.visible(row.agent)


def _pooled(board: Board, row: Row, panel: Panel, anchors: set[str]) -> dict[str, object]:
    chosen = {"design": board.design.hash, board.role.value: row.player.version}
    return {
        "agent": _label(row),
        "rank": wording.rank(row),
        "place": _place(row) if panel is row.open else "",
        "anchor": row.player.version in anchors,
        "href": address("matches", **chosen),
        **_figures(panel.pooled),
    }


def _place(row: Row) -> str:
    return f"rank {wording.rank(row)}" if row.rank else "not ranked"


def _marks(board: Board, row: Row, panel: Panel) -> list[dict[str, object]]:
    return [
        {"agent": _label(row), "opponent": wording.visible(name), **_figures(score)}
        for name, score in panel.by_opponent.items()
        if score.value is not None
    ]


def _figures(score: Estimate) -> dict[str, object]:
    low, high = score.interval() or (score.value, score.value)
    return {
        "score": score.value,
        "low": low,
        "high": high,
        "interval": wording.interval(score),
        "scenarios": score.clusters,
        "matches": score.cells,
    }


def utility_plane(replay: Replay) -> alt.LayerChart | alt.FacetChart:
    """Return a match in the plane of utilities: what was offered, in order, and what was possible."""
    axes: dict[str, Any] = {
        "x": alt.X("buyer:Q", title="buyer's utility", scale=alt.Scale(domain=[0, 1])),
        "y": alt.Y("seller:Q", title="seller's utility", scale=alt.Scale(domain=[0, 1])),
    }
    layers = [
        alt.Chart(_points(replay.frontier, "Pareto frontier"))
        .mark_line(color=palette.ANCHOR, opacity=0.7, strokeWidth=2)
        .encode(**axes, order="buyer:Q"),
        *_walk_away(replay),
        *(_offers(replay, role, axes) for role in Role),
        *_named(replay, axes),
    ]
    return alt.layer(*layers).properties(height=420)


def _points(pairs: Sequence[tuple[float, float]], label: str) -> pd.DataFrame:
    frame = pd.DataFrame(pairs, columns=["seller", "buyer"])
    return frame.assign(label=label)


def _walk_away(replay: Replay) -> list[Any]:
    seller, buyer = replay.walk_away
    style: dict[str, Any] = {"strokeDash": [5, 4], "opacity": 0.8}
    return [
        alt.Chart(pd.DataFrame([{"seller": seller, "what": "seller's walk-away value"}]))
        .mark_rule(color=palette.SELLER, **style)
        .encode(y="seller:Q", tooltip=["what", "seller"]),
        alt.Chart(pd.DataFrame([{"buyer": buyer, "what": "buyer's walk-away value"}]))
        .mark_rule(color=palette.BUYER, **style)
        .encode(x="buyer:Q", tooltip=["what", "buyer"]),
    ]


def _offers(replay: Replay, role: Role, axes: Mapping[str, Any]) -> Any:
    colour = palette.SELLER if role is Role.SELLER else palette.BUYER
    rows = [
        {
            "turn": offer.turn,
            "seller": offer.seller,
            "buyer": offer.buyer,
            "offer": f"{role.value}'s offer, turn {offer.turn}",
        }
        for offer in replay.offers
        if offer.role is role
    ]
    frame = pd.DataFrame(rows, columns=["turn", "seller", "buyer", "offer"])
    base = alt.Chart(frame).encode(**axes, order="turn:Q", tooltip=["offer", *_WORTH])
    return alt.layer(
        base.mark_line(color=colour, opacity=0.45, strokeWidth=1.5),
        base.mark_point(color=colour, filled=True, size=45, opacity=0.9),
        base.mark_text(color=colour, dy=-9, fontSize=10).encode(text="turn:N"),
    )


def _named(replay: Replay, axes: Mapping[str, Any]) -> list[Any]:
    rows = [
        {"name": name, "seller": seller, "buyer": buyer}
        for name, (seller, buyer) in replay.named_points.items()
    ]
    if not rows:
        return []
    names = list(replay.named_points)
    legend = alt.Legend(orient="top", title=None)
    encoding: dict[str, Any] = {
        "shape": alt.Shape(
            "name:N", legend=legend, scale=alt.Scale(domain=names, range=[_SHAPES[n] for n in names])
        ),
        "color": alt.Color(
            "name:N", legend=legend, scale=alt.Scale(domain=names, range=[_COLOURS[n] for n in names])
        ),
    }
    chart = alt.Chart(pd.DataFrame(rows)).mark_point(size=220, strokeWidth=3, filled=False)
    return [chart.encode(**axes, **encoding, tooltip=["name", *_WORTH])]


_SHAPES = {"Nash": "diamond", "Kalai-Smorodinsky": "square", "deal": "circle"}
_COLOURS = {"Nash": "#CC79A7", "Kalai-Smorodinsky": "#009E73", "deal": "#D0A000"}
