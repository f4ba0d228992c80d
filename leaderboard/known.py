"""What is known about the agents of a design beside how they bargain: kind, family, base, size."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Any

from agents.scripted import spec_of
from agents.spec import AgentSpec
from arena.design import Design
from arena.store import Registration
from scenarios.scenario import Role

ANCHORS = ("hardliner", "linear", "random", "accept_first", "walk_away")


def anchors() -> frozenset[str]:
    """Return the versions of the scripted agents that give a board's axis a scale people understand."""
    return frozenset(spec_of(name).version for name in ANCHORS)


class Kind(StrEnum):
    """What sort of agent; its value is how boards word it."""

    TRAINED = "trained"
    """It has a base that it was trained from."""
    MODEL = "language model"
    SCRIPTED = "scripted"
    PLUGIN = "plug-in"


@dataclass(frozen=True)
class Known:
    """One agent of a design."""

    kind: Kind
    family: str | None
    """Its model family; the design's word counts, then the registry's."""
    base: str | None
    """The version of its base, which may be no agent of the design."""
    base_family: str | None
    """The family of its base; of an agent without base its own."""
    params: float | None
    """Effective parameters."""
    lineage: Mapping[str, Any]
    """How it was made, as registered: `learning_rate`, `steps`, `tokens`, `architecture`, `kl`."""


def known(
    design: Design, specs: Mapping[str, AgentSpec], registrations: Iterable[Registration]
) -> dict[str, Known]:
    """Return what is known about every agent of `design`, by version.

    `specs` by version; an agent without one counts as scripted. Of several registrations of a version
    the newest counts; a base is declared by the design, or named by the agent's profile.
    """
    newest = {entry.spec.version: entry for entry in registrations}
    by_name = {entry.name: entry.spec.version for entry in newest.values()}
    by_name |= {player.name: player.version for player in design.players()}
    analysis = design.analysis
    families = {version: entry.profile.family for version, entry in newest.items()}
    families |= analysis.families if analysis else {}
    found = {}
    for player in design.players():
        entry, spec = newest.get(player.version), specs.get(player.version)
        named = entry.profile.base if entry else None
        base = by_name.get(named, named) if named else None
        if analysis:
            base = analysis.bases.get(player.version, base)
        family = families.get(player.version)
        found[player.version] = Known(
            kind=Kind.TRAINED if base else _kind(spec),
            family=family,
            base=base,
            base_family=families.get(base, family) if base else family,
            params=entry.profile.params if entry else None,
            lineage=entry.profile.lineage if entry else {},
        )
    return found


def known_kl(design: Design, lineages: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the KL divergence from its base that a seller was registered with (`kl` in its lineage), by
    its name on the board, where known. `lineages` by version. It is shown beside and decides nothing."""
    sellers = design.names(Role.SELLER).items()
    kl = {name: lineage_kl(lineages.get(version, {})) for version, name in sellers}
    return {name: value for name, value in kl.items() if value is not None}


def lineage_kl(lineage: Mapping[str, Any]) -> float | None:
    """Return the KL divergence from its base, in nats a token, that a lineage names; None where it names
    none, or what is no finite number."""
    kl = lineage.get("kl")
    return float(kl) if isinstance(kl, int | float) and isfinite(kl) else None


def _kind(spec: AgentSpec | None) -> Kind:
    kinds = {"model": Kind.MODEL, "local": Kind.MODEL, "plugin": Kind.PLUGIN}
    return Kind.SCRIPTED if spec is None else kinds.get(spec.kind, Kind.SCRIPTED)
