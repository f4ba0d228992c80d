"""What versions are called where matches are listed: by the design, or by the registry."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arena.errors import UserError
from arena.naming import likely, meant
from scenarios.scenario import Role

if TYPE_CHECKING:
    from arena.design import Design
    from arena.store import Store


class Naming:
    """Names of agents on either side, and which domains are held out."""

    def __init__(self, store: "Store", design: "Design | None") -> None:
        """Take names from `design`, or from the registry and every design where it is None."""
        self._sides: dict[Role, dict[str, str]] = {}
        self._held_out: dict[str, bool] = {}
        designs = [design] if design else [stored.design for stored in reversed(store.designs())]
        for side in Role:
            self._sides[side] = {}
            for known in designs:
                self._sides[side] |= known.names(side)
        for known in designs:
            self._held_out |= {domain.version: domain.held_out for domain in known.domains}
        self._domains = {domain.name for known in designs for domain in known.domains}

    def name(self, role: Role, version: str) -> str:
        """Return what a version is called on one side; the version itself where nothing names it."""
        return self._sides[role].get(version, version)

    def held_out(self, domain_version: str) -> bool:
        """Return whether the domain is held out."""
        return self._held_out.get(domain_version, False)

    def domains(self, names: Sequence[str] | None) -> Sequence[str] | None:
        """Return `names` of domains as they are. Raises UserError for one that no design has."""
        for name in names or ():
            if name not in self._domains:
                there = ", ".join(sorted(self._domains))
                hint = likely(name, self._domains)
                raise UserError(f"no domain is called {name} here; there are: {there}{hint}")
        return names

    def versions(self, role: Role, names: Sequence[str]) -> list[str]:
        """Return the versions that names mean on one side, as :func:`arena.naming.meant` reads them.

        Raises UserError for a name that nobody there has.
        """
        found: list[str] = []
        side = self._sides[role]
        plain = {version: called.partition("@")[0] for version, called in side.items()}
        for text in names:
            fitting = meant(text, plain)
            if not fitting:
                there = ", ".join(side.values())
                hint = likely(text, plain.values())
                raise UserError(f"no {role.value} is called {text} here; there are: {there}{hint}")
            found += fitting
        return found
