"""Sellers by buyers: a heatmap of scores, and how far each seller's scores lie apart."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import signs, wording
from leaderboard.board import Board, BoardPanel, Row
from leaderboard.figures import palette
from leaderboard.figures.board import ROW_HEIGHT, on_a_phone, opponent_channels, score_fields
from leaderboard.inference.badges import Badge
from leaderboard.inference.splits import ArmSplit
from leaderboard.markup import address

Lines = Sequence[tuple[Row, BoardPanel]]
_CELL_WIDTH, _CELL_HEIGHT = 92, 34
_UP, _DOWN = -5, 8
"""Within a row the seller's marks stand above its middle, those of its base below."""
_SIGN = 16
_HINT = [
    alt.Tooltip("seller:N"),
    alt.Tooltip("buyer:N", title="against"),
    alt.Tooltip("score:Q", format=".3f"),
    alt.Tooltip("interval:N", title="95% interval"),
    alt.Tooltip("matches:Q", format=","),
    alt.Tooltip("scenarios:Q", format=","),
]


def heatmap(
    board: Board, lines: Lines, badges: Mapping[str, tuple[Badge, ...]]
) -> alt.LayerChart | None:
    """Return every seller's score against every buyer, as a grid; a click opens the pair's matches.

    Buyers carry their badges as letters. None where nobody has a score yet.
    """
    rows = [mark for row, panel in lines for mark in _cells(board, row, panel, badges)]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    low, high = float(frame.score.min()), float(frame.score.max())
    if high - low < 1e-9:
        low, high = low - 0.01, high + 0.01
    labels = [_buyer(name, badges) for name in board.opponents]
    over = alt.Axis(orient="top", labelAngle=0, labelLimit=_CELL_WIDTH - 4, domain=False, ticks=False)
    side = alt.Axis(labelLimit=150, labelFontSize=12, labelFlush=False, domain=False, ticks=False)
    base = alt.Chart(frame).encode(
        x=alt.X("heading:N", sort=labels, title=None, axis=over),
        y=alt.Y("seller:N", sort=list(dict.fromkeys(frame.seller)), title=None, axis=side),
        href="href:N",
        tooltip=_HINT,
    )
    middle = low + 0.68 * (high - low)  # from here on white reads better than ink
    figure: alt.LayerChart = (
        alt.layer(
            base.mark_rect(stroke="rgba(128,128,128,.35)").encode(
                color=alt.Color(
                    "score:Q", scale=alt.Scale(scheme="blues", domain=[low, high]), legend=None
                )
            ),
            base.mark_text(fontSize=13).encode(
                text="shown:N",
                color=alt.condition(f"datum.score > {middle}", alt.value("white"), alt.value("#10202d")),
            ),
        )
        .properties(width=alt.Step(_CELL_WIDTH), height=alt.Step(_CELL_HEIGHT))
        .configure_view(stroke=None)
    )
    return figure


def dumbbells(board: Board, lines: Lines, splits: Mapping[str, ArmSplit]) -> alt.LayerChart | None:
    """Return a row a seller: its score against each buyer, joined by a line; its base's in grey below.

    `splits` by version. A raised alarm stands at the right. None where nobody has a score yet.
    """
    shown = [(row, panel) for row, panel in lines if _scored(panel)]
    if not shown:
        return None
    own = pd.DataFrame([mark for row, panel in shown for mark in _marks(row, panel)])
    panels = {row.agent: panel for row, panel in lines}
    bases = pd.DataFrame(
        [
            mark | {"base": base}
            for row, _ in shown
            if (base := splits[row.player.version].base) in panels and base is not None
            for mark in _marks(row, panels[base])
        ]
    )
    ends = [*own.score, *own.low, *own.high]
    scale = alt.Scale(domain=[max(0.0, min(ends) - 0.01), min(1.0, max(ends) + 0.01)], nice=True)
    labels = alt.Axis(
        labelLimit=on_a_phone(96, 170), labelFontSize=13, labelOverlap=False, labelFlush=False
    )
    y = alt.Y("seller:N", sort=[wording.visible(row.agent) for row, _ in shown], title=None, axis=labels)
    layers = _base_layers(bases, scale, y) if len(bases) else []
    layers += _own_layers(board, own, scale, y)
    layers += _alarm_layers([row for row, _ in shown], splits, y)
    figure: alt.LayerChart = (
        alt.layer(*layers)
        .properties(height=alt.Step(ROW_HEIGHT), padding={"right": 3 * _SIGN, "left": 5})
        .configure_axisY(grid=True, domain=False, ticks=False)
        .configure_view(stroke=None)
    )
    return figure


READING = (
    "Marks: the score against each buyer, with its 95% interval; the line between them is the split. "
    "Grey below: the same of the base it was trained from. A gain that is the same against everyone "
    f"moves the whole line; one that lives on a single buyer stretches it. {signs.ALARM}: pooling alarm."
)


def _own_layers(board: Board, own: pd.DataFrame, scale: alt.Scale, y: alt.Y) -> list[Any]:
    legend = alt.Legend(
        orient="top", title="against", columns=on_a_phone(2, 4), labelLimit=150, symbolOpacity=1
    )
    channels = opponent_channels(board, "buyer", legend)
    chart = alt.Chart(own).encode(y=y, tooltip=_HINT)
    return [
        _span(own, palette.QUIET, 3, _UP, y, scale),
        chart.mark_rule(strokeWidth=5, opacity=0.35, yOffset=_UP).encode(
            x=_x("low", scale), x2="high:Q", color=channels["color"]
        ),
        chart.mark_point(filled=True, size=85, opacity=1, yOffset=_UP).encode(
            x=_x("score", scale), **channels
        ),
    ]


def _base_layers(bases: pd.DataFrame, scale: alt.Scale, y: alt.Y) -> list[Any]:
    chart = alt.Chart(bases).encode(y=y, tooltip=["base:N", *_HINT[1:]])
    return [
        _span(bases, palette.ANCHOR, 1.5, _DOWN, y, scale),
        chart.mark_point(filled=True, size=30, opacity=1, yOffset=_DOWN, color=palette.ANCHOR).encode(
            x=_x("score", scale), detail="buyer:N"
        ),
    ]


def _x(field: str, scale: alt.Scale) -> alt.X:
    axis = alt.Axis(format=".2f", labelFlush=False, tickCount=8)
    return alt.X(f"{field}:Q", title="score against each buyer", scale=scale, axis=axis)


def _span(
    marks: pd.DataFrame, colour: str, width: float, offset: int, y: alt.Y, scale: alt.Scale
) -> Any:
    """Return the line from a row's lowest score to its highest."""
    ends = marks.groupby("seller", sort=False).score.agg(least="min", most="max").reset_index()
    rule = alt.Chart(ends).mark_rule(color=colour, strokeWidth=width, yOffset=offset, opacity=0.8)
    return rule.encode(y=y, x=_x("least", scale), x2="most:Q")


def _alarm_layers(rows: Sequence[Row], splits: Mapping[str, ArmSplit], y: alt.Y) -> list[Any]:
    raised = [
        {
            "seller": wording.visible(row.agent),
            "sign": signs.ALARM,
            "why": splits[row.player.version].why,
        }
        for row in rows
        if splits[row.player.version].alarm
    ]
    if not raised:
        return []
    text = alt.Chart(pd.DataFrame(raised)).mark_text(
        dx=_SIGN, fontSize=17, fontWeight="bold", color=palette.FAIL
    )
    return [text.encode(x=alt.value("width"), y=y, text="sign:N", tooltip=["seller:N", "why:N"])]


def _scored(panel: BoardPanel) -> bool:
    return any(score.value is not None for score in panel.by_opponent.values())


def _marks(row: Row, panel: BoardPanel) -> list[dict[str, object]]:
    return [
        {"seller": wording.visible(row.agent), "buyer": wording.visible(name), **score_fields(score)}
        for name, score in panel.by_opponent.items()
        if score.value is not None
    ]


def _cells(
    board: Board, row: Row, panel: BoardPanel, badges: Mapping[str, tuple[Badge, ...]]
) -> list[dict[str, object]]:
    """Return the row's cells of the grid: its marks, with what stands in them and where they lead."""
    headings = {wording.visible(name): _buyer(name, badges) for name in board.opponents}
    versions = {wording.visible(n): v for v, n in board.design.names(board.role.other).items()}
    itself = {wording.visible(name) for name in row.self_play}
    where = {"design": board.design.hash, "seller": row.player.version}
    return [
        mark
        | {
            "heading": headings[buyer],
            "shown": f"{mark['score']:.3f}" + ("*" if buyer in itself else ""),
            "href": address("matches", **where, buyer=versions[buyer]),
        }
        for mark in _marks(row, panel)
        if (buyer := str(mark["buyer"]))
    ]


def _buyer(name: str, badges: Mapping[str, tuple[Badge, ...]]) -> str:
    marks = signs.badge_marks(badges.get(name, ()))
    return f"{wording.visible(name)} {marks}".strip()
