"""A design's matches as rows: who met whom on what, how it ended, and what was measured on it."""

from collections.abc import Generator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

from arena.measures import DTYPE, FAULTS, KINDS, NONE
from arena.store import Store, StoredDesign, Whole
from scenarios.scenario import SCALE, Role

_SPENT = {"tokens_in": int, "tokens_out": int, "cost_usd": float, "latency_s": float, "faults": int}
_BY = {"by_kind": KINDS, "faults": FAULTS}
"""What a measure's second axis runs over."""
_UTILITIES = ("surplus", "by_kind", "opening", "opening_named")
_MAY_LACK = ("surplus", "opening_terms", "opening", "opening_named")
"""Measures whose NONE means that there was nothing to measure."""


class Status(StrEnum):
    """What a match counts for."""

    SCORED = "scored"
    WITHDRAWN = "withdrawn"
    """It leaves every board, with a reason."""
    VOID = "void"
    """An attempt that counts for nobody; the same key may have been scored later."""


def _flattened() -> dict[str, list[str]]:
    """Return the columns of each measure, by its field; walk-away values stand with the utilities."""
    found = {}
    for field in DTYPE.names or ():
        axes = DTYPE[field].shape
        sides = [f"{role.value}_{field}" for role in Role] if axes else [field]
        more: Sequence[StrEnum] = _BY[field] if len(axes) == 2 else ()
        found[field] = [f"{side}_{one.value}" for side in sides for one in more] or sides
    del found["walk_away"]
    return found


_MEASURES = _flattened()
_SIDES = tuple(role.value for role in Role)
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("design", "key", "status"), str),
    "attempt": int,
    **dict.fromkeys(("seller", "seller_version", "buyer", "buyer_version"), str),
    **dict.fromkeys(("domain", "domain_version"), str),
    "held_out": bool,
    "scenario": str,
    "number": int,
    "feasible": bool,
    "opener": str,
    "replicate": int,
    **dict.fromkeys(("ending", "at_fault", "trouble", "detail"), str),
    "deal": dict,
    **{f"{side}_{what}": float for what in ("utility", "walk_away") for side in _SIDES},
    "turns": int,
    **{f"{side}_{what}": kind for side in _SIDES for what, kind in _SPENT.items()},
    "seconds": float,
    "started_at": datetime,
    "confirmatory": bool,
    "withdrawn_at": datetime,
    "withdrawn_reason": str,
    **{
        column: float if field in (*_UTILITIES, "distance") else int
        for field, columns in _MEASURES.items()
        for column in columns
    },
}
"""`confirmatory`: the match is scored and began after the design was frozen."""


def match_rows(store: Store, stored: StoredDesign) -> Generator[dict[str, Any]]:
    """Yield the rows of COLUMNS: scored and withdrawn matches, then void attempts, each in the order in
    which `arena matches` lists them."""
    design = stored.design
    names = {role: design.names(role) for role in Role}
    held_out = {domain.version: domain.held_out for domain in design.domains}
    for chunk in store.whole(design):
        for whole, measured in zip(chunk, _measured(chunk), strict=True):
            match = whole.match
            yield {
                "design": design.hash,
                "seller": names[Role.SELLER][match.seller_version],
                "buyer": names[Role.BUYER][match.buyer_version],
                "held_out": held_out[match.domain_version],
                **_row(whole, stored.created_at),
                **measured,
            }


def _row(whole: Whole, frozen: str) -> dict[str, Any]:
    match, scenario = whole.match, whole.scenario
    status = Status.SCORED if match.withdrawn_at is None else Status.WITHDRAWN
    row = {name: value for name, value in match._asdict().items() if name in COLUMNS}
    return row | {
        "status": Status.VOID.value if match.attempt else status.value,
        "attempt": match.attempt or None,
        "detail": match.detail or None,
        "feasible": bool(match.feasible),
        "deal": match.agreed(scenario),
        "seller_walk_away": scenario.seller.walk_away,
        "buyer_walk_away": scenario.buyer.walk_away,
        "confirmatory": not match.attempt and status is Status.SCORED and match.started_at >= frozen,
    }


def _measured(chunk: Sequence[Whole]) -> list[dict[str, Any]]:
    """Return the measures of each match by column; None where nothing was measured."""
    missing = bytes(DTYPE.itemsize)
    rows_M = np.frombuffer(b"".join(whole.measures or missing for whole in chunk), DTYPE)
    columns: dict[str, list[Any]] = {}
    for field, names in _MEASURES.items():
        values_M_C = rows_M[field].reshape(len(chunk), -1)
        scale = SCALE if field in _UTILITIES else 1
        for name, values_M in zip(names, values_M_C.T, strict=True):
            shown = (values_M / scale if scale > 1 else values_M).tolist()
            lacks = values_M == NONE if field in _MAY_LACK else values_M != values_M
            columns[name] = [None if none else v for v, none in zip(shown, lacks.tolist(), strict=True)]
    return [
        dict.fromkeys(columns) if whole.measures is None else dict(zip(columns, row, strict=True))
        for whole, row in zip(chunk, zip(*columns.values(), strict=True), strict=True)
    ]
