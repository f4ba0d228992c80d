"""The pages' HTML. Every text that came from a user or a model passes through :func:`text`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from urllib.parse import urlencode

from leaderboard import palette, wording
from leaderboard.board import Board, Panel, Row
from leaderboard.statistic import Estimate

STYLE = f"""<style>
.stMainBlockContainer {{ padding-top: 2.2rem; }}
.stMainBlockContainer a {{ color: #2f86c9; text-decoration: none; }}
.stMainBlockContainer a:hover {{ text-decoration: underline; }}
h1.ba-title {{ padding: 0; font-size: 1.9rem; }}
h1.ba-title a {{ color: inherit; }}
.ba-nav {{ display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .5rem 0 .2rem 0;
  padding-bottom: .35rem; border-bottom: 1px solid rgba(128,128,128,.3); font-size: .95rem; }}
.ba-nav [aria-current] {{ font-weight: 600; border-bottom: 2px solid currentColor; }}
.ba-table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
.ba-wide {{ overflow-x: auto; }}
.ba-table th, .ba-table td {{ padding: .38rem .7rem .38rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid rgba(128,128,128,.25); font-size: .9rem; }}
.ba-table th {{ font-weight: 500; opacity: .7; }}
.ba-table .num {{ text-align: right; white-space: nowrap; }}
.ba-table .soft, .ba-soft {{ opacity: .65; font-size: .8rem; }}
.ba-table td.name {{ font-weight: 600; overflow-wrap: anywhere; min-width: 7rem; }}
.ba-table tr.line td {{ border-top: 3px double rgba(128,128,128,.6); }}
.ba-mark {{ font-size: .8rem; }}
.ba-note {{ opacity: .7; font-size: .85rem; margin-top: .5rem; }}
.ba-turn {{ border-radius: .6rem; padding: .55rem .8rem; margin: 0 0 .55rem 0; max-width: 94%;
  overflow-wrap: anywhere; }}
.ba-seller {{ background: {palette.SELLER}22; border-left: 4px solid {palette.SELLER}; }}
.ba-buyer {{ background: {palette.BUYER}1f; border-left: 4px solid {palette.BUYER};
  margin-left: 6%; }}
.ba-turn .who {{ font-weight: 600; font-size: .85rem; }}
.ba-turn .prose {{ white-space: pre-wrap; margin: .25rem 0; }}
.ba-turn pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem;
  background: rgba(128,128,128,.12); padding: .5rem; border-radius: .4rem; max-height: 24rem;
  overflow-y: auto; }}
.ba-turn summary {{ cursor: pointer; font-size: .8rem; opacity: .8; }}
.ba-chip {{ display: inline-block; border-radius: 1rem; padding: .05rem .6rem; font-size: .8rem;
  border: 1px solid rgba(128,128,128,.5); }}
.ba-terms {{ font-size: .8rem; opacity: .85; margin-top: .25rem; }}
.ba-end {{ border-top: 3px double rgba(128,128,128,.6); padding-top: .5rem; font-weight: 600; }}
</style>"""


def text(given: object) -> str:
    """Return `given` as text that HTML shows and never executes; control characters spelled out."""
    return escape(wording.visible(str(given)), quote=True)


def plain(given: str) -> str:
    """Return `given` so that Markdown shows it as it stands."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])", r"\\\1", wording.visible(given))


def address(view: str, **parameters: str | None) -> str:
    """Return the address of a view, without the parameters that are None."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return "?" + urlencode({"view": view} | given)


def link(label: str, view: str, **parameters: str | None) -> str:
    """Return a link to a view, in the same tab."""
    return f'<a href="{escape(address(view, **parameters))}" target="_self">{text(label)}</a>'


def navigation(labels: Mapping[str, str], current: str, design: str | None) -> str:
    """Return the title and the row of links to the pages, in that order, with the current one marked;
    the links keep the design that the address names."""
    links = [
        f'<span aria-current="page">{text(label)}</span>'
        if name == current
        else link(label, name, design=design)
        for name, label in labels.items()
    ]
    title = link("Bargaining Arena", "board", design=design)
    return (
        f'<h1 class="ba-title">{title}</h1><nav class="ba-nav" aria-label="Pages">{"".join(links)}</nav>'
    )


def table(headings: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table; headings and rows are HTML already."""
    head = "".join(headings)
    return (
        f'<div class="ba-wide"><table class="ba-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def heading(label: str, hint: str = "", number: bool = False) -> str:
    """Return a table's heading cell."""
    return f'<th{_class(number)} title="{text(hint)}">{text(label)}</th>'


def cell(content: str, hint: str = "", number: bool = False) -> str:
    """Return a table's cell; `content` is HTML already."""
    return f'<td{_class(number)} title="{text(hint)}">{content}</td>'


def board_table(board: Board, lines: Sequence[tuple[Row, Panel]], database: str) -> str:
    """Return the board as a table: ranked agents, then a line, then the others with what they lack."""
    is_open = bool(lines) and lines[0][1] is lines[0][0].open
    role, other = board.role.value, board.role.other.value
    headings = [
        heading(
            "rank" if is_open else "rank (open)",
            "over open domains: the places that 95% confidence leaves, all pairs compared at once",
        ),
        heading(role),
        heading("score", f"mean over {other}s of the mean over domains", number=True),
        heading("95% interval"),
        *(_opponent_heading(name, place, other) for place, name in enumerate(board.opponents)),
        *([heading("deals", "agreements over scored matches", number=True)] if is_open else []),
        heading("matches", "scored of planned, all domains" if is_open else "scored, here", number=True),
        heading(""),
    ]
    above = [line for line in lines if line[0].rank is not None or not board.open_domains]
    below = [line for line in lines if line not in above]
    rows = [_board_row(board, row, panel, is_open) for row, panel in above]
    for number, (row, panel) in enumerate(below):
        first = ' class="line"' if number == 0 else ""
        rows.append(
            f"<tr{first}>{cell(wording.NONE, 'not ranked')}{_name_cell(row)}"
            f"{cell(wording.score(panel.pooled), number=True)}"
            f'<td colspan="{len(headings) - 4}">{text(wording.missing(row))}. To play it: '
            f"<code>{text(wording.fill_command(board, database))}</code></td>"
            f"{cell(_matches_link(board, row))}</tr>"
        )
    return table(headings, rows)


def conduct_table(board: Board, lines: Sequence[tuple[Row, Panel]]) -> str:
    """Return scores by opener, and faulty answers and forfeits where there are any, as a table."""
    headings = [
        heading(board.role.value),
        *(heading(name, number=True) for name in wording.conduct_headings(board)),
    ]
    rows = [
        f"<tr>{_name_cell(row)}"
        + "".join(cell(text(value), number=True) for value in wording.conduct(board, row))
        + "</tr>"
        for row, _ in lines
    ]
    return table(headings, rows)


def _board_row(board: Board, row: Row, panel: Panel, is_open: bool) -> str:
    gap = "" if row.complete else wording.missing(row)
    count = wording.matches(row) if is_open else f"{panel.pooled.cells:,}"
    if gap and row.bounds is not None and row.open_missing:
        gap += f"; with those at 0 and at 1: {row.bounds[0]:.3f} and {row.bounds[1]:.3f}"
    cells = [
        cell(text(wording.rank(row))),
        _name_cell(row),
        cell(f"<b>{wording.score(panel.pooled)}</b>", _basis(panel.pooled), number=True),
        cell(text(wording.interval(panel.pooled)), _basis(panel.pooled)),
        *(
            cell(_against(score, name in row.self_play), _hint(name, score, row), number=True)
            for name, score in panel.by_opponent.items()
        ),
        *([cell(wording.percent(row.deal_rate), number=True)] if is_open else []),
        cell(text(count) + ("&thinsp;!" if gap else ""), gap, number=True),
        cell(_matches_link(board, row)),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _opponent_heading(name: str, place: int, other: str) -> str:
    mark = f'<span class="ba-mark" style="color:{palette.colour(place)}">{palette.glyph(place)}</span>'
    return f'<th class="num" title="score against this {other}">{mark} {text(name)}</th>'


def _against(score: Estimate, itself: bool) -> str:
    value, _, half = wording.half_width(score).partition(" ")
    star = "*" if itself else ""
    return f'{text(value)}{star}<br><span class="soft">{text(half)}</span>'


def _hint(name: str, score: Estimate, row: Row) -> str:
    itself = "itself" if name in row.self_play else name
    return f"against {itself}: {wording.interval(score)}, {_basis(score)}"


def _basis(score: Estimate) -> str:
    return f"n = {score.cells:,} matches on {score.clusters:,} scenarios"


def _name_cell(row: Row) -> str:
    return f'<td class="name" title="version {text(row.player.version)}">{text(row.agent)}</td>'


def _matches_link(board: Board, row: Row) -> str:
    chosen = {board.role.value: row.player.version}
    return link("matches", "matches", design=board.design.hash, **chosen)


def _class(number: bool) -> str:
    return ' class="num"' if number else ""
