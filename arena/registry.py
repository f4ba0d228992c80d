"""Who is known: registered agents by name and version, and the scripted panel, which needs no entry."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from agents.scripted import PANEL_BUYERS, PANEL_SELLERS, STRATEGIES, spec_of
from agents.spec import AgentSpec, Connection, Profile
from arena.addresses import is_private
from arena.entry import Entry, RegistryError, checked_name
from arena.naming import likely
from arena.store import Registration, Store
from scenarios.scenario import Role


class Change(StrEnum):
    """What a registration did."""

    NEW = "new"
    """A name that was not known."""
    VERSION = "version"
    """A known name now means another behaviour; the older versions stay under name@version."""
    UPDATED = "updated"
    """The same behaviour with another address, key variable, price, role or profile."""
    REINSTATED = "reinstated"
    """It had been withdrawn."""
    UNCHANGED = "unchanged"


class Registered(NamedTuple):
    """A registration and what it did."""

    agent: Registration
    change: Change


class Registry:
    """The agents of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def register(
        self,
        entries: Sequence[Entry],
        admit: Callable[[Sequence[Registration]], None] | None = None,
    ) -> list[Registered]:
        """Register the agents, all of them or none; `admit` sees them before, and may raise.

        Raises RegistryError for an entry that does not hold together, a name that stands twice, or one
        that would hide a scripted strategy.
        """
        agents = [entry.registration() for entry in entries]
        names = [agent.name for agent in agents]
        for agent in agents:
            if names.count(agent.name) > 1:
                raise RegistryError(f"the name {agent.name} stands twice")
            if agent.name in STRATEGIES and agent.spec != spec_of(agent.name):
                raise RegistryError(
                    f"{agent.name} is the name of a scripted strategy, which needs no registration; "
                    "give this agent another name"
                )
        if admit is not None:
            admit(agents)
        known = self._store.registrations()
        done = [Registered(agent, _change(agent, known)) for agent in agents]
        self._store.add_registrations(d.agent for d in done if d.change is not Change.UNCHANGED)
        return done

    def known(self) -> list[Registration]:
        """Return the registration in force of every name and version, withdrawn ones too."""
        return self._store.registrations()

    def current(self) -> list[Registration]:
        """Return what each name means now, in the order of registration."""
        newest = {agent.name: agent for agent in self.known() if agent.withdrawn_at is None}
        return list(newest.values())

    def find(self, text: str) -> Registration:
        """Return the agent that ``name`` or ``name@version`` (a prefix will do) means.

        Raises RegistryError where there is none, it is withdrawn, or the prefix fits several.
        """
        name, _, prefix = text.strip().partition("@")
        name = checked_name(name)
        known = [agent for agent in self.known() if agent.name == name]
        if name in STRATEGIES:
            built_in = scripted(name)
            if all(agent.spec != built_in.spec or agent.withdrawn_at for agent in known):
                known.insert(0, built_in)
        if not known:
            raise RegistryError(self._unknown(name))
        fitting = [agent for agent in known if agent.spec.version.startswith(prefix.lower())]
        active = [agent for agent in fitting if agent.withdrawn_at is None]
        if not fitting:
            versions = ", ".join(agent.spec.version for agent in known)
            raise RegistryError(f"{name} has no version {prefix!r}; it has {versions}")
        if not active:
            agent = fitting[-1]
            raise RegistryError(f"{agent.full_name} is withdrawn: {agent.withdrawn_reason}")
        if prefix and len(active) > 1:
            raise RegistryError(f"{text} fits more than one version; give more digits")
        return active[-1]

    def as_played(self, name: str, version: str) -> Registration | None:
        """Return what a design calls ``name@version``; None where nothing of that version is known here.

        Of several names that the version is registered under, `name` goes first, else the newest; it may
        have been withdrawn. What was never registered is a strategy of the panel, as it is or as it was.
        """
        known = [agent for agent in self.known() if agent.spec.version == version]
        if known:
            return sorted(known, key=lambda agent: agent.name == name)[-1]
        now = spec_of(name) if name in STRATEGIES else None
        spec = now if now is not None and now.version == version else self._store.spec(version)
        return None if spec is None else unregistered(name, spec)

    def withdraw(self, text: str, reason: str) -> list[Registration]:
        """Withdraw ``name@version``, or every active version of ``name``; return what was withdrawn.

        Raises RegistryError where there is nothing to withdraw or no reason is given.
        """
        if not reason.strip():
            raise RegistryError("a withdrawal needs a reason")
        name, _, prefix = text.strip().partition("@")
        name = checked_name(name)
        active = [
            agent
            for agent in self.known()
            if agent.name == name
            and agent.withdrawn_at is None
            and agent.spec.version.startswith(prefix.lower())
        ]
        if not active:
            if name in STRATEGIES and not prefix:
                raise RegistryError(
                    f"{name} is a scripted strategy; only what was registered is withdrawn"
                )
            self.find(text)
        if prefix and len(active) > 1:
            raise RegistryError(f"{text} fits more than one version; give more digits")
        for agent in active:
            self._store.withdraw_agent(agent.name, agent.spec.version, reason.strip())
        return active

    def default(self, role: Role) -> list[Registration]:
        """Return who plays `role` when nobody is named: registered agents of that role, then the
        scripted panel; each behaviour once."""
        panel = PANEL_SELLERS if role is Role.SELLER else PANEL_BUYERS
        agents = [agent for agent in self.current() if agent.role in (role.value, "both")]
        once: dict[str, Registration] = {}
        for agent in (*agents, *map(scripted, panel)):
            once.setdefault(agent.spec.version, agent)
        return list(once.values())

    def _unknown(self, name: str) -> str:
        names = [*{agent.name for agent in self.current()}, *STRATEGIES]
        known = "(arena agents lists them, arena register adds one)"
        return f"no agent is called {name}{likely(name, names)} {known}"


def scripted(name: str) -> Registration:
    """Return a scripted strategy of the panel as if it were registered."""
    return unregistered(name, spec_of(name))


def unregistered(
    name: str, spec: AgentSpec, connection: Connection | None = None, family: str | None = None
) -> Registration:
    """Return an agent as if it were registered, for either side; `family` is that of its models."""
    return Registration(name, spec, "both", Profile(family=family), connection or Connection(), "")


def costs_money(agent: Registration) -> bool:
    """Return whether playing `agent` may cost money: a model that is registered at a price, or at none
    and neither on this machine nor on a private network."""
    connection = agent.connection
    prices = (connection.input_usd_per_million, connection.output_usd_per_million)
    if agent.spec.kind != "model" or prices == (0, 0):
        return False
    if any(prices):
        return True
    if connection.api_base is None:
        return True
    return not all(map(is_private, (connection.api_base, *connection.api_bases)))


def _change(agent: Registration, known: Sequence[Registration]) -> Change:
    same_name = [other for other in known if other.name == agent.name]
    if not same_name:
        return Change.NEW
    same = next((other for other in same_name if other.spec.version == agent.spec.version), None)
    if same is None:
        return Change.VERSION
    if same.withdrawn_at is not None:
        return Change.REINSTATED
    active = [other for other in same_name if other.withdrawn_at is None]
    if active[-1] is not same:
        return Change.VERSION
    beside = (agent.role, agent.profile, agent.connection)
    return Change.UNCHANGED if beside == (same.role, same.profile, same.connection) else Change.UPDATED
