"""Guards and openings as HTML."""

from collections.abc import Iterator, Mapping, Sequence

from arena.analysis import Analysis
from arena.design import Design
from leaderboard import signs, wording
from leaderboard.inference.guards import ALARM, BASE, LEAK, OPENER, Guard
from leaderboard.inference.openings import POST_HOC, Opening
from leaderboard.markup import cell, heading, link, table, text
from leaderboard.metrics import worded
from leaderboard.tables.cells import estimate_cell, rate_cell

NAMES = (LEAK, OPENER, ALARM, BASE)
HINTS = {
    LEAK: "share of its messages that carry a fragment of the JSON action",
    OPENER: "largest share of its messages that begin with the same two words",
    ALARM: "how far its buyer split moved from its base's",
    BASE: "deals, deals below the walk-away value, deals in infeasible cells",
}


def guards_table(
    judged: Mapping[str, Sequence[Guard]],
    versions: Mapping[str, str],
    kl: Mapping[str, float],
    design: Design,
) -> str:
    """Return a row a seller: each guard's result, figures and n; faulty turns, disclosures, KL beside.

    `judged` and `kl` by the seller's name, in the order of the rows; `versions` by name. Limits stand in
    the headings. Without any KL there is no column for it.
    """
    analysis = design.analysis or Analysis()
    headings = [
        heading("seller"),
        *(_heading(name, analysis) for name in NAMES),
        heading("faulty turns", "decides nothing", number=True, term="faulty turn"),
        heading("disclosures", "decides nothing", number=True, term="disclosure"),
        *([heading("KL", "from its base, as registered; decides nothing", number=True)] if kl else []),
    ]
    rows = []
    for name, found in judged.items():
        shown = link(name, "matches", design=design.hash, seller=versions[name])
        leak = next(guard for guard in found if guard.name == LEAK)
        cells = [
            f'<td class="name">{shown}</td>',
            *(_guard(guard) for guard in found),
            rate_cell(leak.beside, "turns"),
            rate_cell(leak.disclosures, "messages"),
            *([cell(worded("kl", kl.get(name)), number=True)] if kl else []),
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return table(headings, rows)


def _heading(name: str, analysis: Analysis) -> str:
    limits = analysis.guards
    base = (limits.deal_margin, limits.below_margin, limits.infeasible_margin)
    limit = {
        LEAK: f"limit {limits.action_leak:.1%}",
        OPENER: f"limit {limits.opener:.1%}",
        ALARM: f"limit {analysis.alarm_margin:.3f}",
        BASE: f"limits {', '.join(f'{margin:.1%}' for margin in base)}",
    }[name]
    return heading(name, HINTS[name], term="guard", small=f"{limit} (ours)")


def _guard(guard: Guard) -> str:
    head = f"{_mark(guard)} {text(guard.result.value)}"
    lines = _parts(guard) if guard.parts else _figures(guard)
    limit = f"; limit {_amount(guard, guard.limit, signed=False)} (ours)"
    hint = f"{guard.name}: {guard.note}{limit}"
    small = "<br>".join(f'<span class="soft">{line}</span>' for line in lines)
    return f'<td class="ba-guard" title="{text(hint)}">{head}<br>{small}</td>'


def _mark(guard: Guard) -> str:
    mark, colour = signs.guard_mark(guard.result)
    return f'<span class="ba-sign" style="color:{colour}">{mark}</span>'


def _figures(guard: Guard) -> Iterator[str]:
    """Yield a guard's figures, a line each; where there are none, why."""
    if guard.value is None:
        yield f'<span class="ba-wrap">{text(guard.note)}</span>'
        return
    yield text(f"{_amount(guard, guard.value)} {_interval(guard)}")
    yield f"{guard.n:,} / {guard.clusters:,}"


def _parts(guard: Guard) -> Iterator[str]:
    for part in guard.parts:
        value = wording.NONE if part.value is None else _amount(part, part.value)
        said = f"{part.name}: {value} {_interval(part)} · {part.n:,} / {part.clusters:,}"
        yield f"{_mark(part)} {text(said)}"


def _amount(guard: Guard, value: float, signed: bool = True) -> str:
    """Return a guard's value: a share in percent, a move of the split in score; a difference signed."""
    if guard.name == ALARM:
        return wording.signed(value) if signed else f"{value:.3f}"
    difference = signed and guard.name not in (LEAK, OPENER)
    return f"{value:+.1%}" if difference else f"{value:.1%}"


def _interval(guard: Guard) -> str:
    if guard.low is None or guard.high is None:
        return ""
    return f"[{_amount(guard, guard.low)}, {_amount(guard, guard.high)}]"


def guards_rows(
    judged: Mapping[str, Sequence[Guard]], versions: Mapping[str, str], kl: Mapping[str, float]
) -> list[dict[str, object]]:
    """Return a row a seller and guard, parts included, for a download."""
    return [
        {
            "seller": name,
            "version": versions[name],
            "guard": guard.name,
            "part": None if part is guard else part.name,
            "result": part.result.value,
            "value": part.value,
            "low": part.low,
            "high": part.high,
            "limit_ours": part.limit,
            "n": part.n,
            "clusters": part.clusters,
            "note": part.note,
            "kl": kl.get(name),
        }
        for name, found in judged.items()
        for guard in found
        for part in (guard, *guard.parts)
    ]


def openings_table(found: Sequence[Opening], design: str) -> str:
    """Return a row an agent: how often its first turn names terms, how many, and what it asks for."""
    headings = [
        heading(found[0].role.value if found else "agent"),
        heading("first turn names a term", f"{POST_HOC}; share of matches", number=True),
        heading("terms named", "where it names any", number=True),
        heading("of the domain's", "terms named over the domain's terms", number=True),
        heading("worth if accepted", "as it stands, the rest at the public default", number=True),
        heading("named terms alone", "what the named terms are worth by themselves", number=True),
        heading("deal lower by", "opening less deal, over matches with both", number=True),
    ]
    rows = [f"<tr>{''.join(_opening(one, design))}</tr>" for one in found]
    return table(headings, rows)


def _opening(one: Opening, design: str) -> Iterator[str]:
    name = link(one.agent, "matches", design=design, **{one.role.value: one.version})
    yield f'<td class="name">{name}</td>'
    yield rate_cell(one.named)
    yield estimate_cell(one.terms_named, "{:.1f}".format)
    yield estimate_cell(one.share_named, wording.percent)
    yield estimate_cell(one.accepted)
    yield estimate_cell(one.accepted_named)
    yield estimate_cell(one.fall, wording.signed)


STYLE = """<style>
.ba-guard { white-space: nowrap; }
.ba-guard .ba-wrap { white-space: normal; display: inline-block; min-width: 10rem; }
</style>"""
"""What a page with the guards needs beside `markup.STYLE`."""
LEGEND = (
    f"{signs.LEGEND}. A guard fails where its whole 95% interval lies above the limit, passes where it "
    "lies wholly at or below, and is not judged between, so too few matches cannot pass. Small figures: "
    "value and interval, then n / scenarios. Over open domains."
)
