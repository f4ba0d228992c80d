"""What a design froze before play, as rows: who, on what, under which rules, and what it declares."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arena.analysis import Analysis, Contrast, Guards
from arena.design import Design
from arena.deviations import tried
from arena.store import Deviation, StoredDesign
from leaderboard import markup, wording
from leaderboard.wording import NONE, counted
from scenarios.scenario import Role

Rows = list[dict[str, Any]]
SELLERS = ("seller", "version", "family", "base")
BUYERS = ("buyer", "version", "family", "noted")
DOMAINS = ("domain", "version", "panel")
CONTRASTS = ("contrast", "what it is")
LIMITS = ("guard", "limit", "what it limits")
LOG = ("logged", "about", "what", "reason")


def analysis_of(design: Design) -> Analysis:
    """Return what the design declares; of one that declares nothing, the defaults."""
    return design.analysis or Analysis()


def rules(design: Design) -> str:
    """Say in a line how much is played, and under which rules."""
    turns = f"{design.turns} turns a side, announced" if design.turns else "hidden limits of turns"
    infeasible = f" and {design.infeasible:,} without a zone of agreement" if design.infeasible else ""
    replicates = f", {design.replicates} replicates" if design.replicates > 1 else ""
    return (
        f"{counted(design.scenarios, 'scenario')} a domain{infeasible}{replicates} · "
        f"opener: {design.opener} · {turns} · seed {design.seed} · "
        f"messages of at most {design.message_limit:,} characters"
    )


def sellers(design: Design) -> Rows:
    """Return a row a seller, with its base."""
    analysis, names = analysis_of(design), design.names(Role.SELLER)
    bases = {arm: names.get(base, base) for arm, base in analysis.bases.items()}
    return [
        {
            "seller": names[player.version],
            "version": player.version,
            "family": analysis.families.get(player.version),
            "base": bases.get(player.version),
            "plays by chance": not player.deterministic,
        }
        for player in design.sellers
    ]


def arms_tried(design: Design, every: Iterable[StoredDesign]) -> list[str]:
    """Say of each base how many of the arms ever tried from it the design shows."""
    analysis, names = analysis_of(design), design.names(Role.SELLER)
    others = [stored.design for stored in every]
    said = []
    for base in dict.fromkeys(analysis.bases.values()):
        shown = sum(other == base for other in analysis.bases.values())
        said.append(f"{shown} of {tried(others, base):,} arms tried from {names.get(base, base)}")
    return said


def buyers(design: Design, audits: Mapping[str, Mapping[str, Any]]) -> Rows:
    """Return a row a buyer, with what a reader should know of it; `audits` by version."""
    analysis, names = analysis_of(design), design.names(Role.BUYER)
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
    return rows


def domains(design: Design) -> Rows:
    """Return a row a domain, with its panel."""
    return [
        {
            "domain": domain.name,
            "version": domain.version,
            "panel": "held out, reported apart" if domain.held_out else "open",
        }
        for domain in design.domains
    ]


def contrasts(design: Design) -> Rows:
    """Return a row a declared contrast."""
    names = design.names(Role.SELLER)
    return [
        {
            "contrast": contrast.label(names),
            "what it is": _what(contrast, design),
            "plus": list(contrast.plus),
            "minus": list(contrast.minus),
        }
        for contrast in analysis_of(design).contrasts
    ]


def _what(contrast: Contrast, design: Design) -> str:
    if len(contrast.plus) == 2:
        return "a difference of two gains"
    is_gain = analysis_of(design).bases.get(contrast.plus[0]) == contrast.minus[0]
    return "a gain over base" if is_gain else "a difference of two sellers"


def limits(design: Design) -> Rows:
    """Return a row a limit of the guards and the pooling alarm: all of them ours."""
    analysis = analysis_of(design)
    rows: Rows = [
        {"guard": name, "limit": limit, "what it limits": Guards.model_fields[name].description}
        for name, limit in analysis.guards
    ]
    described = Analysis.model_fields["alarm_margin"].description or _ALARM
    return [
        *rows,
        {"guard": "alarm_margin", "limit": analysis.alarm_margin, "what it limits": described},
    ]


_ALARM = (
    "A difference of buyer splits from the base's that lies beyond this raises the pooling alarm even "
    "where the weakest gain is detectable."
)


def log(deviations: Sequence[Deviation]) -> Rows:
    """Return a row a deviation, for people."""
    return [
        {"logged": wording.when(one.at), "about": one.kind, "what": one.what, "reason": one.reason}
        for one in deviations
    ]


def table(rows: Rows, fields: Sequence[str], links: Mapping[str, str] | None = None) -> str:
    """Return some fields of the rows as an HTML table; `links` (HTML) stand for the first field's
    values."""
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
