"""A match in the plane of utilities: what was offered, and what was possible."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard.figures import palette
from leaderboard.replay import Replay
from scenarios.scenario import Role

_WORTH = [alt.Tooltip(f"{role.value}:Q", format=".3f") for role in Role]


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
        *(_offers(replay, role, axes) for role in Role if replay.offers),
        *_named(replay, axes),
    ]
    return alt.layer(*layers).properties(height=420)


def _points(pairs: Sequence[tuple[float, float]], label: str) -> pd.DataFrame:
    frame = pd.DataFrame(pairs, columns=["seller", "buyer"])
    return frame.assign(label=label)


def _walk_away(replay: Replay) -> list[Any]:
    seller, buyer = replay.walk_away
    style: dict[str, Any] = {"strokeDash": [5, 4], "strokeWidth": 1.5, "opacity": 1}
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
    legend = alt.Legend(orient="top", title=None, columns=3)
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


_SHAPES = {
    "Nash": "diamond",
    "Kalai": "triangle-up",
    "Kalai-Smorodinsky": "square",
    "utilitarian": "triangle-down",
    "default": "cross",
    "deal": "circle",
}
_COLOURS = {
    "Nash": "#CC79A7",
    "Kalai": "#56B4E9",
    "Kalai-Smorodinsky": "#009E73",
    "utilitarian": "#E69F00",
    "default": "#8A8A8A",
    "deal": "#D0A000",
}
