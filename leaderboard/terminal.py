"""The board in a terminal: Rich tables that read the same without colour and in a file."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from leaderboard import board_words, signs, wording
from leaderboard.board import MISSING_LIMIT, Board, BoardPanel, Row
from leaderboard.inference.badges import Badge
from leaderboard.inference.statistic import Estimate
from leaderboard.verdicts import Verdict

PLAIN_WIDTH = 100
"""Columns where the output is no terminal."""
_NAME_WIDTH = 22
_CELL_WIDTH = 13
_INTERVAL_WIDTH = 15
_ASCII = str.maketrans(
    {"├": "|", "─": "-", "●": "o", "┤": "|", "±": "+-", wording.NONE: "-"}
    | {signs.PASS: "+", signs.FAIL: "x", signs.NOT_JUDGED: "?", signs.ALARM: "!"}
)


class Axis:
    """One score axis, shared by every bar."""

    def __init__(self, estimates: Sequence[Estimate], width: int) -> None:
        ends = [
            end
            for estimate in estimates
            if estimate.value is not None
            for end in estimate.interval() or (estimate.value, estimate.value)
        ]
        # Out to the next twentieth, and never of no width.
        self.low = floor(max(0.0, min(ends, default=0.0)) * 20) / 20
        self.high = max(ceil(min(1.0, max(ends, default=1.0)) * 20) / 20, self.low + 0.05)
        self.width = width

    def bar(self, estimate: Estimate) -> str:
        """Return the interval as a bar with a dot at the score; the dot alone without one."""
        line = [" "] * self.width
        if estimate.value is None:
            return "".join(line)
        if (found := estimate.interval()) is not None:
            first, last = self._place(found[0]), self._place(found[1])
            line[first : last + 1] = "─" * (last + 1 - first)
            line[first], line[last] = "├", "┤"
        line[self._place(estimate.value)] = "●"
        return "".join(line)

    def heading(self) -> str:
        """Return the axis' ends, flush left and right."""
        low, high = f"{self.low:.2f}", f"{self.high:.2f}"
        return low + high.rjust(self.width - len(low))

    def _place(self, value: float) -> int:
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * (self.width - 1))


def console() -> Console:
    """Return a console for standard output: as wide as the terminal, or PLAIN_WIDTH in a file."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


def render(
    board: Board,
    frozen: str,
    database: str | None,
    out: Console,
    verdicts: Mapping[str, Verdict],
    badges: Mapping[str, tuple[Badge, ...]],
    caveats: Sequence[str] = (),
) -> None:
    """Print the board.

    `frozen` is when the design was stored; `database` as the user gave it; `verdicts` by version, and
    `badges` by the buyer's name; `caveats` are what was not as declared.
    """
    panels: list[tuple[str, list[_Line]]] = [
        (
            wording.counted(len(board.open_domains), "open domain"),
            [(row, row.open) for row in _listed(board)],
        )
    ]
    if board.held_out_domains:
        held_out = [(row, row.held_out) for row in _listed(board) if row.held_out is not None]
        panels.append((f"Held out: {', '.join(board.held_out_domains)}", held_out))
    axis = _axis(board, [panel.pooled for _, lines in panels for _, panel in lines], out)
    parts: list[RenderableType] = [*_head(board, frozen), *map(Text, caveats)]
    for title, lines in panels:
        if any(panel.pooled.value is not None for _, panel in lines):
            parts += _panel(board, title, lines, axis, out.width, badges)
        if lines and lines[0][1] is lines[0][0].open:
            parts += _verdicts(board, [row for row, _ in lines], verdicts)
    parts += _unranked(board)
    parts += [Text(note, style="dim") for note in _badge_notes(board, badges)]
    parts += [Text(note, style="dim") for note in _footnotes(board, database)]
    with out.capture() as capture:
        out.print(Group(*parts))
    text = capture.get()
    if out.options.ascii_only:
        text = text.translate(_ASCII)
    out.file.write(text.encode(out.encoding, "backslashreplace").decode(out.encoding))


_Line = tuple[Row, BoardPanel]


def _listed(board: Board) -> list[Row]:
    """Return who stands above the line: the ranked, or everyone where no domain is open."""
    return [row for row in board.rows if row.rank is not None or not board.open_domains]


def _axis(board: Board, pooled: Sequence[Estimate], out: Console) -> Axis:
    rank = max((len(board_words.rank(row)) for row in board.rows), default=4)
    count = max(len(board_words.matches(row)) for row in board.rows)
    taken = max(rank, 4) + _name_width(board) + 5 + _INTERVAL_WIDTH + 6 + max(count, 7) + 6
    return Axis(pooled, max(12, min(48, out.width - taken)))


def _head(board: Board, frozen: str) -> Iterator[Text]:
    sellers = wording.counted(len(board.design.sellers), "seller")
    buyers = wording.counted(len(board.design.buyers), "buyer")
    scenarios = wording.counted(board.design.scenarios, "scenario")
    yield Text(f"Standings of {board.role.value}s", style="bold")
    yield Text(
        f"Design {board.design.hash}, frozen {wording.when(frozen)}: {sellers} x {buyers}, "
        f"{scenarios} a domain"
    )
    yield Text(board_words.progress(board))
    if (line := board_words.infeasible(board)) is not None:
        yield Text(line)


def _panel(
    board: Board,
    title: str,
    lines: Sequence[_Line],
    axis: Axis,
    width: int,
    badges: Mapping[str, tuple[Badge, ...]],
) -> Iterator[RenderableType]:
    """Yield one set of domains: the pooled table, then a column an opponent."""
    pooled = [panel.pooled for _, panel in lines]
    single = [estimate for _, panel in lines for estimate in panel.by_opponent.values()]
    yield Text()
    yield Text(f"{title}: score [95% interval], {wording.scenarios(pooled)}", style="bold")
    yield _pooled(board, lines, axis)
    yield Text()
    other = board.role.other.value
    yield Text(f"By {other}: score ± half its 95% interval, {wording.scenarios(single)}")
    step = max(1, (width - _name_width(board) - 1) // (_CELL_WIDTH + 1))
    for start in range(0, len(board.opponents), step):
        yield _by_opponent(board, lines, board.opponents[start : start + step], badges)
    if lines[0][1] is lines[0][0].open:
        yield Text()
        yield Text(board_words.conduct_title(board))
        yield _conduct(board, lines)
    for note in wording.notes([*pooled, *single]):
        yield Text(note, style="dim")


def _pooled(board: Board, lines: Sequence[_Line], axis: Axis) -> Table:
    is_open = lines[0][1] is lines[0][0].open
    table = _table()
    if is_open:
        table.add_column("rank", no_wrap=True)
    table.add_column(board.role.value, width=_name_width(board), overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("95% interval", width=_INTERVAL_WIDTH)
    table.add_column(axis.heading(), no_wrap=True, width=axis.width)
    if is_open:
        table.add_column("deals", justify="right", no_wrap=True)
    table.add_column("matches", justify="right", no_wrap=True)
    for row, panel in lines:
        cells = [
            _name(row),
            Text(wording.score(panel.pooled), style="bold"),
            # Why there is none stands below the table.
            Text(wording.NONE if panel.pooled.problem else wording.interval(panel.pooled)),
            Text(axis.bar(panel.pooled), style="cyan"),
        ]
        if is_open:
            rank, deals = Text(board_words.rank(row)), Text(wording.percent(row.deal_rate))
            cells = [rank, *cells, deals, Text(board_words.matches(row))]
        else:
            cells.append(Text(f"{panel.pooled.cells:,}"))
        table.add_row(*cells)
    return table


def _by_opponent(
    board: Board,
    lines: Sequence[_Line],
    names: Sequence[str],
    badges: Mapping[str, tuple[Badge, ...]],
) -> Table:
    table = _table()
    table.add_column(board.role.value, width=_name_width(board), overflow="fold")
    for name in names:
        marks = signs.badge_marks(badges.get(name, ()))
        table.add_column(_heading(f"{name} {marks}".strip()), width=_CELL_WIDTH, overflow="fold")
    for row, panel in lines:
        cells = [
            wording.half_width(panel.by_opponent[name]) + ("*" if name in row.self_play else "")
            for name in names
        ]
        table.add_row(_name(row), *map(Text, cells))
    return table


def _conduct(board: Board, lines: Sequence[_Line]) -> Table:
    table = _table()
    table.add_column(board.role.value, width=_name_width(board), overflow="fold")
    for name in board_words.conduct_headings(board):
        table.add_column(_heading(name), justify="right", max_width=_CELL_WIDTH, overflow="fold")
    for row, _ in lines:
        table.add_row(_name(row), *map(Text, board_words.conduct(board, row)))
    return table


def _verdicts(
    board: Board, rows: Sequence[Row], verdicts: Mapping[str, Verdict]
) -> Iterator[RenderableType]:
    """Yield whether what the scores say is real: gains, splits and guards, where there are any."""
    said = [verdicts[row.player.version] for row in rows if row.player.version in verdicts]
    if not any(verdict.gain is not None or verdict.judged for verdict in said):
        return
    yield Text()
    title = "Gain over base [95% interval], how far its split moved, guards (ours), faulty turns"
    yield Text(title, style="bold")
    table = _table()
    table.add_column(board.role.value, width=_name_width(board), overflow="fold")
    for heading in ("gain", "95% interval", "p", "split moved", "guards", "faults", "cost"):
        table.add_column(
            heading, no_wrap=heading != "p", justify="right" if heading == "gain" else "left"
        )
    for row, verdict in zip(rows, said, strict=True):
        found = verdict.gain
        gain = wording.NONE if found is None else wording.signed(found.estimate.value)
        bold = "bold" if signs.gain_detectable(verdict) else ""
        table.add_row(
            _name(row),
            Text(gain, style=bold),
            Text(wording.NONE if found is None else wording.signed_interval(found.interval)),
            Text(signs.gain_p_briefly(verdict)),
            Text(signs.moved_briefly(verdict)),
            Text(" ".join(sign.mark for sign in signs.guards(verdict))),
            Text(wording.percent(verdict.faulty.value)),
            Text(wording.dollars(verdict.cost.value)),
        )
    yield table
    names = ", ".join(sign.short for sign in signs.guards(said[0]))
    yield Text(f"Guards, in this order: {names}. {signs.LEGEND}.", style="dim")
    yield Text("p: Holm's over the declared family, or expl., exploratory.", style="dim")
    for row, verdict in zip(rows, said, strict=True):
        for sign in signs.alarm(verdict):
            yield Text(f"{sign.mark} {wording.visible(row.agent)}: {sign.found}")


def _badge_notes(board: Board, badges: Mapping[str, tuple[Badge, ...]]) -> Iterator[str]:
    for name in board.opponents:
        for badge in badges.get(name, ()):
            yield f"[{badge.short}] {wording.visible(name)}, {badge.name}: {badge.why}"


def _unranked(board: Board) -> Iterator[RenderableType]:
    """Yield those below the line, with what they lack."""
    rows = [row for row in board.rows if row.rank is None]
    if not rows:
        return
    yield Text()
    if not board.open_domains:
        yield Text("Not ranked: ranks are over open domains, and this design has none.", style="bold")
        return
    limit = f"{MISSING_LIMIT:.0%}"
    yield Text(f"Not ranked: more than {limit} of the open matches are missing", style="bold")
    table = _table()
    for heading in (board.role.value, "score", "95% interval", "what is missing"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        pooled = row.open.pooled
        shown = wording.NONE if pooled.value is None else wording.interval(pooled)
        table.add_row(_name(row), wording.score(pooled), Text(shown), Text(board_words.missing(row)))
    yield table


def _footnotes(board: Board, database: str | None) -> Iterator[str]:
    for row in board.rows:
        if row.rank is not None and not row.complete:
            text = f"{wording.visible(row.agent)}: {board_words.missing(row)}"
            if row.bounds is not None and row.open_missing:
                low, high = row.bounds
                text += f"; with those at 0 and at 1 it would score {low:.3f} and {high:.3f}"
            yield text
    if any(not row.complete for row in board.rows):
        yield f"To play what is missing: {board_words.fill_command(board, database)}"
    if any(row.self_play for row in _listed(board)):
        yield "* against itself"
    if any(row.rank is not None for row in board.rows):
        yield "Rank: the places that 95% confidence leaves, all pairs compared at once."


def _name(row: Row) -> Text:
    return Text(wording.visible(row.agent))


def _name_width(board: Board) -> int:
    longest = max(cell_len(wording.visible(row.agent)) for row in board.rows)
    return max(len(board.role.value), min(longest, _NAME_WIDTH))


def _heading(name: str) -> Text:
    """Return a column's name, broken after an underscore or hyphen where it is too wide."""
    text = wording.visible(name)
    if cell_len(text) > _CELL_WIDTH:
        breaks = [at + 1 for at, char in enumerate(text[:_CELL_WIDTH]) if char in "_-@ "]
        if breaks:
            text = f"{text[: breaks[-1]]}\n{text[breaks[-1] :]}"
    return Text(text)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
