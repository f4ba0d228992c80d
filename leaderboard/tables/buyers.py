"""Buyer splits, the pooling alarm and secondary measures as HTML."""

from collections.abc import Iterator, Mapping, Sequence

from leaderboard import signs, wording
from leaderboard.inference.badges import Badge
from leaderboard.inference.secondary import MEANS, RATES, Mean, MeasuresPanel, Secondary
from leaderboard.inference.splits import ArmSplit
from leaderboard.inference.statistic import Estimate
from leaderboard.markup import cell, heading, link, table, text
from leaderboard.tables.cells import (
    cost_cell,
    difference,
    difference_cell,
    estimate_cell,
    n_of,
    rate_cell,
)

_OF = {"faulty_turns": "turns", "disclosures": "messages"}
"""What a rate counts, where that is not matches."""
COLUMNS = MEANS | RATES
"""The measures' names with their headings."""
MAIN = (
    "score",
    "score_over_deals",
    "advantage",
    "surplus_share",
    "welfare",
    "surplus_efficiency",
    "frontier_distance",
    "deals",
    "below_walk_away",
    "faulty_turns",
    "forfeits",
)
"""The measures that are shown at first."""


def badge_list(badges: Mapping[str, Sequence[Badge]]) -> str:
    """Return the buyers' badges with what they mean, a line each; of none, nothing."""
    lines = [
        f"<div><b>{text(name)}</b> {_badge(badge)} {text(badge.why)}</div>"
        for name, marks in badges.items()
        for badge in marks
    ]
    return "".join(lines)


def _badge(badge: Badge) -> str:
    return f'<span class="ba-badge">{text(badge.short)} · {text(badge.name)}</span>'


def verdicts(arms: Sequence[ArmSplit]) -> str:
    """Return the alarms with their reasons, and who has a general gain, in sentences."""
    lines = [
        f'<div><span class="ba-alarm">{signs.ALARM} pooling alarm</span> <b>{text(arm.arm)}</b>: '
        f"{text(arm.why)}.</div>"
        for arm in arms
        if arm.alarm
    ] or ["<div>No pooling alarm: no gain over base is shown to live on one buyer.</div>"]
    general = [arm.arm for arm in arms if arm.general]
    if general:
        lines.append(
            '<div><span class="ba-badge">general gain</span> '
            f"{text(', '.join(general))}: above zero and detectable against every buyer alone.</div>"
        )
    return "".join(lines)


def splits_table(arms: Sequence[ArmSplit], design: str) -> str:
    """Return a row an arm with a base: its gain by buyer, its split, the base's, and what moved."""
    buyers = list(dict.fromkeys(buyer for arm in arms for buyer in arm.gain_by_buyer))
    headings = [
        heading("seller"),
        heading("gain over base", "pooled over buyers", number=True, term="gain"),
        *(heading(f"against {buyer}", "gain over base; Holm p", number=True) for buyer in buyers),
        heading("split", "score against the one less the other", number=True, term="buyer split"),
        heading("base's", number=True),
        heading("moved", "the difference of the two splits; Holm p", number=True),
        heading("verdict", term="pooling alarm"),
    ]
    rows = [f"<tr>{''.join(_split_cells(arm, buyers, design))}</tr>" for arm in arms]
    return table(headings, rows)


def _split_cells(arm: ArmSplit, buyers: Sequence[str], design: str) -> Iterator[str]:
    name = link(arm.arm, "matches", design=design, seller=arm.version)
    base = f'<br><span class="soft">from {text(arm.base)}</span>'
    yield f'<td class="name">{name}{base}</td>'
    yield _gain(arm.gain, None)
    for buyer in buyers:
        yield _gain(arm.gain_by_buyer.get(buyer), arm.gain_by_buyer_adjusted_p.get(buyer))
    yield _stacked(arm.split, {})
    yield _stacked(arm.base_split, {})
    yield _stacked(arm.moved, arm.moved_adjusted_p)
    style = "ba-alarm" if arm.alarm else "ba-badge"
    why = f'<span class="soft">{text(arm.why)}</span>'
    yield f'<td class="ba-why"><span class="{style}">{signs.reach(arm)}</span><br>{why}</td>'


def _gain(found: Estimate | None, adjusted_p: float | None) -> str:
    if found is None:
        return cell(wording.NONE, number=True)
    return difference_cell(found, _p(adjusted_p))


def _stacked(found: Mapping[str, Estimate], adjusted_p: Mapping[str, float]) -> str:
    """Return the splits of one seller, each under its label where there are several."""
    shown = []
    for label, one in found.items():
        over = f'<span class="soft">{text(label)}</span><br>' if len(found) > 1 else ""
        shown.append(over + difference(one, _p(adjusted_p.get(label))))
    hint = "; ".join(f"{label}: {n_of(one, 'cells')}" for label, one in found.items())
    return cell("<br>".join(shown) or wording.NONE, hint, number=True)


def _p(adjusted_p: float | None) -> str:
    return "" if adjusted_p is None else wording.p_value(adjusted_p, "Holm p")


def measures_table(
    rows: Sequence[tuple[Secondary, MeasuresPanel]], columns: Sequence[str], role: str, design: str
) -> str:
    """Return a row an agent with these of COLUMNS, then its voids and its faults by kind."""
    headings = [
        heading(role),
        *(heading(COLUMNS[name], number=True) for name in columns),
        heading("faulty answers by kind"),
        heading("void", "planned matches with only void attempts", number=True),
        heading("matches", "scored of planned", number=True),
    ]
    shown = []
    for row, panel in rows:
        cells = [
            f'<td class="name">{link(row.agent, "matches", design=design, **{role: row.version})}</td>',
            *(_measure(panel, name) for name in columns),
            cell(text(_faults(panel))),
            cell(f"{panel.void:,}", number=True),
            cell(f"{panel.matches:,}/{panel.planned:,}", number=True),
        ]
        shown.append(f"<tr>{''.join(cells)}</tr>")
    return table(headings, shown)


def _measure(panel: MeasuresPanel, name: str) -> str:
    if name in RATES:
        return rate_cell(panel.rates[name], of=_OF.get(name, "matches"))
    found = panel.means.get(name)
    return cell(wording.NONE, number=True) if found is None else _mean(name, found)


def _mean(name: str, mean: Mean) -> str:
    left_out = f"{mean.left_out:,} left out: not defined or known" if mean.left_out else ""
    if name == "cost":
        return cost_cell(mean.estimate, left_out)
    form = "{:,.1f}" if name in ("turns", "tokens", "latency") else "{:.3f}"
    return estimate_cell(mean.estimate, form.format, note=left_out)


def _faults(panel: MeasuresPanel) -> str:
    return ", ".join(f"{kind} {count:,}" for kind, count in panel.faults.items()) or "none"


def measures_rows(rows: Sequence[tuple[Secondary, MeasuresPanel]]) -> list[dict[str, object]]:
    """Return all measures flat, for a download: a row an agent."""
    return [
        {"agent": row.agent, "version": row.version}
        | {"matches": panel.matches, "planned": panel.planned, "void": panel.void}
        | {
            key: value
            for name, mean in panel.means.items()
            for key, value in _ends(
                name, mean.estimate.value, *(mean.estimate.interval() or (None, None))
            )
        }
        | {
            key: value
            for name, rate in panel.rates.items()
            for key, value in _ends(name, rate.value, rate.low, rate.high)
        }
        | {"faults": panel.faults}
        for row, panel in rows
    ]


def _ends(
    name: str, value: float | None, low: float | None, high: float | None
) -> Iterator[tuple[str, float | None]]:
    yield name, value
    yield f"{name}_low", low
    yield f"{name}_high", high
