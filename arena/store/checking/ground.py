"""What the matches of one scenario are played on, as a check of them needs it."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from agents.agent import Brief
from arena.measures import Yardstick
from arena.play import briefs
from arena.protocol import Rules
from arena.record import undrawn
from arena.store.checking.looked import UNREADABLE
from arena.store.models import DOMAINS, SCENARIOS
from scenarios.domain import Domain
from scenarios.scenario import Role, Scenario


def rules_of(row: Any) -> Rules:
    """Return the rules that a match was played by."""
    return Rules(turns=row.turns_rule, message_limit=row.message_limit)


class Ground:
    """A scenario at a time, with its domain; go to one before anything is asked of it."""

    scenario: Scenario
    domain: Domain
    yardstick: Yardstick

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._key: str | None = None
        self._stands = False
        self._told: dict[Rules, Mapping[Role, Brief]] = {}
        self._domains: dict[str, Domain] = {}
        rows: Any = connection.execute(sa.select(DOMAINS.c.version, DOMAINS.c.content))
        for version, content in rows:
            domain = _read(lambda content=content: Domain.model_validate_json(content))
            if domain is not None and domain.version == version:
                self._domains[version] = domain

    def go_to(self, key: str) -> bool:
        """Go to the scenario with a key; return whether it and its domain are there and what they are
        called."""
        if key != self._key:
            self._key, self._told = key, {}
            self._stands = self._find(key)
        return self._stands

    def told(self, rules: Rules) -> Mapping[Role, Brief]:
        """Return what both sides are told before a match of these rules."""
        if rules not in self._told:
            self._told[rules] = briefs(self.domain, self.scenario, rules)
        return self._told[rules]

    def _find(self, key: str) -> bool:
        query = sa.select(SCENARIOS.c.content).where(SCENARIOS.c.key == key)
        content = self._connection.execute(query).scalar()
        scenario = None if content is None else _read(lambda: undrawn(content))
        domain = None if scenario is None else self._domains.get(scenario.domain_version)
        if scenario is None or domain is None or scenario.key != key:
            return False
        self.scenario, self.domain, self.yardstick = scenario, domain, Yardstick(scenario)
        return True


def _read(make: Any) -> Any:
    """Return what is made of stored content; None where that is damaged."""
    try:
        return make()
    except UNREADABLE:
        return None
