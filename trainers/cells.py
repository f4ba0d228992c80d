"""What a run trains on, position by position: a pure function of the recipe, so that a run that is
resumed sees what it would have seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from agents.agent import Agent, Brief
from agents.build import build
from agents.spec import AgentSpec, Connection
from arena.play import Game, briefs, play
from scenarios.canonical import digest
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Role, Scenario, Split
from scenarios.stream import Stream
from trainers.recipe import Recipe

PACE = (0.5, 2.0)
"""Factors between which the exponent of a varied buyer's concession is drawn, evenly in logarithm."""
FLOOR = (0.05, 0.3)
"""Bounds of the final aspiration of a varied buyer, as a share of the way from its walk-away value to
its best package. At 0 a fixed policy earns 90% of the ceiling from `tit_for_tat` on small domains."""


@dataclass(frozen=True)
class TrainingCell:
    """What all dialogues of a group have in common."""

    number: int
    """Its place in the run: step * groups_per_step + group, from 0."""
    scenario: Scenario
    told: Mapping[Role, Brief]
    buyer_name: str
    buyer: Agent
    opener: Role

    def rng(self) -> Random:
        """Return the buyer's random stream: the same for every dialogue of the group."""
        return Random(int(digest([self.scenario.key, self.buyer.spec.version, self.number], 32), 16))

    def game(self, recipe: Recipe) -> Game:
        """Return one dialogue of this cell, ready to be played."""
        return play(self.scenario, self.told, recipe.rules, self.opener)


class Cells:
    """The cells of a run in order."""

    def __init__(
        self,
        recipe: Recipe,
        domains: Mapping[str, Domain],
        pool: Mapping[str, tuple[AgentSpec, Connection]],
    ) -> None:
        """`domains` and `pool` hold, by version, what the recipe names."""
        self._recipe, self._domains, self._pool = recipe, domains, pool
        self._draw = lru_cache(4 * recipe.groups_per_step)(self._drawn)
        self._agent = lru_cache(1024)(self._built)

    def at(self, number: int) -> TrainingCell:
        """Return the cell at a place of the run, 0 or more."""
        recipe = self._recipe
        stream = Stream(["cell", recipe.seed, number])
        around, place = divmod(number, len(recipe.domains))
        scenario, told = self._draw(recipe.domains[place].version, around % recipe.scenarios)
        buyer = stream.pick(recipe.buyers)
        spec, connection = self._pool[buyer.version]
        if recipe.vary_buyers:
            spec = varied(spec, stream)
        opener = Role.SELLER if stream.coin() else Role.BUYER
        agent = self._agent(spec.model_dump_json(), connection)
        return TrainingCell(number, scenario, told, buyer.name, agent, opener)

    def _drawn(self, version: str, index: int) -> tuple[Scenario, dict[Role, Brief]]:
        domain = self._domains[version]
        found = draw(domain, Split.TRAIN, index)
        return found, briefs(domain, found, self._recipe.rules)

    def _built(self, spec: str, connection: Connection) -> Agent:
        return build(AgentSpec.model_validate_json(spec), connection)


def varied(spec: AgentSpec, stream: Stream) -> AgentSpec:
    """Return a scripted strategy with another pace and final aspiration; any other agent as it is.

    Walk-away values need no variation here: every scenario draws its own.
    """
    if spec.kind != "scripted":
        return spec
    parameters = dict(spec.parameters)
    if "exponent" in parameters:
        low, high = PACE
        share = stream.between(0, 1000) / 1000
        parameters["exponent"] = round(parameters["exponent"] * low * (high / low) ** share, 3)
    if "floor" in parameters:
        low, high = FLOOR
        parameters["floor"] = round(low + (high - low) * stream.between(0, 1000) / 1000, 3)
    if "steps" in parameters:
        parameters["steps"] = stream.between(6, 12)
    return spec.model_copy(update={"parameters": parameters})
