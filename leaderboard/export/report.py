"""A design's board and contrasts as one HTML file: no server, no script, no reference to anywhere.

It holds what `arena standings`, `arena compare --family`, `arena guards` and `arena design show` say, so
that whoever gets the file can judge it alone. The same record gives the same file, byte for byte.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qs

from arena.results import Results
from arena.store import Deviation, Store, StoredDesign
from leaderboard import board_words, glossary, markup, void_words, wording
from leaderboard.board import Board, board
from leaderboard.export import conditions, sections
from leaderboard.inference.badges import Badge, badges
from leaderboard.inference.compared import Comparison
from leaderboard.inference.contrasts import asked
from leaderboard.inference.drift import Drift, drift
from leaderboard.inference.voids import Missing, missing
from leaderboard.known import anchors
from leaderboard.tables import compare as compare_table
from leaderboard.verdicts import Verdict, verdicts
from scenarios.scenario import Role

Progress = Callable[[int, int], None]
"""Is told how many sections are written, and of how many."""


@dataclass(frozen=True)
class Report:
    """What a report is written from."""

    stored: StoredDesign
    every: Sequence[StoredDesign]
    """All designs of the record: an arm that a design leaves out was tried all the same."""
    results: Results
    board: Board
    verdicts: Mapping[str, Verdict]
    """By version."""
    badges: Mapping[str, tuple[Badge, ...]]
    contrasts: Sequence[Comparison]
    """The declared ones, then other gains over base; none on a board of buyers."""
    missing: Sequence[Missing]
    drift: Drift | None
    """None where no match was replayed, and on a board of buyers."""
    deviations: Sequence[Deviation]
    audits: Mapping[str, Mapping[str, Any]]
    anchors: frozenset[str]
    last: str | None
    """When the last match began (ISO 8601, UTC); None before the first."""


def gather(store: Store, stored: StoredDesign, role: Role = Role.SELLER) -> Report:
    """Return what the report of the agents of `role` is written from."""
    results, audits = store.results(stored.design), store.audits()
    found, sellers = board(results, role), role is Role.SELLER
    return Report(
        stored=stored,
        every=store.designs(),
        results=results,
        board=found,
        verdicts=verdicts(results, role),
        badges=badges(stored.design, audits),
        contrasts=asked(results) if sellers else (),
        missing=missing(found, store.void_counts(stored.design)),
        drift=drift(stored.design, store.replays(stored.design)) if sellers else None,
        deviations=store.deviations(stored.design.hash),
        audits=audits,
        anchors=anchors(),
        last=store.pace(stored.design, datetime.now(UTC)).last,
    )


def page(report: Report, progress: Progress = lambda done, total: None) -> str:
    """Return the whole HTML file."""
    parts = _sections(report)
    written, contents = [], []
    for place, (anchor, title, write) in enumerate(parts):
        written.append(
            f'<section id="{anchor}"><h2>{markup.text(title)}</h2>{"".join(write(report))}</section>'
        )
        contents.append(f'<a href="#{anchor}">{markup.text(title)}</a>')
        progress(place + 1, len(parts))
    body = _standing_alone("".join(written))
    name = f"Board of design {report.stored.design.hash}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{_POLICY}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="Bargaining Arena {version("bargaining-arena")}">'
        f"<title>{name}</title>{markup.STYLE}{compare_table.STYLE}{STYLE}</head>"
        f"<body><header><p>Bargaining Arena</p><h1>{name}</h1>{''.join(_head(report))}</header>"
        f'<nav aria-label="Contents">{"".join(contents)}</nav><main>{body}</main>\n</body></html>\n'
    )


_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'\">"
)
"""A browser then asks for nothing, whatever the file holds."""
_Section = tuple[str, str, Callable[[Report], Iterator[str]]]


def _sections(report: Report) -> list[_Section]:
    sellers = report.board.role is Role.SELLER
    of_sellers: list[_Section] = [
        ("contrasts", "Contrasts", sections.contrasts),
        ("guards", "Is it real? Alarms and guards", sections.guards),
    ]
    held_out: list[_Section] = [("held-out", "Held out, reported apart", sections.held_out)]
    lacking: list[_Section] = [("missing", "Missing and void", conditions.missing)]
    drifted: list[_Section] = [("drift", "Drift", conditions.drift)]
    return [
        ("board", f"The board of {report.board.role.value}s", sections.board_section),
        *(of_sellers if sellers else []),
        *(held_out if report.board.held_out_domains else []),
        *(lacking if void_words.anything(report.missing) else []),
        *(drifted if report.drift is not None else []),
        ("deviations", "What departed from the design", sections.deviations),
        ("design", "The design", sections.design),
        ("methods", "How to read this", _methods),
        ("made", "How this was made", _made),
    ]


def _head(report: Report) -> Iterator[str]:
    """Yield what a reader must know before any figure."""
    frozen = wording.when(report.stored.created_at)
    count = wording.counted(len(report.deviations), "deviation")
    yield (
        f"<p>Frozen {markup.text(frozen)} · <b>{markup.text(board_words.progress(report.board))}</b> · "
        f'<a href="#deviations">{count}</a></p>'
    )
    for line in sections.verdict_lines(report):
        yield f"<p>{markup.text(line)}</p>"
    for line in board_words.caveats(report.results):
        yield f'<p class="ba-note">{markup.text(line)}</p>'


def _methods(report: Report) -> Iterator[str]:
    for line in METHODS:
        yield f"<p>{markup.text(' '.join(line.split()))}</p>"
    entries = "".join(
        f'<dt id="{_anchor(term.name)}">{markup.text(term.name)}</dt>'
        f"<dd>{markup.text(term.meaning)}</dd>"
        for section in glossary.SECTIONS
        for term in section.terms
    )
    yield f"<details open><summary>Every word of the tables</summary><dl>{entries}</dl></details>"


METHODS = (
    """Two agents negotiate over several terms at once; each has private utilities, from 0 for its worst
    package to 1 for its best, and a private walk-away value. Every seller meets every buyer on the same
    scenarios. A score is the mean over buyers of the mean over open domains of the own utility; held-out
    domains are reported apart and never pooled.""",
    """Intervals are at 95% and for new scenarios of the same domains: a scenario is a cluster, a domain
    a stratum, and the interval is a t interval with scenarios less domains degrees of freedom. Contrasts
    are paired, over the cells that all their sellers completed. p is that of the same t statistic; Holm
    corrects over the family that the design declared before play. Ranks come from all pairs at once
    (max-t).""",
    """What was not declared before play, or rests on matches begun before the design was frozen, is
    exploratory. No detectable difference is not the same as none: beside each contrast stands what it
    could have detected. The guards, their limits and every default that decides are ours.""",
)


def _made(report: Report) -> Iterator[str]:
    role = "" if report.board.role is Role.SELLER else f" --role {report.board.role.value}"
    command = f"arena export --format html --design {report.stored.design.hash}{role} --out FILE"
    data = (
        "no match was played yet" if report.last is None else f"last match {wording.when(report.last)}"
    )
    facts = {
        "made by": f"Bargaining Arena {version('bargaining-arena')}",
        "data": f"{data}; revision {report.results.revision:,} of the record",
        "design": report.stored.design.hash,
        "made again by": command,
    }
    rows = [
        f'<tr><td class="name">{label}</td>{markup.cell(markup.text(value))}</tr>'
        for label, value in facts.items()
    ]
    yield markup.table([], rows)
    yield (
        '<p class="ba-note">Each figure comes from the stored matches; arena export --format csv gives '
        "those, one a row. This file asks nobody for anything: it has no script and no reference.</p>"
    )


def _standing_alone(html: str) -> str:
    """Return HTML of the pages with no link out of it: what explains a word leads to that word in this
    file, any other link leaves its text. In all of it, texts of users and models are escaped already."""
    return _LINK.sub(_link, html)


_LINK = re.compile(r'<a\b([^>]*?)href="([^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)


def _link(found: re.Match[str]) -> str:
    before, href, after, label = found.groups()
    term = parse_qs(unescape(href).lstrip("?")).get("term")
    if href.startswith("#"):
        return found[0]
    if term is None:
        return label
    kept = f"{before}{after}".replace(' target="_self"', "")
    return f'<a{kept.rstrip()} href="#{_anchor(term[0])}">{label}</a>'


def _anchor(term: str) -> str:
    return "word-" + re.sub(r"\W+", "-", term)


STYLE = """<style>
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d2126; --link: #0b62a4; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e4e6ea; --link: #74b9ef; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.4rem 1.6rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header p { margin: .2rem 0; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .3rem; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; padding: .5rem 0;
  border-bottom: 1px solid rgba(128,128,128,.35); font-size: .95rem; }
section { scroll-margin-top: 1rem; }
.figure { overflow-x: auto; }
.figure svg { display: block; width: 100%; max-width: 68rem; height: auto; min-width: 44rem; }
.figure.forest svg { max-width: 54rem; min-width: 38rem; }
.narrow .ba-table { width: auto; margin-top: .8rem; }
.narrow .ba-table .num { padding-left: 1.6rem; }
.alarm { margin: .25rem 0; }
.alarm > div { display: inline; }
.figure text { font-family: inherit; }
ul.claims { list-style: none; padding: 0; margin: .6rem 0; }
ul.claims li { padding: .3rem 0 .3rem .9rem; border-left: 4px solid rgba(128,128,128,.4);
  margin: 0 0 .5rem; overflow-wrap: anywhere; }
ul.claims li.found { border-left-color: #0072b2; }
.ba-table td { overflow-wrap: anywhere; }
.ba-table td.name { min-width: 9.5rem; }
.ba-table td:first-child:not(.name) { white-space: nowrap; }
.ba-table td.words { min-width: 13rem; max-width: 26rem; }
dt { font-weight: 600; margin-top: .6rem; }
dt:target { background: rgba(0,114,178,.18); }
dd { margin: 0 0 0 1.2rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
summary { cursor: pointer; }
@media (max-width: 40rem) { body { padding: 1rem .9rem 3rem; } }
@media print { body { max-width: none; } nav { display: none; } section { break-inside: auto; } }
</style>"""
