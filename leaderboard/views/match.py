"""One match: the dialogue on the left; the utility plane and the terms on the right."""

import json

import streamlit as st

from arena.design import Design
from arena.errors import UserError
from arena.store import Filter, Listed, Store
from leaderboard import dialogue, figures, markup
from leaderboard.replay import replay
from leaderboard.views import common
from scenarios.scenario import Role, Scenario


def show() -> None:
    """Show the match whose key the address gives."""
    store = common.open_store()
    key = st.query_params.get("key")
    if not key:
        raise UserError("this address names no match")
    match = store.match(key)
    stored = store.design(st.query_params.get("design"))
    names = {
        role: stored.design.names(role).get(version, version)
        for role, version in (
            (Role.SELLER, match.seller_version),
            (Role.BUYER, match.buyer_version),
        )
    }
    scenario = store.scenarios([match.scenario_key])[match.scenario_key]
    deal = None if match.deal is None else tuple(json.loads(match.deal))
    turns = store.turns(match)
    shown = replay(scenario, turns, deal)
    st.html(_links(store, stored.design, match))
    title = f"{names[Role.SELLER]} sells to {names[Role.BUYER]}"
    st.html(f"<h3>{markup.text(title)}</h3>{_facts(match, scenario)}")
    left, right = st.columns([6, 5], gap="large")
    with left:
        st.html(dialogue.dialogue(turns, scenario, names) + _end(match))
    with right:
        st.altair_chart(figures.utility_plane(shown), width="stretch")
        st.html(dialogue.terms_table(shown))


def _facts(match: Listed, scenario: Scenario) -> str:
    limit = match.turns_rule or scenario.turn_limit
    told = "announced" if match.turns_rule else "hidden from both"
    panel = "" if match.feasible else " · infeasible: no package is worth it for both"
    facts = (
        f"{scenario.label} · the {match.opener} opens · at most {limit} turns a side ({told}) · "
        f"walk-away values: seller {scenario.seller.walk_away:.3f}, buyer "
        f"{scenario.buyer.walk_away:.3f}{panel}"
    )
    withdrawn = ""
    if match.withdrawn_at:
        withdrawn = f"<b>Withdrawn</b> ({markup.text(match.withdrawn_reason)}): it is in no score. "
    return f'<div class="ba-note">{withdrawn}{markup.text(facts)}<br>key {markup.text(match.key)}</div>'


def _end(match: Listed) -> str:
    fault = f", by the {match.at_fault}" if match.at_fault else ""
    worth = [
        f"{side} {value:.3f}"
        for side, value in (("seller", match.seller_utility), ("buyer", match.buyer_utility))
        if value is not None
    ]
    detail = f"<br>{markup.text(match.detail)}" if match.detail else ""
    ending = dialogue.ENDINGS.get(match.ending, match.ending)
    return f'<div class="ba-end">{markup.text(ending + fault)} · {", ".join(worth)}{detail}</div>'


def _links(store: Store, design: Design, match: Listed) -> str:
    """Return the way back, and the same cell played by the other sellers of the design."""
    back = markup.link(
        "← matches of this seller", "matches", design=design.hash, seller=match.seller_version
    )
    names = design.names(Role.SELLER)
    cell = {
        names.get(other.seller_version, other.seller_version): other.key
        for other in store.matches(
            Filter(design=design, buyers=[match.buyer_version], domains=[match.domain])
        )
        if _cell(other) == _cell(match)
    }
    links = [
        f"<b>{markup.text(name)}</b>"
        if key == match.key
        else markup.link(name, "match", key=key, design=design.hash)
        for name, key in sorted(cell.items())
    ]
    same = f"<br>The same cell played by: {' · '.join(links)}" if len(links) > 1 else ""
    return f'<div class="ba-links">{back}{same}</div>'


def _cell(match: Listed) -> tuple[str, str, str, int]:
    return match.scenario_key, match.buyer_version, match.opener, match.replicate
