"""Designs: what each froze before play, and the log of what departed from it."""

from typing import Any

import streamlit as st

from arena.analysis import Analysis, Contrast, Guards
from arena.design import Design, Player
from arena.deviations import tried
from arena.schedule import planned
from arena.store import Filter, Store, StoredDesign
from leaderboard import markup, wording
from leaderboard.views import common
from leaderboard.wording import NONE, counted
from scenarios.scenario import Role


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
    design, analysis = stored.design, _analysis(stored.design)
    scored, begun_before = _played(store, stored)
    turns = f"{design.turns} turns a side, announced" if design.turns else "hidden limits of turns"
    infeasible = f" and {design.infeasible:,} without a zone of agreement" if design.infeasible else ""
    replicates = f", {design.replicates} replicates" if design.replicates > 1 else ""
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
        f"{design.scenarios:,} scenarios a domain{infeasible}{replicates} · opener: {design.opener} · "
        f"{turns} · seed {design.seed} · messages of at most {design.message_limit:,} characters<br>"
        f"<b>{scored:,} of {planned(design):,} planned matches scored</b>{reused}<br>"
        f"Boards print the {'t' if analysis.interval == 't' else 'bootstrap'} interval; p is always the "
        "t statistic's.</div>"
    )
    at = f" --db {common.database()}" if common.database() else ""
    st.caption(f"The same in a terminal: `arena design show {design.hash}{at}`")


def _analysis(design: Design) -> Analysis:
    return design.analysis or Analysis()


def _played(store: Store, stored: StoredDesign) -> tuple[int, int]:
    """Return how many matches are scored, and how many of those began before the freeze."""
    scored = Filter(design=stored.design)
    reused = Filter(design=stored.design, begun_before=stored.created_at)
    return store.count(scored), store.count(reused)


def _sellers(design: Design, every: list[StoredDesign]) -> None:
    """Show the sellers with their bases, and how many arms were ever tried from each base."""
    analysis, names = _analysis(design), design.names(Role.SELLER)
    rows = [
        {
            "seller": names[player.version],
            "version": player.version,
            "family": analysis.families.get(player.version),
            "base": _base(player, analysis, names),
            "plays by chance": not player.deterministic,
        }
        for player in design.sellers
    ]
    st.subheader(counted(len(rows), "seller"))
    st.html(_table(rows, ("seller", "version", "family", "base")))
    notes = []
    for base in dict.fromkeys(analysis.bases.values()):
        shown = sum(other == base for other in analysis.bases.values())
        number = tried([stored.design for stored in every], base)
        name = markup.text(names.get(base, base))
        notes.append(f"{counted(shown, 'arm')} shown of <b>{number:,} tried</b> from {name}")
    if notes:
        notes.append("Tried: over all designs of this record.")
        st.html(f'<div class="ba-note">{"<br>".join(notes)}</div>')
    common.download("the sellers", rows, f"sellers-{design.hash}")


def _base(player: Player, analysis: Analysis, names: dict[str, str]) -> str | None:
    base = analysis.bases.get(player.version)
    return None if base is None else names.get(base, base)


def _buyers(store: Store, design: Design) -> None:
    analysis, names, audits = _analysis(design), design.names(Role.BUYER), store.audits()
    rows = []
    for player in design.buyers:
        family = analysis.families.get(player.version)
        audit = audits.get(player.version)
        notes = {
            "excluded from training": player.version in analysis.excluded,
            "⚠ of a family that arms were trained against": family in analysis.training_families,
            "⚠ exploitable": bool(audit and audit["exploitable"]),
        }
        rows.append(
            {
                "buyer": names[player.version],
                "version": player.version,
                "family": family,
                "noted": ", ".join(note for note, holds in notes.items() if holds) or None,
            }
        )
    st.subheader(counted(len(rows), "buyer"))
    st.html(_table(rows, ("buyer", "version", "family", "noted")))
    if analysis.training_families:
        families = ", ".join(analysis.training_families)
        st.html(f'<div class="ba-note">Arms were trained against: {markup.text(families)}</div>')
    common.download("the buyers", rows, f"buyers-{design.hash}")


def _domains(design: Design) -> None:
    rows = [
        {
            "domain": domain.name,
            "version": domain.version,
            "panel": "held out, reported apart" if domain.held_out else "open",
        }
        for domain in design.domains
    ]
    st.subheader(counted(len(rows), "domain"))
    links = {
        domain.name: markup.link(domain.name, "scenarios", design=design.hash, domain=domain.name)
        for domain in design.domains
    }
    st.html(_table(rows, ("domain", "version", "panel"), links))
    common.download("the domains", rows, f"domains-{design.hash}")


def _family(design: Design) -> None:
    contrasts, names = _analysis(design).contrasts, design.names(Role.SELLER)
    st.subheader("Declared contrasts")
    if not contrasts:
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
        f'<div class="ba-note">One family: Holm over <b>m = {len(contrasts)}</b>, fixed before play.'
        f"{markup.text(apart)}</div>"
    )
    rows = [
        {
            "contrast": contrast.label(names),
            "what it is": _what(contrast, design),
            "plus": list(contrast.plus),
            "minus": list(contrast.minus),
        }
        for contrast in contrasts
    ]
    st.html(_table(rows, ("contrast", "what it is")))
    common.download("the contrasts", rows, f"contrasts-{design.hash}")


def _what(contrast: Contrast, design: Design) -> str:
    if len(contrast.plus) == 2:
        return "a difference of two gains"
    is_gain = _analysis(design).bases.get(contrast.plus[0]) == contrast.minus[0]
    return "a gain over base" if is_gain else "a difference of two sellers"


def _guards(design: Design) -> None:
    analysis = _analysis(design)
    st.subheader("Guards and limits (ours)")
    rows: list[dict[str, Any]] = [
        {"guard": name, "limit": limit, "what it limits": Guards.model_fields[name].description}
        for name, limit in analysis.guards
    ]
    rows.append(
        {
            "guard": "alarm_margin",
            "limit": analysis.alarm_margin,
            "what it limits": Analysis.model_fields["alarm_margin"].description or _ALARM,
        }
    )
    st.html(_table(rows, ("guard", "limit", "what it limits")))
    common.download("the guards", rows, f"guards-{design.hash}")


_ALARM = (
    "A difference of buyer splits from the base's that lies beyond this raises the pooling alarm even "
    "where the weakest gain is detectable."
)


def _log(store: Store, design: Design) -> None:
    st.subheader("What departed from the design")
    rows = [entry._asdict() for entry in store.deviations(design.hash)]
    if not rows:
        at = f" --db {common.database()}" if common.database() else ""
        command = f"arena design deviate {design.hash} --what … --reason …{at}"
        st.html(
            '<div class="ba-note">No deviation is logged. The log is append-only; what the arena cannot '
            f"see for itself is added by <code>{markup.text(command)}</code></div>"
        )
        return
    shown = [
        {"logged": wording.when(row["at"]), "about": row["kind"]}
        | {k: row[k] for k in ("what", "reason")}
        for row in rows
    ]
    st.html(_table(shown, ("logged", "about", "what", "reason")))
    common.download("the log", rows, f"deviations-{design.hash}")


def _list(store: Store, every: list[StoredDesign]) -> None:
    st.subheader("All designs of this record")
    rows = [_row(store, stored) for stored in every]
    times = ("frozen", "last run")
    shown = [row | {name: wording.when(row[name]) for name in times} for row in rows]
    links = {
        key: markup.link(key, "designs", design=key) + " · " + markup.link("board", "board", design=key)
        for key in (row["design"] for row in rows)
    }
    st.html(_table(shown, tuple(rows[0]), links))
    common.download("the designs", rows, "designs")


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
        "contrasts": len(_analysis(design).contrasts),
        "planned": planned(design),
        "deviations": len(store.deviations(design.hash)),
    }


def _table(
    rows: list[dict[str, Any]], fields: tuple[str, ...], links: dict[str, str] | None = None
) -> str:
    """Return some fields of the rows as a table; `links` stand for the first field's values."""
    headings = [markup.heading(name, number=_is_number(rows[0][name])) for name in fields]
    lines = []
    for row in rows:
        first = (links or {}).get(row[fields[0]]) or markup.text(_shown(row[fields[0]]))
        rest = "".join(_cell(row[name]) for name in fields[1:])
        lines.append(f'<tr><td class="name">{first}</td>{rest}</tr>')
    return markup.table(headings, lines)


def _cell(value: object) -> str:
    return markup.cell(markup.text(_shown(value)), number=_is_number(value))


def _shown(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
