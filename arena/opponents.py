"""When two opponents are one, and which of a design's a seller met in training.

The point of an evaluation is that its buyers were never seen in training. So a buyer is recognised in
every guise: this version under whatever name, another version of its name, the same strategy, model,
weights or plug-in with other settings.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from agents.spec import AgentSpec
from arena.design import Design, DesignDomain, Player
from arena.registry import Registry
from arena.store import Registration

ALIKE = {
    "scripted": ("strategy", "the same strategy with other parameters"),
    "model": ("model", "the same model with other settings"),
    "local": ("revision", "the same weights with other settings"),
    "plugin": ("target", "the same plug-in with other settings"),
}
"""Of every kind of agent, the field that makes two of them one opponent, and how to say so."""
MET = {"buyer": ("buyers", "buyer_versions"), "domain": ("domains", "domain_versions")}
"""Where a lineage lists the names of what was met, and the versions beside them."""


class Opponent(NamedTuple):
    """A buyer, or a domain, as far as it is known."""

    name: str
    version: str | None
    """None: a lineage that tells names only."""
    spec: AgentSpec | None = None
    """None: a domain, or a buyer of which no more than this is known here."""

    @property
    def full_name(self) -> str:
        """``name@version``, or the name alone."""
        return self.name if self.version is None else f"{self.name}@{self.version}"


def guise(one: Opponent, other: Opponent) -> str | None:
    """Return in which way `one` is `other`, in words; None: it is not."""
    if None in (one.version, other.version):
        return "the same by name" if one.name == other.name else None
    if one.version == other.version:
        return "the same"
    if one.name == other.name:
        return "another version of it"
    if one.spec is None or other.spec is None or one.spec.kind != other.spec.kind:
        return None
    field, words = ALIKE[one.spec.kind]
    return words if getattr(one.spec, field) == getattr(other.spec, field) else None


def buyers_met(
    sellers: Iterable[Registration], buyers: Iterable[Player], registry: Registry
) -> Iterator[tuple[Registration, str]]:
    """Yield every seller with every one of `buyers` that it was trained against by its lineage, and in
    which guise, in words: ``boulware (as tough@0123456789ab, the same)``."""

    def spec(name: str, version: str) -> AgentSpec | None:
        known = registry.as_played(name, version)
        return None if known is None else known.spec

    yield from _met(sellers, "buyer", buyers, spec)


def domains_met(
    sellers: Iterable[Registration], domains: Iterable[DesignDomain]
) -> Iterator[tuple[Registration, str]]:
    """Yield every seller with every one of `domains` that it was trained on by its lineage, in words."""
    yield from _met(sellers, "domain", domains, lambda name, version: None)


def broken_exclusions(design: Design, registry: Registry) -> list[str]:
    """Return in words which sellers of `design` were trained against a buyer that it excludes."""
    known = [registry.as_played(seller.name, seller.version) for seller in design.sellers]
    sellers = [seller for seller in known if seller is not None]
    return [
        f"{seller.name} was trained against {words}, which the design excludes from training"
        for seller, words in buyers_met(sellers, design.excluded_buyers, registry)
    ]


def listed(agent: Registration, key: str) -> list[str]:
    """Return the texts that an agent's lineage lists under `key`."""
    return [entry for entry in _entries(agent, key) if isinstance(entry, str)]


def met(agent: Registration, noun: str) -> list[tuple[str, str | None]]:
    """Return the names and versions of what an agent met in training by its lineage; `noun` is one of
    :data:`MET`.

    None is a version that the lineage lacks. Where it has not as many versions as names, it is not known
    whose they are, and all are None.
    """
    names, versions = (_entries(agent, key) for key in MET[noun])
    if len(versions) != len(names):
        versions = [None] * len(names)
    return [
        (name, version if isinstance(version, str) else None)
        for name, version in zip(names, versions, strict=True)
        if isinstance(name, str)
    ]


def _entries(agent: Registration, key: str) -> list[Any]:
    found = agent.profile.lineage.get(key, [])
    return found if isinstance(found, list) else [found]


def _met(
    sellers: Iterable[Registration],
    noun: str,
    planned: Iterable[Player | DesignDomain],
    spec: Callable[[str, str], AgentSpec | None],
) -> Iterator[tuple[Registration, str]]:
    others = [Opponent(p.name, p.version, spec(p.name, p.version)) for p in planned]
    for seller in sellers:
        for name, version in met(seller, noun):
            one = Opponent(name, version, None if version is None else spec(name, version))
            for other in others:
                if (how := guise(one, other)) is not None:
                    yield seller, _worded(one, other, how)


def _worded(one: Opponent, planned: Opponent, how: str) -> str:
    if one.full_name == planned.full_name:
        return planned.name
    called = "" if one.full_name == planned.name else f"as {one.full_name}, "
    return f"{planned.name} ({called}{how})"
