"""The one table that `make bench` writes, as Markdown and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.benchmarks.figures import Figure
from tests.benchmarks.running import Ran

COLUMNS = ("benchmark", "what", "ours", "peer", "peer's", "ratio", "aim", "conditions")


def content(at: str, on: Mapping[str, Any], ran: Mapping[str, Ran]) -> dict[str, Any]:
    """Return all of it as JSON-ready data.

    `on`: the `machine` and the `versions`; `ran`: what came of each benchmark, by its name.
    """
    return {
        "at": at,
        **on,
        "figures": [
            {"benchmark": name, **figure}
            for name, one in ran.items()
            for figure in one.result.get("figures", [])
        ],
        "not_measured": {name: one.trouble for name, one in ran.items() if one.trouble},
        "seconds": {name: round(one.seconds, 1) for name, one in ran.items() if one.seconds},
        "load": {name: round(one.load, 1) for name, one in ran.items() if one.seconds},
        "results": {
            name: {key: value for key, value in one.result.items() if key != "figures"}
            for name, one in ran.items()
        },
    }


def markdown(found: Mapping[str, Any]) -> str:
    """Return the table, with what it was measured on, of a :func:`content`."""
    lines = [f"Measured {found['at']}.", ""]
    lines += [f"- {what}: {said}" for what, said in found["machine"].items()]
    lines += ["- " + ", ".join(f"{name} {of}" for name, of in found["versions"].items())]
    busy = ", ".join(f"{name} {load:.1f}" for name, load in found["load"].items())
    lines += [f"- load as each benchmark began: {busy}", "", _row(COLUMNS), _row("---" for _ in COLUMNS)]
    for one in found["figures"]:
        name, figure = one["benchmark"], {key: of for key, of in one.items() if key != "benchmark"}
        lines.append(_row((name, *cells(Figure(**figure)))))
    if troubles := found["not_measured"]:
        lines += ["", "Not measured:", "", *(f"- {name}: {why}" for name, why in troubles.items())]
    return "\n".join(lines) + "\n"


def cells(figure: Figure) -> tuple[str, ...]:
    """Return a figure as the words of its row."""
    ours, theirs, ratio = (_number(of) for of in (figure.ours, figure.theirs, figure.ratio))
    return (
        figure.what,
        f"{ours} {figure.unit}".rstrip(),
        figure.peer,
        f"{theirs} {figure.unit}".rstrip() if theirs else "",
        ratio,
        aim(figure),
        figure.conditions,
    )


def aim(figure: Figure) -> str:
    """Return what was aimed at, and whether it was reached: empty where there is no aim, without the
    verdict where what it is about was not measured."""
    bounds = [(">=", figure.least), ("<=", figure.most)]
    told = " and ".join(f"{sign} {_number(bound)}" for sign, bound in bounds if bound is not None)
    value = figure.ratio if figure.peer and not figure.absolute else figure.ours
    if not told or value is None:
        return told
    reached = (figure.least is None or value >= figure.least) and (
        figure.most is None or value <= figure.most
    )
    return f"{told}: {'reached' if reached else 'missed'}"


def _number(value: float | None) -> str:
    """Return three digits that count, or the whole number; empty for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _row(words: Iterable[str]) -> str:
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"
