"""Agents in the store: their specs, and the names that were given to them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from agents.spec import AgentSpec, Connection, Profile
from arena.record import utc_now
from arena.store.database import insert_new
from arena.store.models import AGENTS, REGISTRATIONS
from scenarios.canonical import canonical


@dataclass(frozen=True)
class Registration:
    """A name given to a version, with what is known beside its behaviour."""

    name: str
    spec: AgentSpec
    role: str
    """seller, buyer or both."""
    profile: Profile
    connection: Connection
    registered_at: str
    withdrawn_at: str | None = None
    withdrawn_reason: str | None = None

    @property
    def full_name(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.spec.version}"


def insert_specs(connection: sa.Connection, specs: Iterable[AgentSpec]) -> None:
    """Keep the specs that are not kept yet."""
    now = utc_now()
    rows = [
        {"version": spec.version, "spec": canonical(spec.content()), "added_at": now} for spec in specs
    ]
    insert_new(connection, AGENTS, rows, "version")


def insert_registration(connection: sa.Connection, entry: Registration) -> None:
    """Add a registration and keep its spec."""
    insert_specs(connection, [entry.spec])
    row = {
        "name": entry.name,
        "version": entry.spec.version,
        "role": entry.role,
        "profile": canonical(entry.profile.model_dump(mode="json", exclude_none=True)),
        "connection": canonical(entry.connection.model_dump(mode="json", exclude_defaults=True)),
        "registered_at": entry.registered_at,
    }
    connection.execute(sa.insert(REGISTRATIONS).values(row))


def withdraw(connection: sa.Connection, name: str, version: str, reason: str) -> None:
    """Mark what is active under this name and version as withdrawn."""
    connection.execute(
        sa.update(REGISTRATIONS)
        .where(REGISTRATIONS.c.name == name, REGISTRATIONS.c.version == version)
        .where(REGISTRATIONS.c.withdrawn_at.is_(None))
        .values(withdrawn_at=utc_now(), withdrawn_reason=reason)
    )


def registrations(connection: sa.Connection) -> list[Registration]:
    """Return the newest registration of every name and version, oldest first."""
    newest = sa.select(sa.func.max(REGISTRATIONS.c.id)).group_by(
        REGISTRATIONS.c.name, REGISTRATIONS.c.version
    )
    query = (
        sa.select(REGISTRATIONS, AGENTS.c.spec)
        .join(AGENTS, REGISTRATIONS.c.version == AGENTS.c.version)
        .where(REGISTRATIONS.c.id.in_(newest))
        .order_by(REGISTRATIONS.c.id)
    )
    return [_registration(row) for row in connection.execute(query)]


def spec(connection: sa.Connection, version: str) -> AgentSpec | None:
    """Return the spec with this version, None where it was never kept."""
    found = connection.execute(sa.select(AGENTS.c.spec).where(AGENTS.c.version == version)).scalar()
    return None if found is None else AgentSpec.model_validate_json(str(found))


def _registration(row: Any) -> Registration:
    return Registration(
        name=row.name,
        spec=AgentSpec.model_validate_json(row.spec),
        role=row.role,
        profile=Profile.model_validate_json(row.profile),
        connection=Connection.model_validate_json(row.connection),
        registered_at=row.registered_at,
        withdrawn_at=row.withdrawn_at,
        withdrawn_reason=row.withdrawn_reason,
    )
