"""What a reader chooses or types: the address carries it, so that a refresh, the back button and a
copied link all show the same."""

from collections.abc import Mapping, Sequence

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
    current = asked_many(options, parameter)
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
    key = f"{parameter}={current}"
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


def _address_says(key: str, parameter: str) -> None:
    typed = st.session_state[key].strip()
    st.query_params.pop("page", None)
    st.query_params.pop(parameter, None)
    if typed:
        st.query_params[parameter] = typed


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
