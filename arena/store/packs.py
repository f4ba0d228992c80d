"""What a pack is: many matches in one compressed block of columns that NumPy takes as they stand."""

import json
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row

from arena import measures
from arena.record import Played

MEASURES_OF = {name: f"measures.{name}" for name in measures.DTYPE.fields or ()}
"""What the columns of measures are called, by field of `arena.measures.DTYPE`."""
FIELDS = {
    "key": np.dtype("V16"),
    "scenario": np.dtype("<u4"),
    "pair": np.dtype("<u4"),
    "way": np.dtype("<u4"),
    "replicate": np.dtype("<i4"),
    "utility": np.dtype(("<f8", 2)),
    "faults": np.dtype(("<i4", 2)),
    "tokens": np.dtype(("<f8", 2)),
    "cost_usd": np.dtype(("<f8", 2)),
    "latency_s": np.dtype(("<f8", 2)),
    "started_at": np.dtype("S32"),
} | {name: measures.DTYPE[field] for field, name in MEASURES_OF.items()}
"""The columns of a pack, in order: what one match has in each. An axis of 2 is (seller, buyer); NaN: not
known. `key` is the key's bytes; `scenario`, `pair` and `way` are places in the pack's own lists."""
_STRIDES = {name: np.empty(kind.shape, kind.base).strides for name, kind in FIELDS.items()}
_WAY = ("opener", "ending", "at_fault", "turns_rule", "message_limit", "protocol")
_SIDES = ("seller", "buyer")
_BY_SIDE = ("utility", "faults", "tokens_in", "tokens_out", "cost_usd", "latency_s")
COLUMNS = (
    *("key", "scenario_key", "seller_version", "buyer_version", "replicate", "started_at", *_WAY),
    *(f"{side}_{name}" for side in _SIDES for name in _BY_SIDE),
)


class Way(NamedTuple):
    """By which rules, and how, a match was played: what it has in common with very many others."""

    opener: str
    ending: str
    at_fault: str | None
    turns_rule: int | None
    message_limit: int
    protocol: int


class Pack(NamedTuple):
    """Some matches, and what the numbers in them stand for."""

    matches: int
    """How many."""
    column: Mapping[str, NDArray[Any]]
    """By name of FIELDS."""
    scenarios: Sequence[str]
    """Keys."""
    pairs: Sequence[tuple[str, str]]
    """Versions of a seller and a buyer."""
    ways: Sequence[Way]
    words: Sequence[str | None] | None
    """Those of each match, as `arena.measures.words` puts them; None where nobody spoke."""


def packed(rows: Sequence[Played] | Sequence[Row[Any]]) -> dict[str, Any]:
    """Return matches, one or more, as a row of the table `packs`, by column; :func:`unpacked` reads it.

    What is the same in all of them is kept once: reading takes as long as there is to decompress.
    """
    column, names = _columns(rows)
    bytes_of = {name: _bytes(column[name], kind) for name, kind in FIELDS.items()}
    same = [name for name, row_M in bytes_of.items() if (row_M == row_M[:1]).all()]
    content = b"".join(
        row_M[: 1 if name in same else None].tobytes() for name, row_M in bytes_of.items()
    )
    words = [row.words for row in rows]
    spoken = any(said is not None for said in words)
    return {
        "matches": len(rows),
        "names": json.dumps({"same": same} | names),
        "content": zlib.compress(content, 1),
        "words": zlib.compress(json.dumps(words).encode(), 1) if spoken else None,
    }


def _columns(
    rows: Sequence[Played] | Sequence[Row[Any]],
) -> tuple[dict[str, NDArray[Any]], dict[str, list[Any]]]:
    """Return matches as columns, by name of FIELDS, and what the numbers in them stand for."""
    names = (*COLUMNS, "measures")
    of = dict(zip(names, zip(*map(attrgetter(*names), rows), strict=True), strict=True))
    scenarios, scenario_M = _numbered(of["scenario_key"])
    pairs, pair_M = _numbered(zip(of["seller_version"], of["buyer_version"], strict=True))
    ways, way_M = _numbered(zip(*(of[name] for name in _WAY), strict=True))
    measures_M = np.frombuffer(b"".join(of["measures"]), measures.DTYPE)

    def by_side(name: str, kind: type = float) -> NDArray[Any]:
        return np.array([of[f"{side}_{name}"] for side in _SIDES], kind).T  # None becomes NaN

    column: dict[str, NDArray[Any]] = {
        "key": np.frombuffer(bytes.fromhex("".join(of["key"])), "V16"),
        "scenario": scenario_M,
        "pair": pair_M,
        "way": way_M,
        "replicate": np.array(of["replicate"]),
        "faults": by_side("faults", int),
        "tokens": by_side("tokens_in") + by_side("tokens_out"),
        "started_at": np.array(of["started_at"], "S32"),
    }
    column |= {name: by_side(name) for name in ("utility", "cost_usd", "latency_s")}
    column |= {name: measures_M[field] for field, name in MEASURES_OF.items()}
    return column, {"scenarios": scenarios, "pairs": pairs, "ways": ways}


def unpacked(row: Row[Any]) -> Pack:
    """Return what a row of the table `packs` holds."""
    names, content, at = json.loads(row.names), zlib.decompress(row.content), 0
    column = {}
    for name, kind in FIELDS.items():
        held, step = (1, 0) if name in names["same"] else (row.matches, kind.itemsize)
        shape, strides = (row.matches, *kind.shape), (step, *_STRIDES[name])
        column[name] = np.ndarray(shape, kind.base, content, at, strides)
        at += held * kind.itemsize
    return Pack(
        row.matches,
        column,
        names["scenarios"],
        [(seller, buyer) for seller, buyer in names["pairs"]],
        [Way._make(way) for way in names["ways"]],
        None if row.words is None else json.loads(zlib.decompress(row.words)),
    )


def as_text(key_M: NDArray[np.void]) -> str:
    """Return packed keys one after the other, 32 hexadecimal digits each."""
    return key_M.tobytes().hex()


def _bytes(column_M: NDArray[Any], kind: np.dtype[Any]) -> NDArray[np.uint8]:
    """Return a column as it is kept, a row of bytes a match."""
    kept_M = np.ascontiguousarray(column_M, kind.base)
    return kept_M.view(np.uint8).reshape(len(kept_M), -1)


def _numbered(values: Iterable[Hashable]) -> tuple[list[Any], NDArray[Any]]:
    """Return the distinct values in order of appearance, and each one's place among them."""
    place: dict[Hashable, int] = {}
    numbers = [place.setdefault(value, len(place)) for value in values]
    return list(place), np.array(numbers)
