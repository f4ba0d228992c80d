"""How figures are worded, the same in sentences, in the terminal and on the page."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from shlex import quote

from arena import money
from arena.printable import plain
from arena.store import DEFAULT, redacted
from leaderboard.inference.statistic import FEW_CLUSTERS, Estimate

NONE = "–"  # noqa: RUF001 (an en dash is what stands for "nothing" in a table)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 seller``, ``2 sellers``; `plural` is for what takes no s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as a terminal may show them, at most so many: ``a, b and 3 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(plain, names[:most])) + more


def score(estimate: Estimate) -> str:
    """Return the score with three decimals."""
    return NONE if estimate.value is None else f"{estimate.value:.3f}"


def interval(estimate: Estimate) -> str:
    """Return ``[low, high]``, marked ~ where approximate, or why there is none."""
    found = estimate.interval()
    if found is None:
        return estimate.problem or NONE
    return f"[{found[0]:.3f}, {found[1]:.3f}]{mark(estimate)}"


def half_width(estimate: Estimate) -> str:
    """Return the score and half its interval, as ``0.512 ±.022``; an interval is symmetric."""
    found = estimate.interval()
    if estimate.value is None:
        return NONE
    if found is None:
        return f"{estimate.value:.3f} ±{NONE}"
    half = f"{(found[1] - found[0]) / 2:.3f}"
    return f"{estimate.value:.3f} ±{half.removeprefix('0')}{mark(estimate)}"


def signed(value: float | None) -> str:
    """Return a difference with its sign and three decimals; what rounds to 0 is ``+0.000``."""
    return NONE if value is None else f"{round(value, 3) + 0.0:+.3f}"


def signed_interval(found: tuple[float, float] | None) -> str:
    """Return the interval of a difference as ``[+0.052, +0.075]``; where there is none, a dash."""
    return NONE if found is None else f"[{signed(found[0])}, {signed(found[1])}]"


def difference(estimate: Estimate) -> str:
    """Return a difference with its interval, where it has one: ``+0.063 [+0.052, +0.075]``,
    marked ~ where that is approximate."""
    found = estimate.interval()
    value = signed(estimate.value)
    return value if found is None else f"{value} {difference_interval(estimate)}"


def difference_interval(estimate: Estimate) -> str:
    """Return the interval of a difference, marked ~ where approximate; where there is none, a dash."""
    return signed_interval(estimate.interval()) + mark(estimate)


def n_per_g(n: int, clusters: int) -> str:
    """Return n/G: of how many cells, matches or messages, and on how many scenarios."""
    return f"{n:,}/{clusters:,}"


def effect(size: float | None) -> str:
    """Return the size of an effect that can be detected, without a sign."""
    return NONE if size is None else f"{size:.3f}"


def p_value(p: float | None, name: str = "p") -> str:
    """Return ``p = 0.012`` or ``p < 0.001``, whatever p is called; of none, a dash. Without a name, as
    in a column headed p: ``0.012`` or ``< 0.001``."""
    if p is None:
        return NONE
    if p < 0.001:
        return f"{name} < 0.001".lstrip()
    return f"{name} = {p:.3f}" if name else f"{p:.3f}"


def share_interval(low: float | None, high: float | None) -> str:
    """Return the interval of a share as ``[12.1%, 14.0%]``; where there is none, a dash."""
    return NONE if low is None or high is None else f"[{low:.1%}, {high:.1%}]"


def dollars(amount: float | None) -> str:
    """Return US dollars, as :func:`arena.money.dollars` does; of none, a dash."""
    return NONE if amount is None else money.dollars(amount)


def mark(estimate: Estimate) -> str:
    """Return the sign of an approximate interval, or nothing."""
    return "~" if estimate.approximate else ""


def percent(share: float | None) -> str:
    """Return a share in percent with one decimal."""
    return NONE if share is None else f"{share:.1%}"


def database_option(given: str | None) -> str:
    """Return `` --db ...`` for a command that is shown to a person, as a shell reads it and without a
    password; nothing for the default database (or None)."""
    return "" if given in (None, "", DEFAULT) else f" --db {quote(redacted(str(given)))}"


def scenarios(estimates: Iterable[Estimate]) -> str:
    """Return how many scenarios each of `estimates` rests on, as ``64 scenarios each``."""
    counts = {estimate.clusters for estimate in estimates}
    if len(counts) == 1:
        return f"{counted(counts.pop(), 'scenario')} each"
    return f"{min(counts, default=0):,} to {max(counts, default=0):,} scenarios"


def when(iso: str) -> str:
    """Return an ISO 8601 time as ``29 Nov 2026, 16:46 UTC``; text that is no time as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment:%d %b %Y, %H:%M} UTC"


def notes(estimates: Iterable[Estimate]) -> list[str]:
    """Return the footnotes that a table with these estimates needs."""
    shown = list(estimates)
    found = []
    if any(estimate.approximate for estimate in shown):
        found.append(f"~ fewer than {FEW_CLUSTERS} scenarios: the interval is approximate.")
    problems = sorted({e.problem for e in shown if e.problem and e.value is not None})
    if problems:
        found.append(f"No interval: {'; '.join(problems)}.")
    return found


def visible(text: str) -> str:
    """Return `text` as a terminal or a page may show it, with its line ends."""
    return plain(text, lines=True)
