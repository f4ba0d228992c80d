"""The buttons under a table that download it."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from leaderboard.export.flat import Table
from leaderboard.export.formats import write_csv

Rows = Sequence[Mapping[str, Any]]


def download(label: str, rows: Rows | Callable[[], Rows], name: str) -> None:
    """Put buttons under a table that download `rows` as CSV and as JSON, in files called `name`.

    `label` says what the rows are, as ``the board``. The CSV is as `arena export` writes it: no
    spreadsheet takes a cell for a formula, and nested values are JSON. A function that returns the rows
    is called on a click only: for what takes a while to gather.
    """
    if not rows:
        return
    with st.container(horizontal=True, gap="small"):
        for kind, written, mime in (("csv", _csv, "text/csv"), ("json", _json, "application/json")):
            st.download_button(
                kind.upper(),
                partial(_later, written, rows) if callable(rows) else written(rows),
                f"{name}.{kind}",
                mime,
                key=f"download {name}.{kind}",
                help=f"Download {label} as {kind.upper()}",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
            )


def _later(written: Callable[[Rows], str], rows: Callable[[], Rows]) -> str:
    return written(rows())


def _json(rows: Rows) -> str:
    return json.dumps(list(rows), indent=1, ensure_ascii=False)


def _csv(rows: Rows) -> str:
    out = io.StringIO(newline="")
    columns = dict.fromkeys((field for row in rows for field in row), str)
    write_csv(Table(columns, rows, len(rows)), out, lambda done: None)
    return out.getvalue()
