"""Guards, alarms, gains and badges as short signs, the same wherever they stand."""

from typing import NamedTuple

from leaderboard import wording
from leaderboard.figures import palette
from leaderboard.inference.badges import Badge
from leaderboard.inference.compared import Comparison
from leaderboard.inference.guards import ALARM as ALARM_GUARD
from leaderboard.inference.guards import BASE, LEAK, OPENER, Guard, GuardResult
from leaderboard.inference.splits import ArmSplit
from leaderboard.inference.statistic import LEVEL, Estimate
from leaderboard.verdicts import Verdict

PASS, FAIL, NOT_JUDGED, ALARM = "✓", "✗", "○", "⚠"
_MARKS = {
    GuardResult.PASS: (PASS, palette.PASS),
    GuardResult.FAIL: (FAIL, palette.FAIL),
    GuardResult.NOT_JUDGED: (NOT_JUDGED, palette.NOT_JUDGED),
}
LEGEND = f"{PASS} pass, {FAIL} fail, {NOT_JUDGED} not judged; {ALARM} pooling alarm"


class Sign(NamedTuple):
    """A mark with what it stands for."""

    name: str
    short: str
    """A word for a narrow heading."""
    mark: str
    colour: str
    result: str
    found: str
    """The figures behind it."""


def guard_mark(result: GuardResult) -> tuple[str, str]:
    """Return the mark and the colour of a guard's result."""
    return _MARKS[result]


def guards(verdict: Verdict) -> list[Sign]:
    """Return the guards' signs, in their order."""
    return [
        Sign(
            guard.name,
            _SHORT.get(guard.name, guard.name.split()[0]),
            *_MARKS[guard.result],
            guard.result.value,
            guard_figures(guard),
        )
        for guard in verdict.guards
    ]


_SHORT = {LEAK: "leak", OPENER: "opener", ALARM_GUARD: "pooling", BASE: "base"}


def guard_figures(guard: Guard) -> str:
    """Return what a guard was judged on: value, interval, limit, n; then its note."""
    value = wording.NONE if guard.value is None else f"{guard.value:.3f}"
    interval = ""
    if guard.low is not None and guard.high is not None:
        interval = f" [{guard.low:.3f}, {guard.high:.3f}]"
    basis = f"n = {guard.n:,} on {wording.counted(guard.clusters, 'scenario')}" if guard.n else ""
    parts = (f"{value}{interval}", f"limit {guard.limit:.2f} (ours)", basis, guard.note)
    return "; ".join(filter(None, parts))


def reach(split: ArmSplit) -> str:
    """Return in two or three words whether a gain over base lives on one buyer."""
    if split.alarm:
        return f"{ALARM} pooling alarm"
    return "general gain" if split.general else "no pooling alarm"


def alarm(verdict: Verdict) -> list[Sign]:
    """Return the pooling alarm's sign where it is raised."""
    if verdict.split is None or not verdict.alarm:
        return []
    return [Sign("pooling alarm", "alarm", ALARM, palette.FAIL, "raised", verdict.split.why)]


def gain(verdict: Verdict) -> str:
    """Return the gain over base in one line, or a dash."""
    found = verdict.gain
    if found is None:
        return wording.NONE
    interval = f" {wording.signed_interval(found.interval)}" if found.interval else ""
    return f"{wording.signed(found.estimate.value)}{interval}, {gain_p(verdict)}"


def gain_p(verdict: Verdict) -> str:
    """Return the gain's Holm-adjusted p, or its plain one marked as exploratory."""
    return contrast_p(verdict.gain)


def contrast_p(found: Comparison | None) -> str:
    """Return a contrast's Holm-adjusted p, or its plain one marked as exploratory."""
    if found is None or found.p is None:
        return wording.NONE
    if found.adjusted_p is not None and found.confirmatory:
        return wording.p_value(found.adjusted_p, "Holm p")
    return f"exploratory {wording.p_value(found.p)}"


def gain_p_briefly(verdict: Verdict) -> str:
    """Return the same for a column headed p: ``0.012 Holm``, ``0.012 expl.``"""
    found = verdict.gain
    if found is None or found.p is None:
        return wording.NONE
    if found.adjusted_p is not None and found.confirmatory:
        return f"{wording.p_value(found.adjusted_p, '')} Holm"
    return f"{wording.p_value(found.p, '')} expl."


def gain_detectable(verdict: Verdict) -> bool:
    """Return whether a declared gain stands after Holm's correction."""
    found = verdict.gain
    return (
        found is not None
        and found.confirmatory
        and found.adjusted_p is not None
        and found.adjusted_p < 1 - LEVEL
    )


def moved(verdict: Verdict) -> tuple[str, Estimate, float] | None:
    """Return the split that moved most surely from the base's: its label, how far, Holm-adjusted p."""
    split = verdict.split
    if split is None or not split.moved:
        return None
    label = min(split.moved, key=lambda name: split.moved_adjusted_p[name])
    return label, split.moved[label], split.moved_adjusted_p[label]


def moved_briefly(verdict: Verdict) -> str:
    """Return in a few words how far the split moved, and whether it matters."""
    found = moved(verdict)
    if found is None or verdict.split is None:
        return wording.NONE
    _, estimate, adjusted_p = found
    word = f"{ALARM} " if verdict.alarm else "" if adjusted_p < 1 - LEVEL else "no, "
    general = ", general" if verdict.split.general else ""
    return f"{word}{wording.signed(estimate.value)}{general}"


def badge_marks(badges: tuple[Badge, ...]) -> str:
    """Return a buyer's badges as letters, in square brackets; of none, nothing."""
    return f"[{','.join(badge.short for badge in badges)}]" if badges else ""
