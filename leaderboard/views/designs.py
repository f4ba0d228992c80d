"""Designs: what each froze before play, and the log of what departed from it."""

from typing import Any

import streamlit as st

from arena.design import Design
from arena.results import Results
from arena.schedule import planned
from arena.store import Store, StoredDesign
from leaderboard import markup, wording
from leaderboard.tables import designs as design_table
from leaderboard.views import common
from leaderboard.views.downloads import download
from leaderboard.wording import counted


def show() -> None:
    """List the designs, and show the one that the address names; the one run last at first."""
    store = common.open_store()
    stored = common.chosen_design(store)
    every = store.designs()
    _head(store, stored)
    sellers, buyers = st.columns(2, gap="large")
    with sellers:
        _sellers(stored.design, every)
    with buyers:
        _buyers(store, stored.design)
        _domains(stored.design)
    _family(stored.design)
    _guards(stored.design)
    _log(store, stored.design)
    _list(store, every)


def _head(store: Store, stored: StoredDesign) -> None:
    design, analysis = stored.design, design_table.analysis_of(stored.design)
    scored, begun_before = common.computed(_played, store, stored)
    reused = (
        f", {begun_before:,} of them begun before the freeze: contrasts over those are exploratory"
        if begun_before
        else ""
    )
    links = " · ".join(
        markup.link(label, view, design=design.hash)
        for view, label in (("board", "its board"), ("matches", "its matches"))
    )
    st.html(
        f'<h3 class="ba-title">Design <code>{design.hash}</code></h3>'
        f"<div>Frozen {markup.text(wording.when(stored.created_at))}, last run "
        f"{markup.text(wording.when(stored.last_run_at))} · {links}<br>"
        f"{markup.text(design_table.rules(design))}<br>"
        f"<b>{scored:,} of {planned(design):,} planned matches scored</b>{reused}<br>"
        f"Boards print the {'t' if analysis.interval == 't' else 'bootstrap'} interval; p is always the "
        "t statistic's.</div>"
    )
    at = wording.database_option(common.database())
    st.caption(f"The same in a terminal: `arena design show {design.hash}{at}`")


def _played(results: Results) -> tuple[int, int]:
    """Return how many matches are scored, and how many of those began before the freeze."""
    return len(results.fresh_M), int((~results.fresh_M).sum())


def _sellers(design: Design, every: list[StoredDesign]) -> None:
    """Show the sellers with their bases, and how many arms were ever tried from each base."""
    rows = design_table.sellers(design)
    st.subheader(counted(len(rows), "seller"))
    st.html(design_table.table(rows, design_table.SELLERS))
    if notes := design_table.arms_tried(design, every):
        notes.append("Tried: over all designs of this record.")
        st.html(f'<div class="ba-note">{"<br>".join(map(markup.text, notes))}</div>')
    download("the sellers", rows, f"sellers-{design.hash}")


def _buyers(store: Store, design: Design) -> None:
    rows = design_table.buyers(design, store.audits())
    st.subheader(counted(len(rows), "buyer"))
    st.html(design_table.table(rows, design_table.BUYERS))
    if families := ", ".join(design_table.analysis_of(design).training_families):
        st.html(f'<div class="ba-note">Arms were trained against: {markup.text(families)}</div>')
    download("the buyers", rows, f"buyers-{design.hash}")


def _domains(design: Design) -> None:
    rows = design_table.domains(design)
    st.subheader(counted(len(rows), "domain"))
    links = {
        domain.name: markup.link(domain.name, "scenarios", design=design.hash, domain=domain.name)
        for domain in design.domains
    }
    st.html(design_table.table(rows, design_table.DOMAINS, links))
    download("the domains", rows, f"domains-{design.hash}")


def _family(design: Design) -> None:
    rows = design_table.contrasts(design)
    st.subheader("Declared contrasts")
    if not rows:
        st.html(
            '<div class="ba-note">No contrast was declared before play: every comparison of this design '
            "is exploratory. To declare some, freeze another design: <code>arena design freeze "
            "--contrasts …</code></div>"
        )
        return
    held_out = [domain.name for domain in design.domains if domain.held_out]
    apart = (
        f" The same contrasts on {', '.join(held_out)}, held out, are a family of their own."
        if held_out
        else ""
    )
    st.html(
        f'<div class="ba-note">One family: Holm over <b>m = {len(rows)}</b>, fixed before play.'
        f"{markup.text(apart)}</div>"
    )
    st.html(design_table.table(rows, design_table.CONTRASTS))
    download("the contrasts", rows, f"contrasts-{design.hash}")


def _guards(design: Design) -> None:
    st.subheader("Guards and limits (ours)")
    rows = design_table.limits(design)
    st.html(design_table.table(rows, design_table.LIMITS))
    download("the guards", rows, f"guards-{design.hash}")


def _log(store: Store, design: Design) -> None:
    st.subheader("What departed from the design")
    log = store.deviations(design.hash)
    if not log:
        at = wording.database_option(common.database())
        command = f"arena design deviate {design.hash} --what … --reason …{at}"
        st.html(
            '<div class="ba-note">No deviation is logged. The log is append-only; what the arena cannot '
            f"see for itself is added by <code>{markup.text(command)}</code></div>"
        )
        return
    st.html(design_table.table(design_table.log(log), design_table.LOG))
    download("the log", [entry._asdict() for entry in log], f"deviations-{design.hash}")


def _list(store: Store, every: list[StoredDesign]) -> None:
    st.subheader("All designs of this record")
    rows = [_row(store, stored) for stored in every]
    times = ("frozen", "last run")
    shown = [row | {name: wording.when(row[name]) for name in times} for row in rows]
    links = {
        key: markup.link(key, "designs", design=key) + " · " + markup.link("board", "board", design=key)
        for key in (row["design"] for row in rows)
    }
    st.html(design_table.table(shown, tuple(rows[0]), links))
    download("the designs", rows, "designs")


def _row(store: Store, stored: StoredDesign) -> dict[str, Any]:
    design = stored.design
    return {
        "design": design.hash,
        "frozen": stored.created_at,
        "last run": stored.last_run_at,
        "sellers": len(design.sellers),
        "buyers": len(design.buyers),
        "domains": len(design.domains),
        "scenarios": design.scenarios,
        "contrasts": len(design_table.analysis_of(design).contrasts),
        "planned": planned(design),
        "deviations": len(store.deviations(design.hash)),
    }
