"""What a reader should know about a buyer before trusting a score against it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from arena.analysis import Analysis
from arena.audit import EXPLOITABLE
from arena.design import Design
from scenarios.scenario import Role


class Badge(NamedTuple):
    """A mark beside a buyer's name."""

    name: str
    short: str
    """What a narrow column shows."""
    why: str


def badges(design: Design, audits: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[Badge, ...]]:
    """Return each buyer's badges by its name on the design's boards; most have none.

    `audits` are the newest of each buyer by version, as `arena scenarios audit --json` prints them.
    """
    analysis = design.analysis or Analysis()
    found = {}
    for version, name in design.names(Role.BUYER).items():
        family, audit = analysis.families.get(version), audits.get(version)
        marks = []
        if family is not None and family in analysis.training_families:
            marks.append(Badge("training family", "T", f"{family}: a family that arms trained against"))
        if audit and audit["exploitable"]:
            best = audit["best"]
            share = next(p["share"] for p in audit["policies"] if p["policy"] == best)
            marks.append(
                Badge(
                    "exploitable",
                    "X",
                    f"the fixed policy {best} earns {share:.0%} of what a seller who knew everything "
                    f"could; over {EXPLOITABLE:.0%} is exploitable (ours)",
                )
            )
        found[name] = tuple(marks)
    return found
