"""What every page needs: the record, what is computed from it, and the design that the address names."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import streamlit as st

from arena.design import Design
from arena.errors import UserError
from arena.results import Results
from arena.store import Store, StoredDesign
from leaderboard import board_words, markup, wording
from leaderboard.board import Board, board
from leaderboard.views import controls
from scenarios.scenario import Role

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A", bound="Versioned")


def database() -> str | None:
    """Return the database that ``-- --db`` or ARENA_DB names, or None for the default one."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--db")
    given = parser.parse_known_args(sys.argv[1:])[0].db
    return given or os.environ.get("ARENA_DB") or None


def open_store() -> Store:
    """Return the open record, never making one. Raises StoreError with what to do.

    It is opened anew, and all that was computed forgotten, where another file took its place.
    """
    address = database()
    store, opened = _opened(address)
    if _file(store.address) != opened:
        # An open file lives on without a name. Nobody may go on reading what is no longer there, and
        # revisions of another record mean nothing for this one's results.
        st.cache_resource.clear()
        store, _ = _opened(address)
    return store


@st.cache_resource(show_spinner=False, max_entries=4)
def _opened(address: str | None) -> tuple[Store, tuple[int, int] | None]:
    store = Store.open(address, create=False)
    return store, _file(store.address)


def _file(address: str) -> tuple[int, int] | None:
    """Return which file a database is (device and inode); None where it is none."""
    try:
        found = os.stat(address)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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


class Versioned(Protocol):
    """What is said of an agent, whose version it names."""

    @property
    def version(self) -> str:
        """The agent's version."""


def in_boards_order(found: Iterable[A], store: Store, stored: StoredDesign, role: Role) -> list[A]:
    """Return what is said of a design's agents in the order in which they stand on the board."""
    ranked = board_of(store, stored, role).rows
    place = {row.player.version: number for number, row in enumerate(ranked)}
    return sorted(found, key=lambda one: place[one.version])


def nothing_played(board: Board) -> bool:
    """Return whether a design has no match yet; then say so, and how to play it."""
    if not board.matches:
        st.info(f"Nothing is played yet. To play it: `{board_words.fill_command(board, database())}`")
    return not board.matches


def part(title: str) -> None:
    """Begin a part of a page."""
    st.html(f'<h3 class="ba-part">{markup.text(title)}</h3>')


@st.cache_resource(show_spinner=False, max_entries=2)  # of a million matches each takes 0.4 GB
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
    return designs[controls.choose("Design", list(designs), "design", shown, others)]


def _size(design: Design) -> str:
    return f"{len(design.sellers)} × {len(design.buyers)}"  # noqa: RUF001
