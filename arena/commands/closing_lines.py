"""What a tournament says when it ends: what was played, what needs attention, what is next."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arena.lineup import Lineup
from arena.money import dollars
from arena.printable import plain
from arena.summary import Cause, Summary
from arena.tally import Tally
from leaderboard.wording import counted, database_option, listed

FAULTY = 0.1
"""An agent needs attention where so much of what it answers cannot be used: this project's choice."""
ENOUGH_ANSWERS = 20
"""Below so many answers, a share of faulty ones says little."""
_MATCHES = ("match is", "matches are")


class Notice(NamedTuple):
    """Something that needs attention. `kind` is stable, `text` for people; `agent` is its name."""

    kind: str
    agent: str | None
    text: str


def closing_lines(summary: Summary, lineup: Lineup, database: str | None) -> list[str]:
    """Return what a person wants: what was played, what needs attention (several points have a line
    each), and what is next in the `database` that has to be named (None for the default)."""
    scored = summary.already + summary.played
    rate = f" in {duration(summary.seconds)}" if summary.played else ""
    already = f" ({summary.already:,} were there already)" if summary.already else ""
    texts = [notice.text for notice in notices(summary, lineup, database)]
    first, *more = texts or ["nothing"]
    played = counted(summary.played, "match", "matches")
    return [
        f"Played: {played}{rate}; {scored:,} of {summary.planned:,} scored{already}{_cost(summary)}.",
        f"Attention: {first}" + ("" if more else "."),
        *(f"           {text}" for text in more),
        f"Next: {_next(summary, database_option(database))}",
    ]


def summary_json(summary: Summary, lineup: Lineup, database: str | None) -> dict[str, object]:
    """Return the object that `run-tournament --json` prints: what :func:`closing_lines` says."""
    needs = [notice._asdict() for notice in notices(summary, lineup, database)]
    return {**summary.to_json(), "attention": needs}


def notices(summary: Summary, lineup: Lineup, database: str | None) -> list[Notice]:
    """Return what needs attention, the most important first; `database` as in :func:`closing_lines`."""
    at, void = database_option(database), counted(summary.void, *_MATCHES)
    so_far = f", {summary.void_so_far:,} of them void so far" if summary.void_so_far else ""
    missing = [
        (summary.interrupted, "interrupted", "stopped before the end"),
        (summary.void, "void", f"{void} void every time and missing (arena voids{at} says whose)"),
        (summary.waiting, "left", f"{counted(summary.waiting, *_MATCHES)} left to play{so_far}"),
        (summary.withdrawn, "withdrawn", f"{counted(summary.withdrawn, *_MATCHES)} withdrawn"),
    ]
    tallies = list(summary.tallies.values())
    return [
        *_early(summary, Cause.BUG),
        *(one for tally in tallies for one in _aside(tally)),
        *_spent(tallies),
        *_early(summary, Cause.GIVEN_UP),
        *_early(summary, Cause.WORKER),
        *(one for tally in tallies for one in _voids(tally)),
        *(Notice(kind, None, text) for there, kind, text in missing if there),
        *_drift(summary, at),
        *(Notice("trained_against", None, plain(broken)) for broken in lineup.broken),
        *(one for tally in tallies for one in _conduct(tally, at)),
    ]


def _early(summary: Summary, cause: Cause) -> Iterator[Notice]:
    if summary.cause is cause:
        yield Notice(cause.value, None, plain(summary.trouble or ""))


def _aside(tally: Tally) -> Iterator[Notice]:
    if tally.set_aside is not None and not tally.set_aside.spent:
        kind = "stopped" if tally.set_aside.at_once else "set_aside"
        yield Notice(kind, tally.name, set_aside(tally))


def _spent(tallies: Sequence[Tally]) -> Iterator[Notice]:
    """Yield one notice for all agents that a budget does not suffice for."""
    short = {t.name: t.set_aside.detail for t in tallies if t.set_aside and t.set_aside.spent}
    if short:
        why = plain(next(iter(short.values())))
        yield Notice("budget", None, f"no money is left for {listed(list(short))}: {why}")


def set_aside(tally: Tally) -> str:
    """Say why an agent plays no more in a run, with its provider's words, which say what to do."""
    assert tally.set_aside is not None
    name, words = plain(tally.name), plain(tally.set_aside.detail)
    if tally.set_aside.spent:
        return f"no money is left for {name}, and whatever needs none is played on: {words}"
    if tally.set_aside.at_once:
        return f"{name} was stopped ({in_words(tally.set_aside.trouble)}): {words}"
    return f"{name} was set aside, because its provider kept failing ({words})"


def _voids(tally: Tally) -> Iterator[Notice]:
    if tally.voids:
        attempts = counted(tally.voids.total(), "void attempt")
        text = f"{plain(tally.name)}: {attempts} ({reasons(tally.voids)})"
        if tally.voids["silence"]:
            text += "; where it is only slow, register it with a higher --timeout"
        yield Notice("void_attempts", tally.name, text)


def _drift(summary: Summary, at: str) -> Iterator[Notice]:
    if summary.drift is not None:
        yield Notice("drift", None, f"{summary.drift} (arena drift{at})")


def _conduct(tally: Tally, at: str) -> Iterator[Notice]:
    """Yield what an agent did that is scored, and what it was not asked as it should have been."""
    name = plain(tally.name)
    for ending, count in tally.forfeits.items():
        text = f"{name} forfeited {count:,} (arena matches --ending {ending}{at})"
        yield Notice("forfeits", tally.name, text)
    rate = tally.fault_rate
    if rate is not None and rate >= FAULTY and tally.answers >= ENOUGH_ANSWERS:
        text = f"{tally.faults:,} of {tally.answers:,} answers of {name} could not be used ({rate:.0%})"
        yield Notice("faults", tally.name, f"{text}; arena show MATCH{at} says how")
    if tally.schema_refused is not None:
        text = f"{name}: its provider refused the schema of an answer, and got {tally.schema_refused}"
        yield Notice("schema_refused", tally.name, f"{text} in its place")


def _cost(summary: Summary) -> str:
    """Say what was spent, where anything may have been."""
    known, unknown = summary.known_usd, summary.unknown_usd
    unpriced = [plain(tally.name) for tally in summary.tallies.values() if tally.unpriced]
    billed = summary.played and not all(tally.free for tally in summary.tallies.values())
    parts = [dollars(known)] if known or (billed and not unpriced) else []
    if unknown:
        parts.append(f"up to {dollars(unknown)} for calls of unknown outcome")
    if unpriced:
        parts.append(f"what {', '.join(unpriced)} cost, which is not known")
    return f"; cost {' and '.join(parts)}" if parts else ""


def _next(summary: Summary, at: str) -> str:
    if summary.waiting:
        again = "run the same command again: it goes on where it stopped"
        if any(aside.at_once for aside in summary.set_aside.values()):
            return f"mend what stopped an agent, then {again}"
        if any(aside.spent for aside in summary.set_aside.values()):
            return "the same command with a higher --budget: it goes on where it stopped"
        if summary.cause is Cause.GIVEN_UP:
            return f"mend what ended the run, then {again}"
        return again
    if summary.void:
        return f"arena matches --void{at} says what failed; --retry-voids tries again"
    return f"arena standings{at}"


def reasons(voids: Counter[str]) -> str:
    """Return counts by kind of trouble, the most frequent first: ``rate limit 12, connection 3``."""
    return ", ".join(f"{in_words(kind)} {count:,}" for kind, count in voids.most_common())


def in_words(kind: str | None) -> str:
    """Return a kind of trouble as people write it."""
    return (kind or "unknown").replace("_", " ")


def duration(seconds: float) -> str:
    """Return a time in the largest unit that suits it, as ``4 min``."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
