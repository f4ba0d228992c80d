"""The ground: a domain's terms, what its scenarios come out as, one scenario whole, and the audit of the
buyers."""

from typing import Any

import streamlit as st

from arena.design import Design, DesignDomain
from arena.errors import UserError
from arena.schedule import indices
from arena.store import Store
from leaderboard import dialogue, grounds, markup, wording
from leaderboard.figures import grounds as ground_figure
from leaderboard.figures import match as match_figure
from leaderboard.tables import grounds as ground_table
from leaderboard.views import common, controls
from leaderboard.views.downloads import download
from scenarios.domain import Domain
from scenarios.draw import DRAW_VERSION, DrawError, draw
from scenarios.scenario import Role, Scenario, Split
from scenarios.survey import summed

MOST = 128
"""Scenarios of a domain that the page draws; a design may have more."""
_INFEASIBLE = "infeasible-"


def show() -> None:
    """Show the domain and the scenario that the address names."""
    store = common.open_store()
    left, middle, right = st.columns([5, 3, 2])
    with left:
        design = common.chosen_design(store).design
    names = {
        entry.name: entry.name + (" (held out)" if entry.held_out else "") for entry in design.domains
    }
    with middle:
        chosen = controls.choose("Domain", list(names), "domain", names, clears=("scenario",))
    entry = next(entry for entry in design.domains if entry.name == chosen)
    domain = _domain(store, entry)
    st.html(dialogue.STYLE)
    _briefs(domain, entry)
    drawn = _drawn(store, design, entry)
    if not drawn:
        st.html(ground_table.terms_table(domain, []))
        st.info(
            "The scenarios of this design were drawn by another release of the arena, so this one "
            "cannot draw them again. Each match still holds its own: open one from the list of matches."
        )
        return
    feasible = {str(s.index): s for s in drawn if s.feasible}
    every = feasible | {f"{_INFEASIBLE}{s.index}": s for s in drawn if not s.feasible}
    with right:
        scenario = every[controls.choose("Scenario", list(every), "scenario")]
    _overview(design, domain, list(feasible.values()))
    _scenario(design, scenario)
    _audits(store, design)


def _domain(store: Store, entry: DesignDomain) -> Domain:
    found = store.domains([entry.version]).get(entry.version)
    if found is None:
        raise UserError(f"{store.address} does not hold the domain {entry.name}@{entry.version}")
    return found


def _briefs(domain: Domain, entry: DesignDomain) -> None:
    apart = " · held out: reported apart from the pooled score" if entry.held_out else ""
    facts = f"{domain.name}, version {domain.version}, suite {domain.suite}{apart}"
    told = "".join(
        f'<details><summary>what the {role.value} is told</summary><div class="prose">'
        f"{markup.text(getattr(domain.briefs, role.value))}</div></details>"
        for role in Role
    )
    st.html(
        f'<h3 class="ba-title">{markup.text(domain.title)}</h3><div class="ba-note">'
        f'{markup.text(facts)}</div><div class="ba-plain">{told}</div>'
    )


def _drawn(store: Store, design: Design, entry: DesignDomain) -> list[Scenario]:
    """Return the design's first scenarios of a domain, feasible ones first; none where this release
    draws others than those that the design was made with."""
    if design.draw != DRAW_VERSION:
        return []
    return _draws(
        store,
        store.address,
        entry.version,
        tuple(indices(design))[:MOST],
        tuple(indices(design, feasible=False))[:MOST],
    )


@st.cache_resource(show_spinner="Drawing the scenarios…", max_entries=64)
def _draws(
    _store: Store, address: str, version: str, feasible: tuple[int, ...], infeasible: tuple[int, ...]
) -> list[Scenario]:
    domain = _store.domains([version])[version]
    try:
        return [
            draw(domain, Split.EVAL, index, panel)
            for panel, numbers in ((True, feasible), (False, infeasible))
            for index in numbers
        ]
    except DrawError as error:
        raise UserError(str(error)) from error


def _overview(design: Design, domain: Domain, drawn: list[Scenario]) -> None:
    less = f" The first {len(drawn)} of {design.scenarios:,}." if len(drawn) < design.scenarios else ""
    st.subheader("Terms and their kinds")
    st.caption(
        "The kind of a term is derived from both sides' private tables of a scenario: the counts are "
        f"of {wording.counted(len(drawn), 'scenario')}.{less} "
        + "; ".join(f"{kind.value}: {words}" for kind, words in grounds.KIND_WORDS.items())
        + ". The thresholds are ours."
    )
    left, right = st.columns([6, 5], gap="large")
    with left:
        st.html(ground_table.terms_table(domain, drawn))
        download("the terms", grounds.terms_rows(domain, drawn), f"terms-{domain.name}")
    with right:
        st.altair_chart(
            ground_figure.kinds_figure(domain, drawn),
            width="stretch",
            alt="Kinds of each term over scenarios",
        )
        for role in Role:
            st.altair_chart(
                ground_figure.walk_away_figure(drawn, role),
                width="stretch",
                alt=f"Distribution of the {role.value}'s walk-away value over scenarios",
            )
        found = summed(domain, drawn)
        st.html(ground_table.spreads_table(found))
        download("the draws", grounds.spreads(found), f"draws-{domain.name}")


def _scenario(design: Design, scenario: Scenario) -> None:
    st.subheader("One scenario")
    panel = "" if scenario.feasible else " · infeasible: no package is worth it for both"
    played = markup.link(
        "its matches", "matches", design=design.hash, search=scenario.label, domain=scenario.domain
    )
    st.html(
        f'<div class="ba-note">{markup.text(scenario.label)} · at most {scenario.turn_limit} turns a '
        f"side (hidden from both, unless the design fixes it){panel} · {played}</div>"
    )
    left, right = st.columns([6, 5], gap="large")
    with left:
        st.html(ground_table.utilities_table(scenario))
        download("both tables", grounds.utilities_rows(scenario), f"tables-{scenario.key[:12]}")
    with right, st.container(key="ba-beside"):
        plane = match_figure.utility_plane(grounds.landscape(scenario))
        st.altair_chart(
            plane, width="stretch", alt="The Pareto frontier, reference points, walk-away values"
        )
        st.html(ground_table.points_table(scenario))
        download("the points", grounds.points_rows(scenario), f"points-{scenario.key[:12]}")


def _audits(store: Store, design: Design) -> None:
    """Show what fixed policies earn from the design's buyers, as far as it was measured."""
    st.subheader("The audit of the buyers")
    names, stored = design.names(Role.BUYER), store.audits()
    found = {version: stored[version] for version in names if version in stored}
    st.caption(
        "What share of the perfect-information ceiling the best policy that does not bargain earns from "
        "a buyer. Over 90% (ours) marks the buyer as exploitable wherever it is shown."
    )
    if missing := [names[version] for version in names if version not in found]:
        at = wording.database_option(common.database())
        st.info(
            f"Not audited: {markup.plain(', '.join(missing))}. To audit the buyers of this design: "
            f"`arena scenarios audit --buyers {','.join(missing)}{at}`"
        )
    if found:
        rows = [_audit_row(names[version], audit) for version, audit in found.items()]
        st.html(_audit_table(rows))
        download("the audit", rows, "audit")


def _audit_row(buyer: str, audit: dict[str, Any]) -> dict[str, Any]:
    return {
        "buyer": buyer,
        **{policy["policy"]: policy["share"] for policy in audit["policies"]},
        "best": audit["best"],
        "exploitable": audit["exploitable"],
        "ceiling": audit["ceiling"],
        "scenarios": audit["scenarios"],
    }


def _audit_table(rows: list[dict[str, Any]]) -> str:
    policies = [name for name in rows[0] if name not in _BESIDE]
    headings = [
        markup.heading("buyer"),
        *(markup.heading(name, "share of the ceiling", number=True) for name in policies),
        markup.heading("best policy"),
        markup.heading("verdict"),
        markup.heading("ceiling", number=True),
        markup.heading("scenarios", number=True),
    ]
    shown = [
        f'<tr><td class="name">{markup.text(row["buyer"])}</td>'
        + "".join(markup.cell(wording.percent(row[name]), number=True) for name in policies)
        + markup.cell(markup.text(row["best"]))
        + markup.cell("<b>⚠ exploitable</b>" if row["exploitable"] else "not exploitable")
        + markup.cell(f"{row['ceiling']:.3f}", number=True)
        + markup.cell(f"{row['scenarios']:,}", number=True)
        + "</tr>"
        for row in rows
    ]
    return markup.table(headings, shown)


_BESIDE = ("buyer", "best", "exploitable", "ceiling", "scenarios")
