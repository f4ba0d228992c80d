"""The board as a table: a row an agent, every number with its n and interval on hover."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leaderboard import board_words, signs, wording
from leaderboard.board import MISSING_LIMIT, Board, BoardPanel, Row
from leaderboard.figures import palette
from leaderboard.inference.badges import Badge
from leaderboard.inference.statistic import Estimate
from leaderboard.markup import cell, heading, link, table, text
from leaderboard.tables.cells import cost_cell, n_of, rate_cell, stacked
from leaderboard.verdicts import Verdict

Line = tuple[Row, BoardPanel]


@dataclass(frozen=True)
class BoardTable:
    """What the table is drawn from. `lines` are the agents to show with the panel that is shown."""

    board: Board
    lines: Sequence[Line]
    verdicts: Mapping[str, Verdict]
    """By version."""
    badges: Mapping[str, tuple[Badge, ...]]
    """By the buyer's name."""
    database: str

    @property
    def is_open(self) -> bool:
        """Whether the open domains are shown; verdicts are over those."""
        return bool(self.lines) and self.lines[0][1] is self.lines[0][0].open

    def verdict(self, row: Row) -> Verdict:
        """Return what is said of a row."""
        return self.verdicts[row.player.version]

    @property
    def trained(self) -> bool:
        """Whether any agent has a gain to show."""
        return self.is_open and any(self.verdict(row).gain for row, _ in self.lines)

    @property
    def judged(self) -> bool:
        """Whether any guard of any agent came to a result."""
        return self.is_open and any(self.verdict(row).judged for row, _ in self.lines)

    @property
    def priced(self) -> bool:
        """Whether any agent's cost is known."""
        return self.is_open and any(self.verdict(row).cost.cells for row, _ in self.lines)


def board_table(shown: BoardTable) -> str:
    """Return the HTML: ranked agents, then a line, then the others with what they lack."""
    headings = list(_headings(shown))
    above = [line for line in shown.lines if line[0].rank is not None or not shown.board.open_domains]
    below = [line for line in shown.lines if line not in above]
    rows = [f"<tr>{''.join(_cells(shown, row, panel))}</tr>" for row, panel in above]
    if below:
        limit = f"Not ranked: more than {MISSING_LIMIT:.0%} of the open matches are missing"
        rows.append(f'<tr class="line"><td colspan="{len(headings)}">{limit}</td></tr>')
    rows += [_incomplete(shown, row, panel, len(headings)) for row, panel in below]
    return table(headings, rows)


def _headings(shown: BoardTable) -> Iterator[str]:
    board = shown.board
    role, other = board.role.value, board.role.other.value
    ranks = "over open domains: the places that 95% confidence leaves, all pairs compared at once"
    yield heading("rank" if shown.is_open else "rank (open)", ranks, term="rank interval")
    yield heading(role)
    yield heading("score", f"mean over {other}s of the mean over domains", number=True, term="score")
    if shown.trained:
        yield heading("gain over base", "on the cells that both completed", number=True, term="gain")
    for place, name in enumerate(board.opponents):
        yield _opponent_heading(name, place, other, shown.badges.get(name, ()))
    if shown.trained:
        yield heading(
            "split moved?", "whether the gain lives on one buyer", term="pooling alarm", kind="mid"
        )
    if shown.is_open:
        yield heading("deals", "agreements over scored matches", number=True, term="deal rate")
    if shown.judged:
        yield heading("guards", "against hollow gains; limits are ours", term="guard", kind="mid")
    if shown.is_open:
        yield heading("faulty turns", "turns with a faulty answer", number=True, term="faulty turn")
    if shown.priced:
        yield heading("cost a match", f"US dollars of the {role}'s own calls", number=True)
    planned = "scored of planned, all domains shown" if shown.is_open else "scored, here"
    yield heading("matches", planned, number=True)


def _cells(shown: BoardTable, row: Row, panel: BoardPanel) -> Iterator[str]:
    verdict = shown.verdict(row)
    yield cell(text(board_words.rank(row)), kind="rank")
    yield _name(shown.board, row)
    yield _score(panel.pooled, strong=True)
    if shown.trained:
        yield _gain(verdict, shown.board.design.hash)
    for name, score in panel.by_opponent.items():
        yield _against(name, score, row)
    if shown.trained:
        yield _moved(verdict)
    if shown.is_open:
        yield rate_cell(verdict.deals, small=False)
    if shown.judged:
        yield cell(_guards(verdict), kind="mid")
    if shown.is_open:
        yield rate_cell(verdict.faulty, "turns", small=False)
    if shown.priced:
        yield cost_cell(verdict.cost)
    yield _matches(shown, row, panel)


def _opponent_heading(name: str, place: int, other: str, badges: Sequence[Badge]) -> str:
    mark = f'<span class="ba-mark" style="color:{palette.colour(place)}">{palette.glyph(place)}</span>'
    marks = "".join(
        f'<br><span class="ba-badge" title="{text(badge.why)}">{text(badge.name)}</span>'
        for badge in badges
    )
    return f'<th class="num" title="score against this {other}">{mark} {text(name)}{marks}</th>'


def _name(board: Board, row: Row) -> str:
    chosen = {board.role.value: row.player.version}
    name = link(row.agent, "matches", design=board.design.hash, **chosen)
    return f'<td class="name" title="version {text(row.player.version)}: its matches">{name}</td>'


def _score(found: Estimate, strong: bool = False) -> str:
    """Return a pooled score's cell; where there is none, why stands in it."""
    value = wording.score(found)
    shown = f"<b>{value}</b>" if strong else value
    return stacked(shown, wording.interval(found), hint=n_of(found))


def _gain(verdict: Verdict, design: str) -> str:
    found = verdict.gain
    if found is None:
        return cell(wording.NONE, "no base among the sellers", number=True)
    (arm,), (base,) = found.contrast.plus, found.contrast.minus
    value = link(wording.signed(found.estimate.value), "compare", design=design, a=arm, b=base)
    shown = f"<b>{value}</b>" if signs.gain_detectable(verdict) else value
    hint = f"{found.label}: n = {found.cells:,} cells on {found.estimate.clusters:,} scenarios"
    hint += f", {found.dropped:,} dropped" if found.dropped else ""
    hint += f"; {found.kind}: {found.why}" if found.why else ""
    small = (wording.signed_interval(found.interval), signs.gain_p(verdict))
    return stacked(shown, *small, hint=hint)


def _against(name: str, score: Estimate, row: Row) -> str:
    value, _, half = wording.half_width(score).partition(" ")
    itself = name in row.self_play
    hint = f"against {'itself' if itself else name}: {wording.interval(score)}, {n_of(score)}"
    return stacked(text(value) + ("*" if itself else ""), half, hint=hint)


def _moved(verdict: Verdict) -> str:
    found = signs.moved(verdict)
    if verdict.split is None or found is None:
        return cell(wording.NONE, kind="mid")
    label, estimate, adjusted_p = found
    word = f"{signs.ALARM} moved" if verdict.alarm else "moved" if adjusted_p < 0.05 else "no"
    style = ' class="ba-alarm"' if verdict.alarm else ""
    general = '<br><span class="ba-badge">general gain</span>' if verdict.split.general else ""
    hint = (
        f"{label}: {wording.signed(estimate.value)} "
        f"{wording.signed_interval(estimate.interval())} against the base's, "
        f"{wording.p_value(adjusted_p, 'Holm p')}, {n_of(estimate)}. {verdict.split.why}"
    )
    value = wording.signed(estimate.value)
    shown = f'<span{style}>{word}</span><br><span class="soft">{value}</span>{general}'
    return cell(shown, hint, kind="mid")


def _guards(verdict: Verdict) -> str:
    return "&nbsp;".join(
        f'<span class="ba-sign" style="color:{sign.colour}" '
        f'title="{text(f"{sign.name}: {sign.result}. {sign.found}")}">{sign.mark}</span>'
        for sign in (*signs.guards(verdict), *signs.alarm(verdict))
    )


def _matches(shown: BoardTable, row: Row, panel: BoardPanel) -> str:
    count = board_words.matches(row) if shown.is_open else f"{panel.pooled.cells:,}"
    gap = "" if row.complete else board_words.missing(row)
    if gap and row.bounds is not None and row.open_missing:
        gap += f"; with those at 0 and at 1: {row.bounds[0]:.3f} and {row.bounds[1]:.3f}"
    return cell(text(count) + ("&thinsp;!" if gap else ""), gap, number=True)


def _incomplete(shown: BoardTable, row: Row, panel: BoardPanel, columns: int) -> str:
    """Return a row below the line: what the agent lacks, and the command that fills it."""
    command = board_words.fill_command(shown.board, shown.database)
    return (
        f"<tr>{cell(wording.NONE, 'not ranked')}{_name(shown.board, row)}"
        f"{_score(panel.pooled)}"
        f'<td colspan="{columns - 3}">{text(board_words.missing(row))}. To play it: '
        f"<code>{text(command)}</code></td></tr>"
    )


def conduct_table(board: Board, lines: Sequence[Line]) -> str:
    """Return scores by opener, and faulty answers and forfeits where there are any, as a table."""
    headings = [
        heading(board.role.value),
        *(heading(name, number=True) for name in board_words.conduct_headings(board)),
    ]
    rows = [
        f"<tr>{_name(board, row)}"
        + "".join(cell(text(value), number=True) for value in board_words.conduct(board, row))
        + "</tr>"
        for row, _ in lines
    ]
    return table(headings, rows)
