"""Two sellers' comparison in HTML: what can be quoted, what it rests on, and where it comes from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from arena.store import Listed
from leaderboard import comparison, signs, wording
from leaderboard.inference.compared import Comparison, ContrastPanel
from leaderboard.inference.gaps import Gap
from leaderboard.inference.splits import ArmSplit
from leaderboard.inference.statistic import Estimate
from leaderboard.inference.value import Part, Share, Value
from leaderboard.markup import cell, heading, link, table, text
from leaderboard.tables.cells import difference_cell, signed_ends, stacked
from scenarios.scenario import Role

STYLE = """<style>
.ba-claim { font-size: 1.25rem; line-height: 1.5; margin: .3rem 0 .4rem 0; overflow-wrap: anywhere; }
.ba-facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.6rem, 1fr));
  gap: .4rem 1rem; margin: .5rem 0; }
.ba-facts > .wide { grid-column: 1 / -1; }
.ba-facts .soft { opacity: .65; font-size: .8rem; }
</style>"""
"""What these pages need beside `markup.STYLE`."""


class Line(NamedTuple):
    """A difference, of what, and under which heading."""

    part: str
    of: str
    estimate: Estimate


def claim(found: Comparison, family: int) -> str:
    """Return the contrast in one sentence, and what it may be taken for.

    `family` is Holm's m.
    """
    why = found.why
    if found.confirmatory:
        why = (
            "declared before play, on matches begun after the design was frozen; Holm over a family "
            f"of {family:,}"
        )
    elif found.cells:
        why += ": a hint to be tested anew, not a finding"
    return (
        f'<div class="ba-claim">{text(comparison.sentence(found))}.</div>'
        f'<div class="ba-soft"><span class="ba-badge">{found.kind}</span> {text(why)}.</div>'
    )


def facts(panel: ContrastPanel, printed: str, advice: str = "") -> str:
    """Return what the sentence rests on: both intervals, p, n, and what could have been detected.

    `printed` is the interval that the design declares: t or bootstrap.
    """
    shown = [
        ("difference", wording.signed(panel.estimate.value)),
        (_interval_name("t", printed), wording.signed_interval(panel.t_interval)),
        (_interval_name("bootstrap", printed), wording.signed_interval(panel.bootstrap_interval)),
        ("p, not corrected", wording.p_value(panel.p)),
        ("Holm p", _adjusted(panel)),
        ("cells / scenarios", f"{panel.cells:,} / {panel.estimate.clusters:,}"),
        ("cells dropped", f"{panel.dropped:,}"),
        ("detectable, 80% power", wording.NONE if panel.mde is None else f"{panel.mde:.3f} or more"),
    ]
    if panel.estimate.problem:
        shown.append(("no interval", panel.estimate.problem))
    facts = "".join(_fact(*pair) for pair in shown)
    if advice:
        facts += _fact("what would settle it", advice, ' class="wide"')
    return f'<div class="ba-facts">{facts}</div>'


def _interval_name(kind: str, printed: str) -> str:
    return f"95% interval, {kind}" + (" (the design's)" if kind == printed else "")


def _adjusted(panel: ContrastPanel) -> str:
    return wording.p_value(panel.adjusted_p) if panel.declared else "not in the family"


def _fact(label: str, shown: str, style: str = "") -> str:
    return f'<div{style}><div class="soft">{text(label)}</div>{text(shown)}</div>'


def lines(found: Comparison, parts: Value) -> list[Line]:
    """Return every difference behind a comparison over open domains."""
    return [
        Line("all open domains", "all", found.estimate),
        *(Line("by buyer", name, one) for name, one in found.by_buyer.items()),
        *(Line("by domain", name, one) for name, one in found.by_domain.items()),
        *(Line("leaving one domain out", name, one) for name, one in found.leave_one_out.items()),
        *(Line("where the gain comes from", part.label, part.estimate) for part in parts.parts),
        Line("the buyers' utility", "buyers", parts.buyers_share.estimate),
        Line("welfare", "utility", parts.welfare),
        Line("welfare", "advantage", parts.welfare_advantage),
    ]


def lines_table(shown: Sequence[Line]) -> str:
    """Return the differences with their intervals, p and n as a table."""
    headings = [
        heading("part"),
        heading("of"),
        heading("difference", number=True),
        heading("95% interval (t)", number=True),
        heading("p", "not corrected by Holm", number=True),
        heading("cells / scenarios", number=True),
    ]
    rows, before = [], ""
    for line in shown:
        rows.append(f"<tr>{''.join(_line(line, line.part != before))}</tr>")
        before = line.part
    return table(headings, rows)


def _line(line: Line, first: bool) -> Iterator[str]:
    found = line.estimate
    yield cell(text(line.part) if first else "")
    yield cell(text(line.of))
    yield cell(wording.signed(found.value), number=True)
    yield cell(text(signed_ends(found)), number=True)
    yield cell(text(wording.p_value(found.p, "")), number=True)
    yield cell(f"{found.cells:,} / {found.clusters:,}", number=True)


def lines_rows(shown: Sequence[Line]) -> list[dict[str, object]]:
    """Return the same for a download."""
    rows: list[dict[str, object]] = []
    for line in shown:
        low, high = line.estimate.interval() or (None, None)
        rows.append(
            {
                "part": line.part,
                "of": line.of,
                "difference": line.estimate.value,
                "low": low,
                "high": high,
                "p": line.estimate.p,
                "cells": line.estimate.cells,
                "scenarios": line.estimate.clusters,
                "problem": line.estimate.problem,
            }
        )
    return rows


def value_table(parts: Value) -> str:
    """Return the parts of a gain, which sum to it, with their shares of it."""
    headings = [
        heading("part"),
        heading("difference", number=True),
        heading("share of the gain", "where the gain's interval excludes zero", number=True),
        heading("cells in it", number=True),
    ]
    whole = Part("all: the gain", parts.gain, None, parts.gain.cells)
    rows = [_value_row(part) for part in parts.parts] + [_value_row(whole, strong=True)]
    return table(headings, rows)


def _value_row(part: Part, strong: bool = False) -> str:
    label = text(part.label)
    return (
        f"<tr>{cell(f'<b>{label}</b>' if strong else label)}"
        f"{difference_cell(part.estimate, strong=strong)}"
        f"{cell(text(wording.NONE if strong else _share(part.share)), number=True)}"
        f"{cell(f'{part.cells:,}', number=True)}</tr>"
    )


def lives_on(found: ArmSplit) -> str:
    """Say whether a gain over base lives on one buyer: alarm or general gain, and why."""
    style = "ba-alarm" if found.alarm else "ba-badge"
    return f'<div><span class="{style}">{signs.reach(found)}</span> {text(found.why)}.</div>'


def whose(parts: Value) -> list[str]:
    """Say whose loss the gain is, and what became of welfare, in sentences."""
    said = []
    lost = parts.buyers_share.share
    if lost is not None and lost.high is not None and lost.high < 0:
        said.append("None of the gain came out of the buyers' share: they gained as well.")
    elif lost is not None:
        said.append(f"{_share(lost)} of the gain came out of the buyers' share.")
    changes = (
        ("The buyers' utility", parts.buyers_share.estimate),
        ("Welfare (the mean of both sides' utilities)", parts.welfare),
        ("Welfare in advantage units", parts.welfare_advantage),
    )
    for what, found in changes:
        if found.value is None:
            continue
        ends = found.interval()
        unsure = ends is None or ends[0] <= 0 <= ends[1]
        none = ", no detectable difference" if unsure else ""
        said.append(f"{what}: {wording.signed(found.value)} {signed_ends(found)}{none}.")
    return said


def _share(found: Share | None) -> str:
    if found is None:
        return wording.NONE
    interval = wording.share_interval(found.low, found.high)
    return wording.percent(found.value) + ("" if interval == wording.NONE else f" {interval}")


def gaps_table(
    shown: Sequence[tuple[Gap, Listed, Listed]], names: Mapping[Role, Mapping[str, str]], design: str
) -> str:
    """Return the cells that differ most, each with links to both matches.

    `names` by role and version.
    """
    first, second = (_named(names, Role.SELLER, match) for match in shown[0][1:])
    headings = [
        heading(""),
        heading("cell"),
        heading(first, "its score, and how the match ended", number=True),
        heading(second, "its score, and how the match ended", number=True),
        heading("difference", number=True),
    ]
    rows = []
    for place, (gap, a, b) in enumerate(shown, start=1):
        cells = [
            cell(str(place)),
            cell(_cell(a, _named(names, Role.BUYER, a)), a.scenario),
            _match(gap.a, a, design),
            _match(gap.b, b, design),
            cell(f"<b>{wording.signed(gap.difference)}</b>", number=True),
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return table(headings, rows)


def _cell(match: Listed, buyer: str) -> str:
    again = f" · replicate {match.replicate + 1}" if match.replicate else ""
    beside = f"against {buyer} · the {match.opener} opens{again}"
    return f'{text(match.domain)} {match.number}<br><span class="soft">{text(beside)}</span>'


def _named(names: Mapping[Role, Mapping[str, str]], role: Role, match: Listed) -> str:
    version = match.seller_version if role is Role.SELLER else match.buyer_version
    return names[role].get(version, version)


def _match(score: float, match: Listed, design: str) -> str:
    shown = link(f"{score:.3f}", "match", key=match.key, design=design)
    return stacked(shown, match.ending)


def gap_rows(shown: Sequence[tuple[Gap, Listed, Listed]]) -> list[dict[str, object]]:
    """Return the same for a download."""
    return [
        {
            "scenario": a.scenario,
            "buyer_version": a.buyer_version,
            "opener": a.opener,
            "replicate": a.replicate,
            "a": gap.a,
            "b": gap.b,
            "difference": gap.difference,
            "ending_a": a.ending,
            "ending_b": b.ending,
            "key_a": gap.key_a,
            "key_b": gap.key_b,
        }
        for gap, a, b in shown
    ]
