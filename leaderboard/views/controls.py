"""What a reader chooses or types: the address carries it, so that a refresh, the back button and a
copied link all show the same."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from arena.errors import UserError
from scenarios.scenario import Role

ROLES = {role.value: f"{role.value}s" for role in Role}
"""The options of a choice between sellers and buyers, with their words."""
PANELS = {"open": "open domains", "held_out": "held-out domains"}
"""The same for the domains' panels."""


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
    current = asked(options, parameter)
    words = shown or {}
    key = _key(parameter, current)
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
    current = asked_many(options, parameter)
    key = _key(parameter, ",".join(current))
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


def asked(options: Sequence[str], parameter: str) -> str:
    """Return which option the address asks for, as :func:`choose` does; raises what it raises. For
    a page to call before it draws, where the control stands far below."""
    current = st.query_params.get(parameter, options[0])
    if current not in options:
        raise UserError(f"the address asks for {parameter} {current!r}, which is not here")
    return current


def asked_many(options: Sequence[str], parameter: str) -> tuple[str, ...]:
    """The same for :func:`choose_many`."""
    given = st.query_params.get(parameter, "")
    current = tuple(dict.fromkeys(filter(None, given.split(","))))
    if strangers := [name for name in current if name not in options]:
        raise UserError(f"the address asks for {parameter} {strangers[0]!r}, which is not here")
    return current


def typed(label: str, parameter: str, hint: str) -> str:
    """Let the reader type; the address carries it, as in :func:`choose`."""
    current = st.query_params.get(parameter, "")
    key = _key(parameter, current)
    st.text_input(
        label,
        current,
        key=key,
        placeholder=hint,
        type="search",
        on_change=_address_says,
        args=(key, parameter),
    )
    return current.strip()


def _key(parameter: str, current: str) -> str:
    """Return the key of the widget that shows `current`. It changes with what is shown, so that no
    widget remembers what the address has left behind, and with every change that a reader makes, so that
    each widget serves once."""
    return f"{current} as {_stand(parameter)}"


def _stand(parameter: str) -> str:
    """Return what the address says of a parameter, and how often the reader has changed it."""
    said, times = st.query_params.get(parameter, ""), st.session_state.get(_changes(parameter), 0)
    return f"{parameter}={said} ({times})"


def _changes(parameter: str) -> str:
    return f"changes of {parameter}"


def _given(key: str, parameter: str) -> Any:
    """Return what the reader chose or typed, and None where the widget is not one that stands under the
    address: a browser that steps back may send once more what was chosen before."""
    if not key.endswith(f" as {_stand(parameter)}"):
        return None
    st.session_state[_changes(parameter)] = st.session_state.get(_changes(parameter), 0) + 1
    return st.session_state[key]


def _address_says(key: str, parameter: str) -> None:
    typed = _given(key, parameter)
    if typed is None:
        return
    st.query_params.pop("page", None)
    st.query_params.pop(parameter, None)
    if typed.strip():
        st.query_params[parameter] = typed.strip()


def _address_lists(key: str, parameter: str) -> None:
    picked = _given(key, parameter)
    if picked is None:
        return
    st.query_params.pop("page", None)
    if picked:
        st.query_params[parameter] = ",".join(picked)
    else:
        st.query_params.pop(parameter, None)


def _address_follows(key: str, parameter: str, absent: str, clears: Sequence[str]) -> None:
    picked = _given(key, parameter)
    if picked is None:
        return
    for gone in ("page", *clears):
        st.query_params.pop(gone, None)
    if picked == absent:
        st.query_params.pop(parameter, None)
    else:
        st.query_params[parameter] = picked
