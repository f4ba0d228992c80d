"""The record: agents, designs, scenarios and matches in a database. Nothing is ever deleted.

Rows are written in batches by one process, a transaction a batch, and a committed match is never
written again but for its withdrawal. Readers get plain values, never database objects.
"""

import json
from collections.abc import Generator, Iterable
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version as installed
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.exc import IntegrityError

from agents.spec import AgentSpec
from arena.design import Design
from arena.play import Turn
from arena.record import Drawn, Played, undrawn, utc_now
from arena.results import Results
from arena.store import agents, finding, listing, packing, results
from arena.store.agents import Registration
from arena.store.calls import Calls, last_run
from arena.store.copying import Copies
from arena.store.database import (
    StoreError,
    insert_new,
)
from arena.store.listing import Filter, Listed
from arena.store.logs import Logs
from arena.store.measuring import DAMAGED
from arena.store.models import DESIGNS, DOMAINS, MATCHES, MEASURES, SCENARIOS, VOIDS
from arena.store.pace import Pace, pace
from arena.store.replays import Replays
from arena.store.standing import Standing, standing
from arena.store.streaming import Whole, chunks
from arena.store.training import TrainingLog
from arena.store.voids import Voids
from arena.transcript import decode
from scenarios.canonical import canonical
from scenarios.domain import Domain
from scenarios.scenario import Scenario


class StoredDesign(NamedTuple):
    """A design and when it was frozen and last run (ISO 8601, UTC)."""

    design: Design
    created_at: str
    last_run_at: str


class Store(Logs, TrainingLog, Replays, Voids, Calls, Copies):
    """An open database. Use it as a context manager, or close it."""

    _found: tuple[packing.Revision, Filter, NDArray[np.void]] | None = None
    """What was listed last."""

    # Agents

    def add_registrations(self, registrations: Iterable[Registration]) -> None:
        """Give names to versions, all of them or none; their specs are kept as well."""
        with self._writing() as connection:
            for entry in registrations:
                agents.insert_registration(connection, entry)

    def withdraw_agent(self, name: str, version: str, reason: str) -> None:
        """Withdraw a name's version; it stays visible with the reason."""
        with self._writing() as connection:
            agents.withdraw(connection, name, version, reason)

    def registrations(self) -> list[Registration]:
        """Return the registration in force of every name and version, oldest first."""
        with self._reading() as connection:
            return agents.registrations(connection)

    def spec(self, version: str) -> AgentSpec | None:
        """Return the spec with this version, None where it was never kept."""
        with self._reading() as connection:
            return agents.spec(connection, version)

    # Designs, domains, scenarios

    def add_design(self, design: Design, specs: Iterable[AgentSpec], domains: Iterable[Domain]) -> bool:
        """Freeze a design with all it refers to, or note that it is run again.

        Returns whether it is new. The time at which it was frozen never changes.
        """
        now = utc_now()
        row = {
            "hash": design.hash,
            "content": canonical(design.model_dump(mode="json")),
            "created_at": now,
            "last_run_at": now,
            "arena_version": installed("bargaining-arena"),
        }
        with self._writing() as connection:
            agents.insert_specs(connection, specs)
            for domain in domains:
                content = canonical(domain.model_dump(mode="json"))
                kept = {"version": domain.version, "name": domain.name, "content": content}
                insert_new(connection, DOMAINS, [kept], "version")
            again = sa.update(DESIGNS).where(DESIGNS.c.hash == design.hash).values(last_run_at=now)
            if connection.execute(again).rowcount:
                return False
            connection.execute(sa.insert(DESIGNS).values(row))
        return True

    def designs(self) -> list[StoredDesign]:
        """Return every design, the one run last first."""
        with self._reading() as connection:
            query = sa.select(DESIGNS).order_by(DESIGNS.c.last_run_at.desc(), DESIGNS.c.hash)
            return [
                StoredDesign(Design.model_validate_json(row.content), row.created_at, row.last_run_at)
                for row in connection.execute(query)
            ]

    def design(self, prefix: str | None = None) -> StoredDesign:
        """Return the design whose hash starts with `prefix`; None: the one run last.

        Raises StoreError where there is none, or more than one.
        """
        designs = self.designs()
        if not designs:
            raise StoreError(f"{self.address} holds no design yet: play one with arena run-tournament")
        if prefix is None:
            return designs[0]
        if not prefix:
            raise StoreError("an empty hash names no design: see arena designs")
        found = [stored for stored in designs if stored.design.hash.startswith(prefix.lower())]
        if len(found) != 1:
            what = "no design" if not found else f"{len(found)} designs"
            raise StoreError(
                f"{what} in {self.address} with a hash that starts with {prefix!r}: see arena designs"
            )
        return found[0]

    def domains(self, versions: Iterable[str]) -> dict[str, Domain]:
        """Return the kept domains with these versions, by version."""
        with self._reading() as connection:
            query = sa.select(DOMAINS).where(DOMAINS.c.version.in_(list(versions)))
            return {
                row.version: Domain.model_validate_json(row.content) for row in connection.execute(query)
            }

    def add_scenarios(self, scenarios: Iterable[Drawn]) -> None:
        """Keep drawn scenarios. Raises StoreError where one was drawn otherwise before."""
        rows = [scenario._asdict() for scenario in scenarios]
        if not rows:
            return
        try:
            with self._writing() as connection:
                insert_new(connection, SCENARIOS, rows, "key")
        except IntegrityError:
            raise StoreError(
                f"{self.address} holds other draws of the same scenarios, made by another release: "
                "start a new database with --db"
            ) from None

    def scenario_keys(self) -> set[str]:
        """Return the keys of all kept scenarios."""
        with self._reading() as connection:
            return set(connection.execute(sa.select(SCENARIOS.c.key)).scalars())

    def scenarios(self, keys: Iterable[str]) -> dict[str, Scenario]:
        """Return the kept scenarios with these keys, by key."""
        found: dict[str, Scenario] = {}
        wanted = sorted(set(keys))
        with self._reading() as connection:
            for start in range(0, len(wanted), 500):  # databases limit the variables of one statement
                query = sa.select(SCENARIOS.c.key, SCENARIOS.c.content).where(
                    SCENARIOS.c.key.in_(wanted[start : start + 500])
                )
                rows: Iterable[Any] = connection.execute(query)
                found |= {key: undrawn(content) for key, content in rows}
        return found

    # Matches

    def add_matches(self, rows: Iterable[Played]) -> None:
        """Keep scored matches in one transaction. A match that is there already stays as it is."""
        rows = list(rows)
        if rows:
            with self._writing() as connection:
                new = packing.unknown(connection, rows)
                insert_new(connection, MATCHES, [row.columns() for row in new], "key")
                insert_new(connection, MEASURES, [row.measured() for row in new], "key")
                packing.add(connection, new)

    def add_void(self, row: Played, *, again: bool = False) -> int:
        """Keep one void attempt. Returns its number, counted from 1 for each match key. Asked `again`,
        since it is not known what came of a first time, it is kept once."""
        own, attempt = VOIDS.c.key == row.key, VOIDS.c.attempt
        with self._writing() as connection:
            if again:
                same = sa.select(attempt).where(own, VOIDS.c.started_at == row.started_at)
                if (there := connection.execute(same).scalar()) is not None:
                    return int(there)
            last = connection.execute(sa.select(sa.func.max(attempt)).where(own)).scalar()
            number = int(last or 0) + 1
            more = {"attempt": number, "trouble": row.trouble}
            connection.execute(sa.insert(VOIDS).values(more | row.columns()))
        return number

    def withdraw_match(self, key: str, reason: str) -> None:
        """Take a match out of every board; it stays visible with the reason."""
        with self._writing() as connection:
            connection.execute(
                sa.update(MATCHES)
                .where(MATCHES.c.key == key, MATCHES.c.withdrawn_at.is_(None))
                .values(withdrawn_at=utc_now(), withdrawn_reason=reason)
            )

    def standing(self, design: Design) -> Standing:
        """Return which of the design's matches are scored, withdrawn, or were void."""
        with self._reading() as connection:
            return standing(connection, design)

    def results(self, design: Design) -> Results:
        """Return the design's scored matches as columns, from one consistent snapshot."""
        while True:
            with self._reading() as connection:
                at = packing.revision(connection)
                if at.packed:
                    found = results.results(connection, design, at.number)
                    return replace(found, last_run=last_run(connection, design.hash))
            self._complete()

    def pace(self, design: Design, since: datetime) -> Pace:
        """Return how many of the design's matches are scored, and how many began since a time (UTC)."""
        with self._reading() as connection:
            return pace(connection, design, since)

    def matches(
        self, wanted: Filter, *, voids: bool = False, limit: int | None = None, offset: int = 0
    ) -> list[Listed]:
        """Return the matches (or the void attempts) that `wanted` lets through, in a fixed order: at
        most `limit` of them, after the first `offset`."""
        with self._reading() as connection:
            found = None if voids or limit is None else self._find(connection, wanted)
            if found is None or limit is None:
                return listing.listed(connection, wanted, voids, limit, offset)
            return listing.of_keys(connection, finding.texts(found[offset : offset + limit]))

    def whole(self, design: Design) -> Generator[list[Whole]]:
        """Yield the design's matches, scored and withdrawn, then its void attempts, a few hundred at a
        time, from one consistent snapshot: all of them need not fit into memory."""
        with self._reading() as connection:
            yield from chunks(connection, design)

    def count(self, wanted: Filter, *, voids: bool = False) -> int:
        """Return how many matches (or void attempts) `wanted` lets through."""
        with self._reading() as connection:
            found = None if voids else self._find(connection, wanted)
            return listing.counted(connection, wanted, voids) if found is None else len(found)

    def _find(self, connection: sa.Connection, wanted: Filter) -> NDArray[np.void] | None:
        """Return the packed keys of the matches that `wanted` lets through, as they are listed; None
        where packs do not tell. They are kept until the record changes or others are asked for."""
        at = packing.revision(connection)
        if not at.packed or not finding.serves(wanted):
            return None
        kept = self._found  # once: pages share a store, each in a thread of its own
        if kept is None or kept[:2] != (at, wanted):
            kept = self._found = at, wanted, finding.find(connection, wanted)
        return kept[2]

    def match(self, prefix: str, *, voids: bool = False) -> Listed:
        """Return the match whose key starts with `prefix`; with `voids` its last void attempt.

        Raises StoreError where there is none, or more than one.
        """
        with self._reading() as connection:
            found = listing.by_key(connection, prefix.strip().lower(), voids)
        keys = {row.key for row in found}
        if len(keys) != 1:
            what = "void attempt" if voids else "match"
            number = f"no {what}" if not keys else f"more than one {what}"
            raise StoreError(f"{number} in {self.address} with a key that starts with {prefix!r}")
        return found[-1]

    def turns(self, match: Listed) -> list[Turn]:
        """Return the turns of a listed match. Raises StoreError where its transcript is damaged."""
        with self._reading() as connection:
            transcript = listing.blobs(connection, match)[0]
        try:
            return decode(transcript)
        except DAMAGED:
            raise StoreError(
                f"the transcript of match {match.key} is damaged: arena db check says what else is, and "
                "what to do"
            ) from None

    def receipts(self, match: Listed) -> dict[str, Any]:
        """Return what was effectively sent to the match's language models, by role."""
        with self._reading() as connection:
            found = listing.blobs(connection, match)[1]
        return {} if found is None else dict(json.loads(found))
