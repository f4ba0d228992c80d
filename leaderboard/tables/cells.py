"""The tables' cells of numbers: a value, its interval small below it, and what it rests on on hover."""

from collections.abc import Callable

from leaderboard import wording
from leaderboard.inference.rates import Rate
from leaderboard.inference.statistic import Estimate
from leaderboard.markup import cell, text


def n_of(found: Estimate | Rate, of: str = "matches") -> str:
    """Return what a figure rests on, as ``n = 1,280 matches on 64 scenarios``; and what ~ means, where
    its interval has that mark."""
    count = found.n if isinstance(found, Rate) else found.cells
    few = ": ~ few, so the interval is approximate" if found.approximate else ""
    return f"n = {count:,} {of} on {wording.counted(found.clusters, 'scenario')}{few}"


def stacked(value: str, *small: str, hint: str = "") -> str:
    """Return a number's cell: `value` is HTML already; the lines of `small` are text and stand below."""
    return cell(_stack(value, *small), hint, number=True)


def _stack(value: str, *small: str) -> str:
    lines = "<br>".join(map(text, filter(None, small)))
    return f'{value}<br><span class="soft">{lines}</span>' if lines else value


def estimate_cell(
    found: Estimate,
    worded: Callable[[float], str] = "{:.3f}".format,
    of: str = "matches",
    note: str = "",
    strong: bool = False,
) -> str:
    """Return an estimate's cell: the value with its interval below, both as `worded` words a number; n
    and `note` on hover. Of no value, a dash, and on hover why."""
    hint = "; ".join(filter(None, (n_of(found, of), note)))
    if found.value is None:
        return cell(wording.NONE, found.problem or hint, number=True)
    value = worded(found.value)
    return stacked(f"<b>{value}</b>" if strong else value, ends_of(found, worded), hint=hint)


def difference_cell(
    found: Estimate, *small: str, of: str = "cells", strong: bool = False, note: str = ""
) -> str:
    """Return a difference's cell: signed, its interval below it, then the lines of `small`; n on hover,
    and `note` after it."""
    shown = difference(found, *small, strong=strong)
    return cell(shown, "; ".join(filter(None, (n_of(found, of), note))), number=True)


def difference(found: Estimate, *small: str, strong: bool = False) -> str:
    """Return what stands in a difference's cell, as HTML: where several share one."""
    value = wording.signed(found.value)
    return _stack(f"<b>{value}</b>" if strong else value, signed_ends(found), *small)


def rate_cell(found: Rate | None, of: str = "matches", small: bool = True) -> str:
    """Return a share's cell in percent; its interval below it, or on hover with n. Of nothing to count,
    a dash."""
    if found is None or found.value is None:
        return cell(wording.NONE, (found and found.problem) or "nothing to count", number=True)
    ends, value = wording.share_interval(found.low, found.high), wording.percent(found.value)
    ends = found.problem or ends + ("~" if found.approximate else "")
    if small:
        return stacked(value, ends, hint=n_of(found, of))
    return cell(value, f"{ends}, {n_of(found, of)}", number=True)


def cost_cell(found: Estimate, note: str = "") -> str:
    """Return the cell of a cost in US dollars; n and `note` on hover."""
    hint = f"{n_of(found)} whose cost is known" if found.cells else "not known"
    return cell(text(wording.dollars(found.value)), "; ".join(filter(None, (hint, note))), number=True)


def ends_of(found: Estimate, worded: Callable[[float], str]) -> str:
    """Return an interval as ``[low, high]``, marked ~ where approximate, or why there is none."""
    ends = found.interval()
    if ends is None:
        return found.problem or wording.NONE
    return f"[{worded(ends[0])}, {worded(ends[1])}]{wording.mark(found)}"


def signed_ends(found: Estimate) -> str:
    """Return the interval of a difference with signs, in the same manner."""
    return ends_of(found, wording.signed)
