"""What a comparison says: a sentence that can be quoted, and JSON."""

from typing import Any

from leaderboard import wording
from leaderboard.inference.compared import Comparison, ContrastPanel
from leaderboard.inference.statistic import ALPHA, Estimate

_PANEL = (
    *("value", "low", "high", "t_interval", "bootstrap_interval", "df", "clusters", "cells", "dropped"),
    *("p", "adjusted_p", "confirmatory", "why", "problem", "mde"),
)
"""What is printed of a panel, in this order."""


def sentence(found: Comparison) -> str:
    """Return the contrast over open domains in one sentence: how much, the 95% interval, on how many of
    the planned cells, p, and why it is exploratory where it is."""
    return _said(found, found)


def held_out_sentence(found: Comparison) -> str | None:
    """Return the same over the held-out domains, with what they can detect, where there are any."""
    if found.held_out is None:
        return None
    said = _said(found, found.held_out)
    if found.held_out.mde is None:
        return said
    return f"{said}. Detectable there: {found.held_out.mde:.3f} or more, with 80% power"


def _said(found: Comparison, panel: ContrastPanel) -> str:
    estimate = panel.estimate
    cells = f"on {panel.cells:,} of {panel.cells + panel.dropped:,} cells"
    if not panel.cells:
        return f"No score for {found.label}: {panel.why}"
    if estimate.value is None:
        return f"No score for {found.label}: not every opponent and domain has a cell that all completed"
    if panel.p is None:
        value = wording.signed(estimate.value)
        return f"{found.label}: {value} {cells}; no interval and no p: {estimate.problem}"
    in_family = panel.adjusted_p is not None
    p = wording.p_value(panel.adjusted_p if in_family else panel.p, "Holm p" if in_family else "p")
    said = _detected(found, panel) if panel.detectable else _undetected(found, panel)
    exploratory = f" (exploratory: {panel.why})" if panel.why else ""
    return f"{said}{wording.mark(estimate)} {cells}; {p}{exploratory}"


def _detected(found: Comparison, panel: ContrastPanel) -> str:
    """Say who scores more, or gains more, and by how much: figures are positive in that direction."""
    value = panel.estimate.value or 0.0
    more = "more" if value > 0 else "less"
    low, high = sorted(end if value > 0 else -end for end in panel.interval or (value, value))
    size, interval = f"{abs(value):.3f}", f"[{low:.3f}, {high:.3f}]"
    plus, minus = (
        [found.names[version] for version in side]
        for side in (found.contrast.plus, found.contrast.minus)
    )
    if len(plus) == 1:
        return f"{plus[0]} scores {size} {more} than {minus[0]} {interval}"
    if len(plus) == 2:
        gains = f"{plus[0]} gains {size} {more} over {minus[0]} than {minus[1]} over {plus[1]}"
        return f"{gains} {interval}"
    return f"{found.label} is {wording.signed(value)} {wording.signed_interval(panel.interval)}"


def _undetected(found: Comparison, panel: ContrastPanel) -> str:
    value = wording.signed(panel.estimate.value)
    interval = wording.signed_interval(panel.interval)
    after = " after Holm" if panel.p is not None and panel.p < ALPHA else ""
    pair = [*found.contrast.plus, *found.contrast.minus]
    where = f"in {found.label}"
    if len(pair) == 2:
        where = " and ".join(["between " + found.names[pair[0]], found.names[pair[1]]])
    return f"No detectable difference{after} {where}: {value} {interval}"


def to_json(found: Comparison, design: str) -> dict[str, Any]:
    """Return what `arena compare --json` prints of one contrast; `design` is the design's hash."""
    held_out = found.held_out
    return {
        "contrast": found.label,
        "plus": list(found.contrast.plus),
        "minus": list(found.contrast.minus),
        "role": found.role.value,
        "design": design,
        "sentence": sentence(found),
        **_panel_json(found),
        "by_buyer": _estimates_json(found.by_buyer),
        "by_domain": _estimates_json(found.by_domain),
        "leave_one_out": _estimates_json(found.leave_one_out),
        "held_out": None if held_out is None else _panel_json(held_out),
        "advice": found.advice,
    }


def _panel_json(panel: ContrastPanel) -> dict[str, Any]:
    return panel.figures(*_PANEL, value="difference") | {
        "t_interval": panel.t_interval and list(panel.t_interval),
        "bootstrap_interval": panel.bootstrap_interval and list(panel.bootstrap_interval),
    }


def _estimates_json(estimates: dict[str, Estimate]) -> dict[str, Any]:
    wanted = ("value", "low", "high", "p", "clusters", "cells")
    return {name: found.figures(*wanted, value="difference") for name, found in estimates.items()}
