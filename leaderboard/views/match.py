"""One match: the dialogue on the left; the utility plane and the terms on the right."""

import json
from collections.abc import Sequence
from functools import partial

import streamlit as st

from arena.design import Design
from arena.errors import UserError
from arena.store import Filter, Listed, Store, StoreError
from leaderboard import dialogue, markup
from leaderboard.figures import match as match_figure
from leaderboard.receipt_words import receipt_words
from leaderboard.replay import Transcript, replay, transcript, turns_content
from leaderboard.views import common
from leaderboard.views.downloads import download
from scenarios.scenario import Role


def show() -> None:
    """Show the match, or the void attempt, that the address gives."""
    store = common.open_store()
    key = st.query_params.get("key")
    if not key:
        raise UserError("this address names no match: choose one from the list of matches")
    design = store.design(st.query_params.get("design")).design
    attempts = _void_attempts(store, key)
    match = _chosen(store, key, attempts)
    shown = transcript(store, design, match)
    st.html(dialogue.STYLE)
    _neighbours(store, design, match)
    st.html(dialogue.head(shown) + _attempts_links(match, attempts, design))
    _body(store, shown)


def _body(store: Store, shown: Transcript) -> None:
    found = replay(shown.scenario, shown.turns, shown.deal)
    left, right = st.columns([6, 5], gap="large")
    with left:
        spoken = dialogue.dialogue(shown.turns, shown.scenario, shown.names)
        st.html((spoken or _SILENT) + dialogue.ending(shown))
        _files(store, shown)
    with right, st.container(key="ba-beside"):
        st.altair_chart(match_figure.utility_plane(found), width="stretch", alt=_ALT)
        st.html(dialogue.terms_table(found))
        download("the terms", dialogue.terms_rows(found), f"terms-{shown.match.key[:12]}")


_SILENT = '<div class="ba-note">Nobody got as far as a first turn.</div>'
_ALT = (
    "All offers in the plane of both sides' utilities, in order, with the Pareto frontier, the Nash and "
    "Kalai-Smorodinsky points, both walk-away values and the deal"
)


def _chosen(store: Store, key: str, attempts: Sequence[Listed]) -> Listed:
    """Return the void attempt that the address asks for, else the match, else the last void attempt."""
    wanted = st.query_params.get("attempt")
    if wanted is not None:
        for match in attempts:
            if str(match.attempt) == wanted:
                return match
        raise UserError(f"this match has no void attempt {wanted!r}")
    try:
        return store.match(key)
    except StoreError:
        if attempts:
            return attempts[-1]
        raise


def _void_attempts(store: Store, key: str) -> list[Listed]:
    found = store.matches(Filter(text=key), voids=True)
    return [match for match in found if match.key.startswith(key.strip().lower())]


def _attempts_links(match: Listed, attempts: Sequence[Listed], design: Design) -> str:
    """Return links to the other attempts at this match, where there were any."""
    if not attempts:
        return ""
    links = [
        f"<b>void attempt {other.attempt}</b>"
        if other.attempt == match.attempt
        else markup.link(
            f"void attempt {other.attempt}",
            "match",
            key=other.key,
            attempt=str(other.attempt),
            design=design.hash,
        )
        for other in attempts
    ]
    if match.attempt:
        links.append(markup.link("the scored match", "match", key=match.key, design=design.hash))
    else:
        links.append("<b>the scored match</b>")
    return f'<div class="ba-note">Tried more than once: {" · ".join(links)}</div>'


def _neighbours(store: Store, design: Design, match: Listed) -> None:
    """Show the way back, and the same cell played by the other sellers, an arrow key apart."""
    back = markup.link(
        "← matches of this seller", "matches", design=design.hash, seller=match.seller_version
    )
    cell = _cell(store, design, match)
    with st.container(horizontal=True, vertical_alignment="center", key="neighbours"):
        st.html(f'<span class="ba-links">{back}</span>', width="content")
        if len(cell) > 1:
            _steps(design, match, cell)


def _steps(design: Design, match: Listed, cell: Sequence[Listed]) -> None:
    names = design.names(Role.SELLER)
    place = [other.seller_version for other in cell].index(match.seller_version)
    for step, arrow, label in ((-1, "Left", "previous"), (1, "Right", "next")):
        other = cell[(place + step) % len(cell)]
        name = markup.plain(names.get(other.seller_version, other.seller_version))
        st.button(
            f"{label}: {name}",
            key=f"{label} seller",
            shortcut=arrow,
            type="tertiary",
            help=f"The same cell played by the {label} seller: {place + 1} of {len(cell)} shown",
            on_click=_go,
            args=(other.key,),
        )


def _go(key: str) -> None:
    st.query_params.pop("attempt", None)
    st.query_params["key"] = key


def _cell(store: Store, design: Design, match: Listed) -> list[Listed]:
    """Return who played this cell, in the design's order; with the shown one, were it void."""
    cell = Filter(
        design=design,
        withdrawn=True,
        buyers=[match.buyer_version],
        scenario_key=match.scenario_key,
        opener=match.opener,
        replicate=match.replicate,
    )
    order = {player.version: place for place, player in enumerate(design.sellers)}
    found = {other.seller_version: other for other in store.matches(cell)}
    found[match.seller_version] = match
    return sorted(found.values(), key=lambda other: order.get(other.seller_version, -1))


def _files(store: Store, shown: Transcript) -> None:
    """Offer the whole match as a file, and show folded what was sent to the models."""
    if dialogue.cut(shown.turns):
        st.caption("The texts of this match are long: each is cut here, and whole in the download.")
    st.download_button(
        "The whole match as JSON",
        partial(_whole, store, shown),
        f"match-{shown.match.key[:12]}.json",
        "application/json",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        key="download match",
    )
    receipts = store.receipts(shown.match)
    if receipts:
        sent = json.dumps(receipts, indent=1, ensure_ascii=False)
        words = "".join(
            f"<p>to the {markup.text(side)}: {markup.text(receipt_words(receipt)[: dialogue.SHOWN])}</p>"
            for side, receipt in receipts.items()
        )
        st.html(
            '<div class="ba-plain"><details><summary>receipts: what was effectively sent to the models'
            f"</summary>{words}<pre>{markup.text(sent[: dialogue.SHOWN])}</pre></details></div>"
        )


def _whole(store: Store, shown: Transcript) -> str:
    match = shown.match._asdict() | {
        "seller": shown.names[Role.SELLER],
        "buyer": shown.names[Role.BUYER],
        "scenario_content": shown.scenario.content(),
        "receipts": store.receipts(shown.match),
        "turns": turns_content(shown.turns, shown.scenario),
    }
    # A model may have said half a surrogate pair, which no file can hold as it is.
    return json.dumps(match, indent=1, ensure_ascii=True)
