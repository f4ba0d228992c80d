"""What rows hold against what they are called: an identity is a hash of content, so it is made again."""

import json
import zlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from agents.spec import AgentSpec, Connection, Profile
from arena.design import Design
from arena.record import undrawn
from arena.store.checking.looked import RESTORE, Check, Looking, missing
from arena.store.models import (
    AGENTS,
    ANSWERS,
    AUDITS,
    BILLS,
    CALLS,
    DESIGNS,
    DOMAINS,
    REGISTRATIONS,
    SCENARIOS,
)
from arena.store.training import RunStatus
from arena.store.training_tables import TRAINING_RUNS, TRAINING_STEPS
from scenarios.domain import Domain

TABLES = (
    *(AGENTS, REGISTRATIONS, DOMAINS, SCENARIOS, DESIGNS, BILLS),
    *(ANSWERS, AUDITS, TRAINING_RUNS, TRAINING_STEPS),
)
"""What is looked at here."""


def contents(looking: Looking) -> Iterator[Check]:
    """Look at every table but those of matches."""
    yield looking.each(Check("agents", RESTORE), sa.select(AGENTS), _agent, "version")
    runs = {*looking.connection.execute(sa.select(TRAINING_RUNS.c.name)).scalars()}
    yield looking.each(
        Check("registrations", "register the agent once more: arena register"),
        sa.select(REGISTRATIONS),
        lambda row: _registration(row, runs),
        *("name", "version"),
    )
    yield looking.each(Check("domains", RESTORE), sa.select(DOMAINS), _domain, "name", "version")
    yield looking.each(Check("scenarios", RESTORE), sa.select(SCENARIOS), _scenario, "label")
    versions = [
        {*looking.connection.execute(sa.select(column)).scalars()}
        for column in (AGENTS.c.version, DOMAINS.c.version)
    ]
    yield looking.each(
        Check("designs", RESTORE), sa.select(DESIGNS), lambda row: _design(row, *versions), "hash"
    )
    yield looking.each(Check("bills", RESTORE), _bills(), _bill, "id")
    again = "nothing: an answer that cannot be read is asked for again without --cache"
    yield looking.each(Check("cached answers", again), sa.select(ANSWERS), _answer, "key")
    audit = "audit the buyer once more: arena scenarios audit"
    yield looking.each(Check("audits", audit), sa.select(AUDITS), _audit, "buyer_version", "at")
    yield looking.each(Check("training runs", RESTORE), sa.select(TRAINING_RUNS), _run, "name")
    yield looking.each(Check("training steps", RESTORE), sa.select(TRAINING_STEPS), _step, "run", "step")


def _agent(row: Any) -> str | None:
    return _same(AgentSpec.model_validate_json(row.spec).version, row.version)


def _registration(row: Any, runs: set[str]) -> str | None:
    Connection.model_validate_json(row.connection)
    run = Profile.model_validate_json(row.profile).lineage.get("run")
    if row.role not in ("seller", "buyer", "both"):
        return f"plays no role called {row.role}"
    return missing([] if run is None else [str(run)], runs, "training_runs")


def _domain(row: Any) -> str | None:
    domain = Domain.model_validate_json(row.content)
    return _same(domain.version, row.version) or _same(domain.name, row.name)


def _scenario(row: Any) -> str | None:
    scenario = undrawn(row.content)
    place = (scenario.domain_version, scenario.split.value, scenario.index, scenario.feasible)
    return (
        _same(scenario.key, row.key)
        or _same(scenario.label, row.label)
        or _same(place, (row.domain_version, row.split, row.number, row.feasible))
    )


def _design(row: Any, agents: set[str], domains: set[str]) -> str | None:
    design = Design.model_validate_json(row.content)
    return (
        _same(design.hash, row.hash)
        or missing((player.version for player in design.players()), agents, "agents")
        or missing((domain.version for domain in design.domains), domains, "domains")
    )


def _bills() -> sa.Select[Any]:
    """Select each bill with what its calls are charged: their cost, or their most where it is not
    known."""
    charge = sa.func.coalesce(CALLS.c.cost_nano, CALLS.c.most_nano, 0)
    of_calls = sa.select(sa.func.sum(charge)).where(CALLS.c.bill == BILLS.c.id).scalar_subquery()
    return sa.select(BILLS.c.id, BILLS.c.charged_nano, sa.func.coalesce(of_calls, 0).label("of_calls"))


def _bill(row: Any) -> str | None:
    if row.charged_nano == row.of_calls:
        return None
    return f"charges {row.charged_nano} billionths of a dollar, its calls come to {row.of_calls}"


def _answer(row: Any) -> str | None:
    return None if isinstance(json.loads(zlib.decompress(row.content)), list) else "is no answer"


def _audit(row: Any) -> str | None:
    return _object(row.content)


def _run(row: Any) -> str | None:
    RunStatus(row.status)
    return _object(row.recipe)


def _step(row: Any) -> str | None:
    return _object(row.metrics)


def _object(text: str) -> str | None:
    return None if isinstance(json.loads(text), dict) else "is no JSON object"


def _same(made: object, stored: object) -> str | None:
    return None if made == stored else f"its content is that of {made}, not of {stored}"
