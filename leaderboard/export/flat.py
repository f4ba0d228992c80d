"""What the record says of a design as flat tables: its matches, its board, its contrasts, its log.

A row maps columns' names to values of the columns' types, or to None. Utilities are from 0 to 1, times
ISO 8601 in UTC. Nothing of an agent's connection (addresses, names of keys) is in any of them.
"""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena.results import Results
from arena.store import Filter, Store, StoredDesign
from leaderboard import comparison
from leaderboard.board import board
from leaderboard.export.matches import COLUMNS, match_rows
from leaderboard.inference.badges import badges
from leaderboard.inference.compared import Comparison, ContrastPanel
from leaderboard.inference.contrasts import asked
from leaderboard.verdicts import to_json, verdicts
from scenarios.scenario import Role

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows under columns of one type each: str, int, float, bool, datetime (a row has ISO text), or dict
    (whatever JSON can hold)."""

    columns: Mapping[str, type]
    rows: Iterable[Row]
    """They can be iterated over once."""
    count: int


def matches(store: Store, stored: StoredDesign) -> Table:
    """Return a row a match of the design: scored ones and withdrawn ones, then every void attempt."""
    wanted = Filter(design=stored.design, withdrawn=True)
    count = store.count(wanted) + store.count(wanted, voids=True)
    return Table(COLUMNS, match_rows(store, stored), count)


def standings(store: Store, stored: StoredDesign, role: Role) -> Table:
    """Return the board's rows as `arena standings --json` prints them, nested values flattened: names
    are joined by dots, and a guard is named by what it guards."""
    results = store.results(stored.design)
    marks = badges(stored.design, store.audits())
    nested = to_json(board(results, role), verdicts(results, role), marks)
    rows = [dict(_flat(row)) for row in nested]
    names = list(dict.fromkeys(name for row in rows for name in row))
    # What one agent has and another lacks is flattened for the first alone: the others lack its parts.
    kept = [name for name in names if not any(other.startswith(f"{name}.") for other in names)]
    return Table({name: _type(row.get(name) for row in rows) for name in kept}, rows, len(rows))


def _flat(value: Any, name: str = "") -> Generator[tuple[str, Any]]:
    if isinstance(value, list | tuple) and any(isinstance(entry, dict) for entry in value):
        # Guards, and the parts of one.
        value = {entry["name"].replace(" ", "_"): _without_name(entry) for entry in value}
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif value != ():
        yield name, str(value) if isinstance(value, str) else value


def _without_name(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "name"}


def _type(values: Iterable[Any]) -> type:
    """Return the type of a column with these values; a column of none at all is one of numbers."""
    found = {type(value) for value in values if value is not None}
    if found <= {int, float}:
        return int if found == {int} else float
    return found.pop() if found in ({str}, {bool}) else dict


def contrasts(store: Store, stored: StoredDesign) -> Table:
    """Return the declared family and every other gain over base, each over open and held-out domains.

    `part` is "all" for the contrast itself; "by buyer", "by domain" and "leave one out" rows, over open
    domains, say of what in `of`.
    """
    results = store.results(stored.design)
    found = asked(results)
    rows = [row for one in found for row in _contrast_rows(one, results)]
    return Table(_CONTRAST, rows, len(rows))


_CONTRAST: dict[str, type] = {
    **dict.fromkeys(("design", "contrast"), str),
    **dict.fromkeys(("plus", "minus"), dict),
    "declared": bool,
    "holm_m": int,
    **dict.fromkeys(("panel", "part", "of", "sentence"), str),
    **dict.fromkeys(("difference", "low", "high", "p", "adjusted_p"), float),
    **dict.fromkeys(("t_low", "t_high", "bootstrap_low", "bootstrap_high"), float),
    **dict.fromkeys(("df", "clusters", "cells", "dropped"), int),
    "detectable_effect": float,
    "confirmatory": bool,
    **dict.fromkeys(("why_exploratory", "problem", "advice"), str),
}
_ESTIMATE = ("value", "low", "high", "p", "df", "clusters", "cells", "problem")


def _contrast_rows(found: Comparison, results: Results) -> Generator[Row]:
    head = {
        "design": results.design.hash,
        "contrast": found.label,
        "plus": list(found.contrast.plus),
        "minus": list(found.contrast.minus),
        "declared": found.declared,
        "holm_m": found.tests,
    }
    whole: dict[str, Any] = head | {"part": "all", "of": "all"}
    said = {"panel": "open", "sentence": comparison.sentence(found), "advice": found.advice or None}
    yield whole | said | _panel(found)
    parts = {
        "by buyer": found.by_buyer,
        "by domain": found.by_domain,
        "leave one out": found.leave_one_out,
    }
    for part, estimates in parts.items():
        for name, one in estimates.items():
            yield (
                head
                | {"panel": "open", "part": part, "of": name}
                | one.figures(*_ESTIMATE, value="difference")
            )
    if found.held_out is not None:
        apart = {"panel": "held out", "sentence": comparison.held_out_sentence(found)}
        yield whole | apart | _panel(found.held_out)


def _panel(panel: ContrastPanel) -> dict[str, Any]:
    found = panel.figures(
        *_ESTIMATE,
        *("adjusted_p", "dropped", "mde", "confirmatory"),
        value="difference",
        mde="detectable_effect",
    )
    found["why_exploratory"] = panel.why or None
    for name, ends in (("t", panel.t_interval), ("bootstrap", panel.bootstrap_interval)):
        found[f"{name}_low"], found[f"{name}_high"] = ends or (None, None)
    return found


def deviations(store: Store, stored: StoredDesign) -> Table:
    """Return the log of what departed from the design, oldest first."""
    columns = {"design": str, "at": datetime, "kind": str, "what": str, "reason": str}
    log = store.deviations(stored.design.hash)
    rows: Sequence[Row] = [{"design": stored.design.hash, **entry._asdict()} for entry in log]
    return Table(columns, rows, len(rows))


def as_json(value: Any) -> str:
    """Return a nested value as the JSON text that stands in a flat table."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
