"""What every page needs: the record, the design that the address names, and one way to fail."""

import argparse
import csv
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from arena.design import Design
from arena.errors import UserError
from arena.results import Results
from arena.store import Store, StoredDesign
from leaderboard import markup, wording
from leaderboard.board import Board, board
from scenarios.scenario import Role

P = ParamSpec("P")
T = TypeVar("T")
Table = Sequence[Mapping[str, Any]]
log = logging.getLogger(__name__)


def database() -> str | None:
    """Return the database that ``-- --db`` or ARENA_DB names, or None for the default one."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--db")
    given = parser.parse_known_args(sys.argv[1:])[0].db
    return given or os.environ.get("ARENA_DB") or None


def open_store() -> Store:
    """Return the open record, never making one. Raises StoreError with what to do."""
    return _opened(database())


@st.cache_resource(show_spinner=False, max_entries=4)
def _opened(address: str | None) -> Store:
    return Store.open(address, create=False)


def results_of(store: Store, stored: StoredDesign) -> Results:
    """Return the design's scored matches, read once for a revision of the record."""
    return _results(store, store.address, stored.design.hash, store.revision())


def computed(
    function: Callable[Concatenate[Results, P], T],
    store: Store,
    stored: StoredDesign,
    *arguments: P.args,
    **named: P.kwargs,
) -> T:
    """Return ``function(results, *arguments, **named)`` for the design's results.

    It is computed once for a function (by its name: no lambda, no closure), a design, a revision of the
    record and the arguments, which Streamlit must be able to hash (texts, numbers, enums, tuples). What
    comes back is shared by all readers: change nothing in it.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    key = (store.address, stored.design.hash, store.revision())
    found: T = _computed(function, store, stored, name, *key, arguments, named)
    return found


def board_of(store: Store, stored: StoredDesign, role: Role) -> Board:
    """Return the board, computed once for a design, a role and a revision of the record."""
    return computed(board, store, stored, role)


@st.cache_resource(show_spinner=False, max_entries=4)
def _results(_store: Store, address: str, design: str, revision: int) -> Results:
    return _store.results(_store.design(design).design)


@st.cache_resource(show_spinner="Computing…", max_entries=200)
def _computed(
    _function: Callable[..., Any],
    _store: Store,
    _stored: StoredDesign,
    name: str,
    address: str,
    design: str,
    revision: int,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    return _function(_results(_store, address, design, revision), *arguments, **named)


def download(label: str, rows: Table | Callable[[], Table], name: str) -> None:
    """Put buttons under a table that download `rows` as CSV and as JSON, in files called `name`.

    `label` says what the rows are, as ``the board``. Nested values stand in the CSV as JSON. A function
    that returns the rows is called on a click only: for what takes a while to gather.
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


def _later(written: Callable[[Table], str], rows: Callable[[], Table]) -> str:
    return written(rows())


def _json(rows: Table) -> str:
    return json.dumps(list(rows), indent=1, ensure_ascii=False)


def _csv(rows: Table) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(field for row in rows for field in row)))
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                field: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
                for field, value in row.items()
            }
        )
    return out.getvalue()


def choose(
    label: str,
    options: Sequence[str],
    parameter: str,
    shown: Mapping[str, str] | None = None,
    clears: Sequence[str] = (),
) -> str:
    """Let the reader choose; the address carries the choice, and the first option is its absence.

    The address is the only state: a refresh, the back button and a copied link all show the same.
    Choosing anew takes the parameters in `clears` out of the address, since they may not fit any more.
    Raises UserError where the address asks for an option that there is not.
    """
    current = st.query_params.get(parameter, options[0])
    if current not in options:
        raise UserError(f"the address asks for {parameter} {current!r}, which is not here")
    words = shown or {}
    # The key changes with the address, so that no widget remembers what the address has left behind.
    key = f"{parameter}={current}"
    return st.selectbox(
        label,
        options,
        index=options.index(current),
        format_func=lambda option: words.get(option, option),
        key=key,
        on_change=_address_follows,
        args=(key, parameter, options[0], clears),
    )


def choose_many(label: str, options: Sequence[str], parameter: str, every: str) -> tuple[str, ...]:
    """Let the reader choose several; the address carries them, by commas; its absence is none of them.

    `every` is what stands in the empty box. Raises UserError where the address asks for an option that
    there is not.
    """
    given = st.query_params.get(parameter, "")
    current = tuple(dict.fromkeys(filter(None, given.split(","))))
    if strangers := [name for name in current if name not in options]:
        raise UserError(f"the address asks for {parameter} {strangers[0]!r}, which is not here")
    key = f"{parameter}={given}"
    st.multiselect(
        label,
        options,
        default=current,
        placeholder=every,
        key=key,
        on_change=_address_lists,
        args=(key, parameter),
    )
    return current


def _address_lists(key: str, parameter: str) -> None:
    st.query_params.pop("page", None)
    if picked := st.session_state[key]:
        st.query_params[parameter] = ",".join(picked)
    else:
        st.query_params.pop(parameter, None)


def _address_follows(key: str, parameter: str, absent: str, clears: Sequence[str]) -> None:
    picked = st.session_state[key]
    for gone in ("page", *clears):
        st.query_params.pop(gone, None)
    if picked == absent:
        st.query_params.pop(parameter, None)
    else:
        st.query_params[parameter] = picked


def chosen_design(store: Store) -> StoredDesign:
    """Return the design that the reader chose; the one run last at first."""
    designs = {stored.design.hash: stored for stored in store.designs()}
    if not designs:
        store.design()  # raises: says what to do
    given = st.query_params.get("design")
    if given is not None and given not in designs:
        raise UserError(f"there is no design {given} in {store.address}")
    shown = {
        key: f"{key} · {wording.when(stored.created_at)} · {_size(stored.design)}"
        for key, stored in designs.items()
    }
    others = [name for name in st.query_params if name not in ("view", "role", "design")]
    return designs[choose("Design", list(designs), "design", shown, others)]


def _size(design: Design) -> str:
    return f"{len(design.sellers)} × {len(design.buyers)}"  # noqa: RUF001


def guarded(show: Callable[[], None]) -> None:
    """Run a page. What goes wrong is told in a sentence; a traceback goes to the log alone."""
    try:
        show()
    except UserError as error:
        message = str(error)
        st.warning(markup.plain(message[:1].upper() + message[1:]))
        st.html(markup.link("To the board", "board"))
    except Exception:
        log.exception("a page failed")
        st.error("This page failed. The window in which the leaderboard runs says why.")
        st.html(markup.link("To the board", "board"))
