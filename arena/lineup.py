"""From what a user asks for to a frozen design and the agents and domains that it names."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.agent import Agent
from agents.build import UnplayableError, build, refusal
from arena.declaration import Declaration, analysis_of
from arena.design import Design, DesignDomain, Player
from arena.errors import UserError, mistakes
from arena.opponents import broken_exclusions
from arena.protocol import PROTOCOL_VERSION
from arena.registry import Registry, costs_money
from arena.store import Registration, Store
from scenarios import catalogue
from scenarios.domain import Domain
from scenarios.draw import DRAW_VERSION, draw
from scenarios.scenario import Role, Split
from scenarios.yaml_file import read_yaml

PRINTED = ("created_at", "last_run_at", "deviations")
"""What a database knows of a design, and prints with it; a request says nothing about it."""


class _DomainEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    version: str | None = None
    held_out: bool | None = None


class Request(BaseModel):
    """What to play: the fields of a design file, and of the command line's options.

    An agent is a name, ``name@version``, or a player as :class:`Design` writes it; a domain is a name, a
    path, or a mapping with its name. None: the default line-up. A design as it is printed is a request
    for itself.
    """

    model_config = ConfigDict(extra="forbid")

    sellers: list[str | Player] | None = None
    buyers: list[str | Player] | None = None
    domains: list[str | _DomainEntry] | None = None
    scenarios: int = Field(64, ge=1)
    infeasible: int = Field(0, ge=0)
    replicates: int = Field(1, ge=1)
    opener: str = "alternate"
    turns: int | None = Field(None, ge=1)
    message_limit: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    protocol: int = PROTOCOL_VERSION
    draw: int = DRAW_VERSION
    analysis: Declaration | None = None
    """Left out: what the registry knows of bases; null: nothing is declared, as in old designs."""
    hash: str | None = None
    """The design that this has to come to, where it was printed from one."""

    @property
    def declared(self) -> Declaration | None:
        """What is declared before play. Releases that froze no analysis printed designs without one:
        a request that pins every agent to a version, as they did, and declares nothing, means that."""
        pinned = [isinstance(who, Player) for who in (*(self.sellers or [""]), *(self.buyers or [""]))]
        if "analysis" in self.model_fields_set or all(pinned):
            return self.analysis
        return Declaration()


@dataclass
class Lineup:
    """A design with all that is needed to play it."""

    design: Design
    agents: dict[str, Registration]
    """By version."""
    built: dict[str, Agent]
    domains: dict[str, Domain]
    notes: list[str] = field(default_factory=list)
    """What was left out of a default line-up or analysis, and why; and all of `broken`."""
    broken: list[str] = field(default_factory=list)
    """Which sellers were trained against a buyer that the design excludes from training, in words."""
    keyless: str | None = None
    """Who needs a key that is not in the environment, in words; None where nobody does."""

    def check_keys(self) -> None:
        """Raise UserError where a key is missing, so that not all can be played."""
        if self.keyless is not None:
            raise UserError(self.keyless)

    @property
    def paid(self) -> list[str]:
        """Names of agents that cost money."""
        return [agent.name for agent in self.agents.values() if costs_money(agent)]


def read_request(path: str | Path) -> Request:
    """Return what a design file (YAML or JSON) asks for. Raises UserError that names the file."""
    try:
        content = read_yaml(path)
    except ValueError as error:
        raise UserError(str(error)) from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping; arena design show HASH --json prints one")
    for known in PRINTED:
        content.pop(known, None)
    return request_from(content, f"{path}: ")


def request_from(fields: Mapping[str, Any], where: str = "") -> Request:
    """Return the request with these fields. Raises UserError that names the field, after `where`."""
    try:
        return Request.model_validate(fields)
    except ValidationError as error:
        raise UserError(where + mistakes(error)) from None


def resolve(request: Request, store: Store, extra: Iterable[Domain] = ()) -> Lineup:
    """Return the line-up that `request` means now.

    `extra` are domains that a design file may name beside the bundled ones and those in the store.
    Raises UserError with what to do for anything that cannot be played.
    """
    registry = Registry(store)
    domains, held_out = _domains(request, store, extra)
    notes: list[str] = []
    built: dict[str, Agent] = {}
    sellers = _side(request.sellers, Role.SELLER, registry, domains, built, notes)
    buyers = _side(request.buyers, Role.BUYER, registry, domains, built, notes)
    agents = {agent.spec.version: agent for agent in (*buyers, *sellers)}
    sides = {
        side: tuple(
            Player(
                name=a.name, version=a.spec.version, deterministic=built[a.spec.version].deterministic
            )
            for a in those
        )
        for side, those in (("sellers", sellers), ("buyers", buyers))
    }
    analysis = None
    if request.declared is not None:
        analysis, said = analysis_of(request.declared, sides["sellers"], sides["buyers"], agents)
        notes += said
    planned = tuple(
        DesignDomain(name=d.name, version=d.version, held_out=held_out[d.name]) for d in domains
    )
    design = _design(request, {**sides, "domains": planned, "analysis": analysis})
    _check(design, domains)
    broken = broken_exclusions(design, registry)
    planned_domains = {domain.version: domain for domain in domains}
    keyless = _keyless(agents.values())
    notes += [*broken, *([keyless] if keyless is not None else [])]
    return Lineup(design, agents, built, planned_domains, notes, broken, keyless)


def _keyless(agents: Iterable[Registration]) -> str | None:
    missing = [
        f"{agent.name} needs its key in the environment variable {agent.connection.api_key_env}"
        for agent in agents
        if _lacks_key(agent)
    ]
    return f"{'; '.join(missing)}: export {'it' if len(missing) == 1 else 'them'}" if missing else None


def _lacks_key(agent: Registration) -> bool:
    variable = agent.connection.api_key_env
    return variable is not None and not os.environ.get(variable)


def _design(request: Request, resolved: dict[str, Any]) -> Design:
    """Return the design of what was resolved, shaped and ruled as the request says."""
    shape = request.model_dump(exclude={*resolved, "message_limit", "hash"})
    if request.message_limit is not None:
        shape["message_limit"] = request.message_limit
    try:
        design = Design(**resolved, **shape)
    except ValidationError as error:
        raise UserError(mistakes(error)) from None
    if request.hash not in (None, design.hash):
        raise UserError(
            f"the file says that it is design {request.hash}, but what it holds is another "
            f"({design.hash}): take its hash out if it was changed on purpose"
        )
    return design


def _side(
    wanted: Sequence[str | Player] | None,
    role: Role,
    registry: Registry,
    domains: Sequence[Domain],
    built: dict[str, Agent],
    notes: list[str],
) -> list[Registration]:
    """Return who plays `role`, and build them. Who cannot play, or not these domains, is left out of a
    default line-up only."""
    if wanted is not None and not wanted:
        raise UserError(f"name at least one {role.value}")
    named = wanted is not None
    agents = registry.default(role) if wanted is None else [_found(w, registry) for w in wanted]
    fit = []
    for agent in agents:
        refused = next((why for domain in domains if (why := refusal(agent.spec, domain))), None)
        if refused is not None and named:
            raise UserError(f"{agent.name} cannot play this: {refused}")
        if refused is None:
            try:
                built[agent.spec.version] = built.get(agent.spec.version) or _built(agent)
                fit.append(agent)
                continue
            except UnplayableError as error:
                if named:
                    raise UserError(f"{agent.name} cannot play: {error}") from error
                refused = str(error)
        notes.append(f"{agent.name} is left out: {refused}")
    _check_distinct(fit, role)
    return fit


def _found(who: str | Player, registry: Registry) -> Registration:
    if isinstance(who, str):
        return registry.find(who)
    agent = registry.as_played(who.name, who.version)
    if agent is None:
        raise UserError(f"the design wants {who.full_name}, which is not known here: arena register it")
    if agent.withdrawn_at is not None:
        raise UserError(f"{agent.full_name} is withdrawn: {agent.withdrawn_reason}")
    return replace(agent, name=who.name)


def _check_distinct(agents: Sequence[Registration], role: Role) -> None:
    seen: dict[str, str] = {}
    for agent in agents:
        version = agent.spec.version
        if version in seen:
            both = f"{seen[version]} and {agent.name}" if seen[version] != agent.name else agent.name
            raise UserError(f"{both}: the same agent stands twice among the {role.value}s; name it once")
        seen[version] = agent.name


def _built(agent: Registration) -> Agent:
    # What is only planned needs no key.
    keyless = {"api_key_env": None} if _lacks_key(agent) else {}
    return build(agent.spec, agent.connection.model_copy(update=keyless))


def _domains(
    request: Request, store: Store, extra: Iterable[Domain]
) -> tuple[list[Domain], dict[str, bool]]:
    """Return the domains asked for, a suite's name standing for all of its, and which are held out."""
    wanted = [catalogue.SUITES[0]] if request.domains is None else request.domains
    offered = {domain.version: domain for domain in (*catalogue.every().values(), *extra)}
    found: list[Domain] = []
    held_out: dict[str, bool] = {}
    for entry in wanted:
        override = None if isinstance(entry, str) else entry.held_out
        for domain in _meant(entry, offered, store):
            found.append(domain)
            held_out[domain.name] = domain.held_out if override is None else override
    if not found:
        raise UserError("name at least one domain")
    return found, held_out


def _meant(entry: str | _DomainEntry, offered: Mapping[str, Domain], store: Store) -> list[Domain]:
    if isinstance(entry, _DomainEntry):
        if entry.version is not None:
            return [_pinned(entry, offered, store)]
        if own := [domain for domain in offered.values() if domain.name == entry.name]:
            return own[:1]
        entry = entry.name
    try:
        return catalogue.named(entry)
    except ValueError as error:
        raise UserError(str(error)) from error


def _pinned(entry: _DomainEntry, offered: Mapping[str, Domain], store: Store) -> Domain:
    version = str(entry.version)
    domain = offered.get(version) or store.domains([version]).get(version)
    if domain is None:
        raise UserError(
            f"the design wants version {entry.version} of domain {entry.name}, which is neither bundled "
            "nor in this database: give its .yaml file with --domains"
        )
    return domain


def _check(design: Design, domains: Sequence[Domain]) -> None:
    if design.protocol != PROTOCOL_VERSION or design.draw != DRAW_VERSION:
        raise UserError(
            f"the design was made for protocol {design.protocol} and draw {design.draw}, and this "
            f"release plays protocol {PROTOCOL_VERSION} and draw {DRAW_VERSION}: use the release that "
            "made it"
        )
    pairs = [(seller, buyer) for seller in design.sellers for buyer in design.buyers]
    if design.replicates > 1 and all(design.replicates_of(*pair) == 1 for pair in pairs):
        raise UserError(
            f"{design.replicates} replicates would all be the same match: every agent here is "
            "deterministic. Ask for more --scenarios instead"
        )
    for domain in domains:
        try:
            draw(domain, Split.EVAL, 0)
            if design.infeasible:
                draw(domain, Split.EVAL, 0, feasible=False)
        except ValueError as error:
            raise UserError(str(error)) from error
