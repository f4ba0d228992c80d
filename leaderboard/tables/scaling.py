"""The figure of scaling as a table, and the differences of gains beside it."""

from collections.abc import Callable, Iterator, Sequence

from leaderboard import comparison, signs, wording
from leaderboard.inference.compared import Comparison
from leaderboard.inference.scaling import Point, rate_label, size_label
from leaderboard.markup import cell, heading, link, table, text
from leaderboard.tables.cells import stacked


def scaling_table(shown: Sequence[Point], design: str) -> str:
    """Return a row an arm, those without a place in the figure included."""
    headings = [
        heading("seller"),
        heading("gain over base", number=True, term="gain"),
        heading("p", "Holm's, or exploratory"),
        heading("cells / scenarios", number=True),
        heading("effective parameters", number=True),
        heading("learning rate", number=True),
        heading("architecture"),
        heading("steps", number=True),
        heading("tokens", number=True),
        heading("compute", "set against the arm of the same base at the reference rate (ours)"),
    ]
    return table(headings, [f"<tr>{''.join(_cells(point, design))}</tr>" for point in shown])


def _cells(point: Point, design: str) -> Iterator[str]:
    pair = link(point.seller, "compare", design=design, a=point.version, b=point.gain.contrast.minus[0])
    yield f'<td class="name">{pair}<br><span class="soft">from {text(point.base)}</span></td>'
    gain = point.gain
    value = wording.signed(gain.estimate.value)
    interval = wording.signed_interval(gain.interval) if gain.interval else gain.estimate.problem or ""
    shown = f"<b>{value}</b>" if gain.detectable and gain.confirmatory else value
    yield stacked(shown, interval)
    yield cell(text(signs.contrast_p(gain)), gain.why)
    yield cell(f"{gain.cells:,} / {gain.estimate.clusters:,}", number=True)
    yield cell(_known(point.params, size_label), number=True)
    yield cell(_known(point.learning_rate, rate_label), number=True)
    yield cell(text(point.architecture or point.family or wording.NONE))
    yield cell(_known(point.steps, "{:,.0f}".format), number=True)
    yield cell(_known(point.tokens, "{:.3g}".format), number=True)
    missing = f"not in the figure: no {', no '.join(point.lacking)}"
    yield f'<td class="ba-why">{text(missing if point.lacking else point.compute)}</td>'


def _known(value: float | None, word: Callable[[float], str]) -> str:
    return wording.NONE if value is None else text(word(value))


def scaling_rows(shown: Sequence[Point]) -> list[dict[str, object]]:
    """Return the same for a download."""
    rows: list[dict[str, object]] = []
    for point in shown:
        low, high = point.gain.interval or (None, None)
        rows.append(
            {
                "seller": point.seller,
                "version": point.version,
                "base": point.base,
                "params": point.params,
                "learning_rate": point.learning_rate,
                "gain": point.gain.estimate.value,
                "low": low,
                "high": high,
                "p": point.gain.p,
                "adjusted_p": point.gain.adjusted_p,
                "confirmatory": point.gain.confirmatory,
                "cells": point.gain.cells,
                "scenarios": point.gain.estimate.clusters,
                "architecture": point.architecture,
                "family": point.family,
                "steps": point.steps,
                "tokens": point.tokens,
                "compute": point.compute,
                "lacking": point.lacking,
            }
        )
    return rows


def differences_list(found: Sequence[Comparison]) -> str:
    """Return the declared differences of gains, a sentence each."""
    return "".join(f"<div>{text(comparison.sentence(one))}.</div>" for one in found)
