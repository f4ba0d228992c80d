"""A scripted strategy with its parameters, as an agent."""

from random import Random
from typing import Protocol

from agents.agent import Brief, Negotiator
from agents.spec import AgentSpec
from scenarios.scenario import Role


class Strategy(Protocol):
    """A strategy with its parameters set: a frozen dataclass whose fields are the parameters."""

    def begin(self, brief: Brief, rng: Random) -> Negotiator:
        """Return one match's negotiator; only strategies marked stochastic may draw from `rng`."""
        ...


class ScriptedAgent:
    """Plays a strategy. Stateless: what a match needs to remember lives in its negotiator."""

    def __init__(self, spec: AgentSpec, strategy: Strategy, deterministic: bool) -> None:
        self.spec = spec
        self.deterministic = deterministic
        self._strategy = strategy

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        """Return the negotiator for one match."""
        return self._strategy.begin(brief, rng)
