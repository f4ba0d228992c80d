"""The matches behind a row: a list with search and filters, each with its transcript one click away."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from arena.design import Design
from arena.errors import UserError
from arena.protocol import Ending
from arena.store import Filter, Listed, Store
from leaderboard import markup, void_words
from leaderboard.board_words import play_command
from leaderboard.views import common, controls
from leaderboard.views.downloads import download
from leaderboard.wording import NONE, counted
from scenarios.scenario import Role

PAGE = 100
_WIDTH = 160
"""Pixels of a filter: two stand beside each other on a phone."""
_ANY = ""
_RECORDS = {
    _ANY: "scored",
    "all": "scored and withdrawn",
    "withdrawn": "withdrawn only",
    "void": "void attempts",
}
_FAULTS = {_ANY: "any", "yes": "with faulty answers"}


def show() -> None:
    """List the matches that the address asks for."""
    store = common.open_store()
    left, right = st.columns(2)
    with left:
        design = common.chosen_design(store).design
    with right:
        text = controls.typed("Search", "search", "a key, a scenario, an ending's detail")
    wanted, void = _wanted(design, text)
    total = store.count(wanted, voids=void)
    if not total:
        _nothing(store, design, void)
        return
    page = _page(total)
    found = store.matches(wanted, voids=void, limit=PAGE, offset=(page - 1) * PAGE)
    _turn_pages(total, page, len(found), "void attempt" if void else "match")
    names = {role: design.names(role) for role in Role}
    st.html(_table(found, design.hash, names))
    download("these matches", partial(_rows, store, wanted, void, names), "matches")


def _wanted(design: Design, text: str) -> tuple[Filter, bool]:
    """Return what the filters let through, and whether void attempts are asked for."""
    sides = {role: {_ANY: "any"} | design.names(role) for role in Role}
    domains = [_ANY, *(domain.name for domain in design.domains)]
    endings = [_ANY, *(end.value for end in Ending)]
    openers = [_ANY, *(role.value for role in Role)]
    choices: dict[str, tuple[str, list[str], Mapping[str, str]]] = {
        "seller": ("Seller", list(sides[Role.SELLER]), sides[Role.SELLER]),
        "buyer": ("Buyer", list(sides[Role.BUYER]), sides[Role.BUYER]),
        "domain": ("Domain", domains, {_ANY: "any"}),
        "ending": ("Ending", endings, {_ANY: "any"}),
        "opener": ("Opener", openers, {_ANY: "either"}),
        "faults": ("Faults", list(_FAULTS), _FAULTS),
        "record": ("Record", list(_RECORDS), _RECORDS),
    }
    chosen = {}
    with st.container(horizontal=True, key="filters"):
        for parameter, (label, options, shown) in choices.items():
            with st.container(width=_WIDTH):
                chosen[parameter] = controls.choose(label, options, parameter, shown)
    record = chosen["record"]
    wanted = Filter(
        design=design,
        sellers=[chosen["seller"]] if chosen["seller"] else None,
        buyers=[chosen["buyer"]] if chosen["buyer"] else None,
        domains=[chosen["domain"]] if chosen["domain"] else None,
        ending=chosen["ending"] or None,
        opener=chosen["opener"] or None,
        faulty=bool(chosen["faults"]),
        withdrawn=record == "all",
        only_withdrawn=record == "withdrawn",
        text=text or None,
    )
    return wanted, record == "void"


def _nothing(store: Store, design: Design, void: bool) -> None:
    """Say why the list is empty, and what to do."""
    if void:
        st.info("No void attempt fits these filters.")
    elif store.count(Filter(design=design, withdrawn=True)):
        st.info("No match fits these filters.")
        st.html(markup.link("Clear the filters", "matches", design=design.hash))
    else:
        last = store.last_run(design.hash)
        command = play_command(design.hash, last, common.database())
        st.info(f"No scored match yet. To play this design: `{command}`")


def _page(total: int) -> int:
    """Return the page that the address asks for. Raises UserError where there is no such page."""
    given, last = st.query_params.get("page", "1"), -(-total // PAGE)
    if not given.isdecimal() or not 1 <= int(given) <= last:
        raise UserError(f"the address asks for page {given!r}, which is not here: there are {last:,}")
    return int(given)


def _turn_pages(total: int, page: int, shown: int, noun: str) -> None:
    """Show where in the list the reader is, and lead to the pages around it."""
    first, last = (page - 1) * PAGE + 1, -(-total // PAGE)
    what = counted(total, noun) if noun != "match" or total == 1 else f"{total:,} matches"
    with st.container(horizontal=True, vertical_alignment="center", key="pages"):
        st.html(
            f'<span class="ba-soft">{what}; {first:,} to {first + shown - 1:,} shown</span>',
            width="content",
        )
        if last == 1:
            return
        for label, target, key in (
            ("First", 1, None),
            ("Previous", page - 1, "Left"),
            ("Next", page + 1, "Right"),
            ("Last", last, None),
        ):
            st.button(
                label,
                key=f"page {label}",
                type="tertiary",
                shortcut=key,
                disabled=target == page or not 1 <= target <= last,
                on_click=_turn_to,
                args=(target,),
            )


def _turn_to(page: int) -> None:
    st.query_params["page"] = str(page)


def _table(shown: list[Listed], design: str, names: dict[Role, dict[str, str]]) -> str:
    headings = [
        markup.heading("match"),
        *(markup.heading(label) for label in ("seller", "buyer", "domain")),
        markup.heading("scenario", number=True),
        *(markup.heading(label) for label in ("opens", "ending")),
        *(
            markup.heading(label, number=True)
            for label in ("seller's utility", "buyer's utility", "turns", "faulty answers")
        ),
    ]
    return markup.table(headings, [_row(match, design, names) for match in shown])


def _row(match: Listed, design: str, names: dict[Role, dict[str, str]]) -> str:
    fault = f" (by the {match.at_fault})" if match.at_fault else ""
    if match.trouble is not None:
        fault += f": {void_words.trouble(match.ending, match.trouble)}"
    replicate = f" #{match.replicate + 1}" if match.replicate else ""
    panel = "" if match.feasible else " (infeasible)"
    attempt = str(match.attempt) if match.attempt else None
    label = f"{match.key[:8]} ({attempt})" if attempt else match.key[:8]
    gone = f'<br><span class="soft">withdrawn: {markup.text(match.withdrawn_reason)}</span>'
    note = f'<br><span class="soft">{markup.text(match.detail[:160])}</span>' if match.detail else ""
    faults = match.seller_faults + match.buyer_faults
    cells = [
        markup.cell(markup.link(label, "match", key=match.key, attempt=attempt, design=design)),
        markup.cell(
            markup.text(names[Role.SELLER].get(match.seller_version, match.seller_version)), kind="wrap"
        ),
        markup.cell(
            markup.text(names[Role.BUYER].get(match.buyer_version, match.buyer_version)), kind="wrap"
        ),
        markup.cell(markup.text(match.domain), kind="wrap"),
        markup.cell(f"{match.number}{replicate}{panel}", match.scenario, number=True),
        markup.cell(markup.text(match.opener)),
        markup.cell(
            markup.text(match.ending + fault) + note + (gone if match.withdrawn_at else ""), kind="wrap"
        ),
        markup.cell(_utility(match.seller_utility), number=True),
        markup.cell(_utility(match.buyer_utility), number=True),
        markup.cell(str(match.turns), number=True),
        markup.cell(str(faults) if faults else NONE, number=True),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _rows(
    store: Store, wanted: Filter, void: bool, names: dict[Role, dict[str, str]]
) -> list[dict[str, Any]]:
    """Return every match that the filters let through, for a download."""
    return [
        {
            "seller": names[Role.SELLER].get(match.seller_version, match.seller_version),
            "buyer": names[Role.BUYER].get(match.buyer_version, match.buyer_version),
        }
        | match._asdict()
        for match in store.matches(wanted, voids=void)
    ]


def _utility(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
