"""The board as one figure: who is ahead, by how much, how sure, and whether it is real."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import altair as alt
import pandas as pd

from leaderboard import board_words, signs, wording
from leaderboard.board import Board, BoardPanel, Row
from leaderboard.figures import palette
from leaderboard.inference.statistic import Estimate
from leaderboard.markup import address
from leaderboard.verdicts import Verdict
from scenarios.scenario import Role

ROW_HEIGHT = 36
"""Pixels of a row, however many there are: a height for the whole would include the legend and the axis,
which leave two rows next to nothing."""
_UP, _DOWN = -6, 7
"""Within a row the pooled score stands above its middle, the marks of the buyers below it."""
_RANK, _GUARDS, _STEP = 14, 112, 44
"""Pixels from the score axis to the rank, to the first guard, and from each guard to the next."""
_X_AXIS = alt.Axis(tickCount=12, format=".2f", labelFlush=False)
_HINT = [
    alt.Tooltip("score:Q", format=".3f"),
    alt.Tooltip("interval:N", title="95% interval"),
    alt.Tooltip("scenarios:Q", format=","),
    alt.Tooltip("matches:Q", format=","),
]


def board_figure(
    board: Board,
    panels: Sequence[tuple[Row, BoardPanel]],
    anchors: Set[str],
    verdicts: Mapping[str, Verdict],
) -> alt.LayerChart | None:
    """Return the figure: a row an agent with its pooled score, interval, base and one mark an opponent;
    to the right its rank, its guards and an alarm sign.

    `anchors` are the versions to draw in grey; `verdicts` by version. None where nobody has a score yet.
    """
    lines = [(row, panel) for row, panel in panels if panel.pooled.value is not None]
    if not lines:
        return None
    pooled = pd.DataFrame([_pooled(board, row, panel, anchors, verdicts) for row, panel in lines])
    marks = pd.DataFrame([mark for row, panel in lines for mark in _marks(board, row, panel)])
    bases = pd.DataFrame(_bases(board, lines, verdicts))
    is_open = lines[0][1] is lines[0][0].open
    is_judged = is_open and any(verdicts[row.player.version].judged for row, _ in lines)
    judged = pd.DataFrame(_guards(lines, verdicts) if is_judged else [])
    order = [_label(row) for row, _ in lines]
    ends = [*pooled.low, *pooled.high, *marks.score]
    scale = alt.Scale(domain=[max(0.0, min(ends) - 0.01), min(1.0, max(ends) + 0.01)], nice=True)
    axis = alt.Axis(
        labelLimit=on_a_phone(96, 200), labelFontSize=13, labelOverlap=False, labelFlush=False
    )
    y = alt.Y("agent:N", sort=order, title=None, axis=axis)
    title = f"score: the {board.role.value}'s own utility, 0 to 1"
    x, low = (alt.X(f"{field}:Q", title=title, scale=scale, axis=_X_AXIS) for field in ("score", "low"))
    plain = palette.SELLER if board.role is Role.SELLER else palette.BUYER
    layers = [_opponent_marks(board, marks, y, x)]
    for colour, shown in ((plain, pooled[~pooled.anchor]), (palette.ANCHOR, pooled[pooled.anchor])):
        if len(shown):
            layers += _pooled_marks(shown, colour, y, x, low)
    if len(bases):
        layers += _base_marks(bases, plain, y, x)
    if len(judged):
        layers += _guard_marks(judged, y)
    figure: alt.LayerChart = (
        alt.layer(*layers)
        .properties(height=alt.Step(ROW_HEIGHT), padding={"right": 20, "left": 5})
        .configure_axisY(grid=True, domain=False, ticks=False)
        .configure_view(stroke=None)
    )
    return figure


def on_a_phone(narrow: int, wide: int) -> alt.ExprRef:
    """Return a size of a figure that is `narrow` in a phone's window, `wide` in others and on paper."""
    return alt.ExprRef(f"windowSize()[0] <= {palette.PHONE} ? {narrow} : {wide}")


def reading(trained: bool, live: bool = True) -> str:
    """Say in a line what the figure's marks are; and where a click leads, if it is `live`."""
    base = " Hollow dot: the base it was trained from, the line to it its gain." if trained else ""
    click = " A click opens the agent's matches." if live else ""
    return (
        "Dot: score; bar: its 95% interval; small marks: the score against each opponent."
        f"{base} Grey: scripted anchors.{click}"
    )


def _pooled_marks(shown: pd.DataFrame, colour: str, y: alt.Y, x: alt.X, low: alt.X) -> list[Any]:
    """Return the bars, dots and ranks of the rows that have this colour."""
    hints = [
        alt.Tooltip("agent:N"),
        *_HINT,
        alt.Tooltip("rank:N", title="rank (open domains)"),
        alt.Tooltip("gain:N", title="gain over base"),
    ]
    base = alt.Chart(shown).encode(y=y, href="href:N", tooltip=hints)
    return [
        base.mark_rule(strokeWidth=9, yOffset=_UP, opacity=0.4, color=colour).encode(x=low, x2="high:Q"),
        base.mark_point(filled=True, size=70, yOffset=_UP, opacity=1, color=colour).encode(x=x),
        base.mark_text(align="left", dx=_RANK, fontSize=12, color=palette.QUIET).encode(
            x=alt.value("width"), text="place:N"
        ),
    ]


def _base_marks(bases: pd.DataFrame, colour: str, y: alt.Y, x: alt.X) -> list[Any]:
    """Return the gains as lengths: a hollow dot at the base's score, a thin line to the seller's."""
    hints = [
        alt.Tooltip("agent:N"),
        alt.Tooltip("base:N"),
        alt.Tooltip("score:Q", title="base's score", format=".3f"),
        alt.Tooltip("gain:N", title="gain over base"),
    ]
    chart = alt.Chart(bases).encode(y=y, tooltip=hints)
    return [
        chart.mark_rule(strokeWidth=1.5, yOffset=_UP, color=colour).encode(x=x, x2="to:Q"),
        chart.mark_point(
            filled=False, size=70, strokeWidth=2, yOffset=_UP, opacity=1, color=colour
        ).encode(x=x),
    ]


def opponent_channels(board: Board, field: str, legend: alt.Legend) -> dict[str, Any]:
    """Return the colour and the shape of each opponent of the board, the same in every figure; `field`
    holds its name."""
    names = [wording.visible(name) for name in board.opponents]
    places = range(len(names))
    colours, shapes = (
        alt.Scale(domain=names, range=[of(place) for place in places])
        for of in (palette.colour, palette.shape)
    )
    return {
        "color": alt.Color(f"{field}:N", legend=legend, scale=colours),
        "shape": alt.Shape(f"{field}:N", legend=legend, scale=shapes),
    }


def _opponent_marks(board: Board, marks: pd.DataFrame, y: alt.Y, x: alt.X) -> Any:
    title = f"against the {board.role.other.value}"
    legend = alt.Legend(orient="top", title=title, columns=on_a_phone(2, 6), labelLimit=160)
    return (
        alt.Chart(marks)
        .mark_point(filled=True, size=55, yOffset=_DOWN, opacity=0.9)
        .encode(
            y=y,
            x=x,
            **opponent_channels(board, "opponent", legend),
            tooltip=["agent", alt.Tooltip("opponent:N", title="against"), *_HINT],
        )
    )


def _guard_marks(judged: pd.DataFrame, y: alt.Y) -> list[Any]:
    """Return a column a guard to the right of the axis, its name above; then a sign for each alarm.

    Each layer takes its part of one encoded chart: encoding is what takes Altair's time.
    """
    hints = [alt.Tooltip(f"{field}:N") for field in ("agent", "guard", "result", "found")]
    marks = alt.Chart(judged).encode(
        x=alt.value("width"), y=y, text="mark:N", color=_own_colour(judged), tooltip=hints
    )
    names = judged[["place", "guard", "short"]].drop_duplicates("place")
    headings = alt.Chart(names).encode(
        x=alt.value("width"), y=alt.value(0), text="short:N", tooltip=["guard:N"]
    )
    layers: list[Any] = []
    for place in names.place:
        here = alt.datum.place == int(place)
        dx = _GUARDS + _STEP * int(place)
        layers += [
            marks.transform_filter(here).mark_text(dx=dx, fontSize=15, fontWeight="bold"),
            headings.transform_filter(here).mark_text(dx=dx, dy=-10, fontSize=11, color=palette.QUIET),
        ]
    return layers


def _own_colour(judged: pd.DataFrame) -> Any:
    """Return the colour that each mark brings. Not a scale: that would be the opponents', too, and split
    their legend."""
    first, *others = sorted(judged.colour.unique())
    chosen: Any = alt
    for colour in others:
        chosen = chosen.when(alt.datum.colour == colour).then(alt.value(colour))
    return chosen.otherwise(alt.value(first)) if others else alt.value(first)


def _label(row: Row) -> str:
    return wording.visible(row.agent)


def _pooled(
    board: Board, row: Row, panel: BoardPanel, anchors: Set[str], verdicts: Mapping[str, Verdict]
) -> dict[str, object]:
    chosen = {"design": board.design.hash, board.role.value: row.player.version}
    return {
        "agent": _label(row),
        "rank": board_words.rank(row),
        "place": _place(row) if panel is row.open else "",
        "anchor": row.player.version in anchors,
        "href": address("matches", **chosen),
        "gain": signs.gain(verdicts[row.player.version]),
        **score_fields(panel.pooled),
    }


def _place(row: Row) -> str:
    return f"rank {board_words.rank(row)}" if row.rank else "not ranked"


def _bases(
    board: Board, lines: Sequence[tuple[Row, BoardPanel]], verdicts: Mapping[str, Verdict]
) -> list[dict[str, object]]:
    """Return the base's score beside each seller that has one, as far as both are known."""
    scores = {_label(row): panel.pooled.value for row, panel in lines}
    by_name = {row.agent: row for row in board.rows}
    found: list[dict[str, object]] = []
    for row, panel in lines:
        split = verdicts[row.player.version].split
        base = by_name.get(split.base) if split is not None and split.base is not None else None
        if base is not None and scores.get(_label(base)) is not None:
            found.append(
                {
                    "agent": _label(row),
                    "base": _label(base),
                    "score": scores[_label(base)],
                    "to": panel.pooled.value,
                    "gain": signs.gain(verdicts[row.player.version]),
                }
            )
    return found


def _guards(
    lines: Sequence[tuple[Row, BoardPanel]], verdicts: Mapping[str, Verdict]
) -> list[dict[str, object]]:
    """Return a mark for every guard of every seller, and a sign for every alarm after them."""
    found: list[dict[str, object]] = []
    for row, _ in lines:
        verdict = verdicts[row.player.version]
        shown = [*signs.guards(verdict), *signs.alarm(verdict)]
        found += [
            {
                "agent": _label(row),
                "place": place,
                "guard": sign.name,
                "short": sign.short,
                "result": sign.result,
                "found": sign.found,
                "mark": sign.mark,
                "colour": sign.colour,
            }
            for place, sign in enumerate(shown)
        ]
    return found


def _marks(board: Board, row: Row, panel: BoardPanel) -> list[dict[str, object]]:
    return [
        {"agent": _label(row), "opponent": wording.visible(name), **score_fields(score)}
        for name, score in panel.by_opponent.items()
        if score.value is not None
    ]


def score_fields(score: Estimate) -> dict[str, object]:
    """Return what a mark's place and its hint need of a score."""
    low, high = score.interval() or (score.value, score.value)
    return {
        "score": score.value,
        "low": low,
        "high": high,
        "interval": wording.interval(score),
        "scenarios": score.clusters,
        "matches": score.cells,
    }
