"""The sections of a report, each as HTML. Texts of users and models pass through `markup.text`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from leaderboard import board_words, comparison, signs, wording
from leaderboard.board import BoardPanel, Row
from leaderboard.figures import board as board_figure
from leaderboard.figures import intervals as interval_figure
from leaderboard.figures.svg import svg
from leaderboard.inference.compared import Comparison, ContrastPanel
from leaderboard.inference.guards import ALARM, LEAK, Guard, GuardResult
from leaderboard.markup import cell, heading, table, text
from leaderboard.tables import board as board_table
from leaderboard.tables import compare as compare_table
from leaderboard.tables import designs as design_table
from leaderboard.tables.cells import difference_cell, signed_ends
from leaderboard.verdicts import Verdict

if TYPE_CHECKING:
    from leaderboard.export.report import Report

_BOARD_WIDTH, _FOREST_WIDTH = 720, 620
_FOREST_LABELS = "Differences with 95% intervals; the table below has the same figures"


def board_section(report: "Report") -> Iterator[str]:
    """Yield figure and table over open domains, and what their figures are."""
    board = report.board
    lines = [(row, row.open) for row in board.rows]
    yield f'<p class="ba-note">{text(", ".join(board.open_domains) or "no open domain")}</p>'
    yield from _panel(report, lines, "board")
    yield f"<h3>{text(board_words.conduct_title(board))}</h3>"
    yield f'<div class="narrow">{board_table.conduct_table(board, lines)}</div>'
    notes = _notes(report, lines)
    yield f'<p class="ba-note">{"<br>".join(map(text, notes))}</p>'


def _panel(report: "Report", lines: Sequence[board_table.Line], name: str) -> Iterator[str]:
    board = report.board
    # No database: the place of a file on somebody's machine is nobody else's business.
    shown = board_table.BoardTable(board, lines, report.verdicts, report.badges, "")
    figure = board_figure.board_figure(board, lines, report.anchors, report.verdicts)
    if figure is None:
        yield "<p>No agent has a score yet: a score needs a match of every pair in every domain.</p>"
    else:
        alt = "Scores with 95% intervals, one row an agent; the table below has the same figures"
        yield f'<div class="figure">{svg(figure, name, alt, _BOARD_WIDTH)}</div>'
        reading = board_figure.reading(shown.trained, live=False)
        yield f'<p class="ba-note">{text(reading)}</p>'
    yield board_table.board_table(shown)


def _notes(report: "Report", lines: Sequence[tuple[Row, BoardPanel]]) -> list[str]:
    scores = [score for _, panel in lines for score in (panel.pooled, *panel.by_opponent.values())]
    scored = [panel.pooled for _, panel in lines if panel.pooled.cells]
    notes = [f"Intervals rest on {wording.scenarios(scored)}."] if scored else []
    notes += wording.notes(scores)
    if any(report.verdicts[row.player.version].judged for row, _ in lines):
        notes.append(f"Guards (ours): {signs.LEGEND}.")
    if any(row.self_play for row, _ in lines):
        notes.append("* against itself.")
    if (infeasible := board_words.infeasible(report.board)) is not None:
        notes.append(infeasible)
    return notes


def contrasts(report: "Report") -> Iterator[str]:
    """Yield the declared family and the other gains over base: figure, sentences, figures."""
    declared = [one for one in report.contrasts if one.declared]
    others = [one for one in report.contrasts if not one.declared]
    if declared:
        apart = (
            "; the held-out domains have a family of their own" if report.board.held_out_domains else ""
        )
        yield f"<h3>Declared before play: a family of m = {len(declared)}{apart}</h3>"
        yield from _compared(declared, "family")
    else:
        yield "<p>No contrast was declared before play: every comparison is exploratory.</p>"
    if others:
        yield "<h3>Other gains over base, not declared: exploratory</h3>"
        yield from _compared(others, "gains")


def _compared(found: Sequence[Comparison], name: str) -> Iterator[str]:
    estimates = {one.label: one.estimate for one in found}
    axis = interval_figure.span(list(estimates.values()))
    figure = interval_figure.interval_figure(estimates, axis, "difference in score")
    if figure is not None:
        yield f'<div class="figure forest">{svg(figure, name, _FOREST_LABELS, _FOREST_WIDTH)}</div>'
        yield f'<p class="ba-note">{text(interval_figure.READING)}</p>'
    yield _claims([(one, comparison.sentence(one)) for one in found])
    yield _contrast_table([(one.label, one) for one in found])
    yield _by_buyer(found)


def _claims(said: Sequence[tuple[ContrastPanel, str]]) -> str:
    """Return each contrast's sentence, marked where it is detectable, and what it may be taken for."""
    lines = []
    for panel, sentence in said:
        style = ' class="found"' if panel.detectable else ""
        lines.append(f'<li{style}>{text(sentence)}. <span class="ba-badge">{panel.kind}</span></li>')
    return f'<ul class="claims">{"".join(lines)}</ul>'


def _contrast_table(found: Sequence[tuple[str, ContrastPanel]]) -> str:
    headings = [
        heading("contrast", term="contrast"),
        heading("difference", number=True),
        heading("95% interval, t", number=True, term="interval"),
        heading("bootstrap", number=True, term="bootstrap"),
        heading("p", "not corrected", number=True, term="p"),
        heading("Holm p", number=True, term="Holm"),
        heading("n/G", "cells that all completed, and scenarios", number=True),
        heading("dropped", "planned cells that not all completed", number=True),
        heading("could detect", number=True, term="minimal detectable effect"),
    ]
    return table(headings, [_contrast_row(label, panel) for label, panel in found])


def _contrast_row(label: str, panel: ContrastPanel) -> str:
    found = panel.estimate
    value = wording.signed(found.value)
    numbers = (
        f"<b>{value}</b>" if panel.detectable else value,
        text(signed_ends(found)),
        text(wording.signed_interval(panel.bootstrap_interval)),
        text(wording.p_value(panel.p, "")),
        text(wording.p_value(panel.adjusted_p, "")),
        f"{found.cells:,}/{found.clusters:,}",
        f"{panel.dropped:,}",
        wording.NONE if panel.mde is None else f"{panel.mde:.3f}",
    )
    cells = "".join(cell(number, number=True) for number in numbers)
    return f'<tr><td class="name">{text(label)}</td>{cells}</tr>'


def _by_buyer(found: Sequence[Comparison]) -> str:
    """Return each contrast against each buyer: where they are far apart, it lives on one of them."""
    buyers = list(found[0].by_buyer)
    if len(buyers) < 2:
        return ""
    headings = [heading("against each buyer"), *(heading(name, number=True) for name in buyers)]
    rows = [
        f'<tr><td class="name">{text(one.label)}</td>'
        + "".join(difference_cell(part) for part in one.by_buyer.values())
        + "</tr>"
        for one in found
    ]
    return f'<div class="narrow">{table(headings, rows)}</div>'


def guards(report: "Report") -> Iterator[str]:
    """Yield pooling alarms, then the four guards of every seller, with the figures behind each."""
    lines = [(row, report.verdicts[row.player.version]) for row in report.board.rows]
    trained = [(row, verdict) for row, verdict in lines if verdict.split and verdict.split.base]
    if trained:
        yield "<h3>Does a gain live on one buyer?</h3>"
    for row, verdict in trained:
        assert verdict.split is not None
        lives_on = compare_table.lives_on(verdict.split)
        yield f'<div class="alarm"><b>{text(row.agent)}</b> {lives_on}</div>'
    yield "<h3>Guards and limits (ours)</h3>"
    if any(verdict.judged for _, verdict in lines):
        yield _guard_table(lines)
        yield f'<p class="ba-note">{text(signs.LEGEND)}. Few matches cannot pass.</p>'
    else:
        yield f"<p>No guard of any seller is judged:</p>{_unjudged(lines)}"


def verdict_lines(report: "Report") -> Iterator[str]:
    """Yield what came of the contrasts, alarms and guards, a line each, as text."""
    declared = [one for one in report.contrasts if one.declared]
    found = [one.label for one in declared if one.detectable]
    if declared:
        which = f": {', '.join(found)}" if found else ""
        kinds = Counter(one.kind for one in declared)
        reused, unplayed = kinds["exploratory"], kinds["not played"]
        but = f" {reused} of the {len(declared)} rest on reused matches: exploratory." if reused else ""
        but += f" {unplayed} of the {len(declared)} not played." if unplayed else ""
        yield f"Declared contrasts detectable after Holm: {len(found)} of {len(declared)}{which}.{but}"
    verdicts = [(row.agent, report.verdicts[row.player.version]) for row in report.board.rows]
    if any(verdict.split is not None and verdict.split.base for _, verdict in verdicts):
        raised = [name for name, verdict in verdicts if verdict.alarm]
        yield f"Pooling alarms: {', '.join(raised) or 'none'}."
    if any(verdict.judged for _, verdict in verdicts):
        failed = {
            name: [sign.name for sign in signs.guards(verdict) if sign.result == GuardResult.FAIL]
            for name, verdict in verdicts
        }
        told = [f"{name} ({', '.join(which)})" for name, which in failed.items() if which]
        yield f"Guards failed: {', '.join(told) or 'none'}."


def _unjudged(lines: Sequence[tuple[Row, Verdict]]) -> str:
    """Return why no guard came to a result: each reason once."""
    reasons: dict[tuple[str, str], int] = {}
    for _, verdict in lines:
        for guard in verdict.guards:
            reason = (guard.name, guard.note or "too few matches for its limit")
            reasons[reason] = reasons.get(reason, 0) + 1
    items = "".join(
        f"<li>{text(name)}: {text(why)} ({text(wording.counted(count, 'seller'))})</li>"
        for (name, why), count in reasons.items()
    )
    return f"<ul>{items}</ul>"


def _guard_table(lines: Sequence[tuple[Row, Verdict]]) -> str:
    headings = [heading("seller")]
    headings += [heading(guard.name, guard.note, term="guard") for guard in lines[0][1].guards]
    rows = []
    for row, verdict in lines:
        judged = zip(verdict.guards, signs.guards(verdict), strict=True)
        cells = "".join(_guard_cell(guard, sign) for guard, sign in judged)
        rows.append(f'<tr><td class="name">{text(row.agent)}</td>{cells}</tr>')
    return table(headings, rows)


def _guard_cell(guard: Guard, sign: signs.Sign) -> str:
    # What the leak is stands in the guard's entry, and what the alarm says above: on hover is enough.
    known = guard.value is not None and guard.name in (LEAK, ALARM)
    found = signs.guard_figures(replace(guard, note="") if known else guard)
    return (
        f'<td class="words" title="{text(sign.found)}"><span class="ba-sign" '
        f'style="color:{sign.colour}">{sign.mark}</span> {text(sign.result)}<br>'
        f'<span class="soft">{text(found)}</span></td>'
    )


def held_out(report: "Report") -> Iterator[str]:
    """Yield the panel of the held-out domains, and the same contrasts there: a family of its own."""
    lines = [(row, row.held_out) for row in report.board.rows if row.held_out is not None]
    yield f'<p class="ba-note">{text(", ".join(report.board.held_out_domains))}</p>'
    yield from _panel(report, lines, "held-out-board")
    notes = _notes(report, lines)
    yield f'<p class="ba-note">{"<br>".join(map(text, notes))}</p>'
    found = [(one, one.held_out, comparison.held_out_sentence(one)) for one in report.contrasts]
    panels = [(one.label, panel) for one, panel, _ in found if panel is not None]
    if panels:
        yield "<h3>The same contrasts there</h3>"
        yield _claims([(panel, said) for _, panel, said in found if panel is not None and said])
        yield _contrast_table(panels)


def deviations(report: "Report") -> Iterator[str]:
    """Yield the log, oldest entry first."""
    if report.deviations:
        yield design_table.table(design_table.log(report.deviations), design_table.LOG)
    else:
        yield "<p>Nothing is logged.</p>"
    yield '<p class="ba-note">The log is append-only: no entry is ever changed or taken out.</p>'


def design(report: "Report") -> Iterator[str]:
    """Yield what was frozen before play."""
    frozen = report.stored.design
    analysis = design_table.analysis_of(frozen)
    yield (
        f"<p><code>{frozen.hash}</code>, frozen {text(wording.when(report.stored.created_at))}.<br>"
        f"{text(design_table.rules(frozen))}<br>Prints the {analysis.interval} interval; p is always "
        "the t statistic's.</p>"
    )
    tried = design_table.arms_tried(frozen, report.every)
    families = ", ".join(analysis.training_families)
    for title, rows, fields in (
        ("Sellers", design_table.sellers(frozen), design_table.SELLERS),
        ("Buyers", design_table.buyers(frozen, report.audits), design_table.BUYERS),
        ("Domains", design_table.domains(frozen), design_table.DOMAINS),
        ("Declared contrasts", design_table.contrasts(frozen), design_table.CONTRASTS),
        ("Limits (ours)", design_table.limits(frozen), design_table.LIMITS),
    ):
        yield f"<h3>{title}</h3>"
        yield design_table.table(rows, fields) if rows else "<p>None.</p>"
        if title == "Sellers" and tried:
            yield f'<p class="ba-note">{text("; ".join(tried))}, over all designs of the record.</p>'
        if title == "Buyers" and families:
            yield f'<p class="ba-note">Arms were trained against: {text(families)}</p>'
