"""Tables as CSV, JSON and Parquet. Rows are written as they come: a table need not fit in memory."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from leaderboard.export.flat import Row, Table, as_json
from leaderboard.wording import visible

Tick = Callable[[int], None]
"""Is told of so many more rows written."""
GROUP = 5_000
"""Rows in a group of a Parquet file."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a spreadsheet take a text for a formula (also in full width), or a cell seem to begin
elsewhere; and the apostrophe, so that taking one away restores every text."""


def write_csv(table: Table, out: IO[str], tick: Tick) -> None:
    """Write the table as CSV: nothing stands for None, ``true`` and ``false`` for truth, JSON for nested
    values, numbers in full.

    A text (a column's name, too) that a spreadsheet would take for a formula gets an apostrophe before
    it. Control characters are spelled out, so that neither a terminal nor a spreadsheet obeys them.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_harmless, table.columns))
    for row in table.rows:
        writer.writerow([_csv_cell(row.get(name)) for name in table.columns])
        tick(1)


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, int | float):
        return value
    return _harmless(value if isinstance(value, str) else as_json(value))


def _harmless(text: str) -> str:
    text = visible(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_json(table: Table, out: IO[str], tick: Tick, ascii_only: bool = False) -> None:
    """Write the table as a JSON list of objects, one a line, each with every column; null for None."""
    before = "[\n"
    for row in table.rows:
        whole = {name: row.get(name) for name in table.columns}
        out.write(before + json.dumps(whole, ensure_ascii=ascii_only, allow_nan=False))
        before = ",\n"
        tick(1)
    out.write("[]\n" if before == "[\n" else "\n]\n")


def write_parquet(table: Table, path: Path, tick: Tick) -> None:
    """Write the table as a Parquet file: times as timestamps in UTC, nested values as JSON text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow(kind)) for name, kind in table.columns.items()])
    with pq.ParquetWriter(path, schema) as writer:
        for rows in _groups(table.rows):
            arrays = [
                pa.array([_parquet_cell(row.get(name), kind) for row in rows], _arrow(kind))
                for name, kind in table.columns.items()
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            tick(len(rows))


def _arrow(kind: type) -> Any:
    import pyarrow as pa

    return {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
        dict: pa.string(),
    }[kind]


def _parquet_cell(value: Any, kind: type) -> Any:
    if value is None or kind not in (datetime, dict):
        return value
    return datetime.fromisoformat(value) if kind is datetime else as_json(value)


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    found = iter(rows)
    while group := list(islice(found, GROUP)):
        yield group
