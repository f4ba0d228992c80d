"""Which checkpoint of a run to keep: the one that scores best on scenarios of the dev split.

Chosen on the scenarios that judge it, a checkpoint's score would be too good: the more of them, the more
so. So they are chosen here, against the run's own buyers, and judged elsewhere. For the same reason the
chosen one's score here is no result: it is the best of several.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from agents.agent import Agent
from agents.build import UnplayableError, build
from agents.spec import AgentSpec, Connection
from arena.drivers import run_async
from arena.errors import UserError
from arena.play import Outcome, briefs
from arena.protocol import Ending
from arena.store import Registration
from scenarios.domain import Domain
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from trainers.cells import TrainingCell
from trainers.recipe import Recipe

MATCHES = 64
"""Played by each seller; this project's choice."""


@dataclass(frozen=True)
class DevScore:
    """How a seller did on the dev split."""

    mean: float | None
    """The seller's score in [0, 1] over the matches that were finished; None where none was."""
    finished: int


def dev_cells(
    recipe: Recipe,
    domains: Mapping[str, Domain],
    pool: Mapping[str, tuple[AgentSpec, Connection]],
    matches: int = MATCHES,
) -> list[TrainingCell]:
    """Return so many cells of the dev split: the run's domains in turn, then its buyers, as they are
    named and not varied, then the opener, then the next scenarios. `domains` and `pool` by version."""
    buyers = {buyer.version: _built(buyer.name, *pool[buyer.version]) for buyer in recipe.buyers}
    cells = []
    for number in range(matches):
        around, place = divmod(number, len(recipe.domains))
        around, who = divmod(around, len(recipe.buyers))
        index, opener = divmod(around, 2)
        domain, buyer = domains[recipe.domains[place].version], recipe.buyers[who]
        scenario = draw(domain, Split.DEV, index)
        told = briefs(domain, scenario, recipe.rules)
        opens = (Role.SELLER, Role.BUYER)[opener]
        cells.append(TrainingCell(number, scenario, told, buyer.name, buyers[buyer.version], opens))
    return cells


def dev_scores(
    sellers: Sequence[Registration], cells: Sequence[TrainingCell], recipe: Recipe
) -> dict[str, DevScore]:
    """Return each seller's score by its name; all play the same cells with the same random streams.

    Raises UserError for a seller that cannot be played here, ValueError for a cell of another split
    than dev, and RuntimeError where a match met a bug of the arena's.
    """
    if strangers := [cell for cell in cells if cell.scenario.split is not Split.DEV]:
        raise ValueError(f"{strangers[0].scenario.label} is no scenario to choose by: only dev is")
    return {
        seller.name: dev_score(_built(seller.name, seller.spec, seller.connection), cells, recipe)
        for seller in sellers
    }


def dev_score(seller: Agent, cells: Sequence[TrainingCell], recipe: Recipe) -> DevScore:
    """Return how `seller` does on `cells`, all of them at once; void matches do not count."""
    outcomes = asyncio.run(_played(seller, cells, recipe))
    for outcome in outcomes:
        if outcome.ending is Ending.HARNESS_ERROR:
            raise RuntimeError(f"a bug of bargaining-arena on the dev split: {outcome.detail}")
    scores = [outcome.seller_score for outcome in outcomes if outcome.seller_score is not None]
    return DevScore(sum(scores) / len(scores) if scores else None, len(scores))


def best(scores: Mapping[str, DevScore]) -> str | None:
    """Return who scored highest, the first of several; None where nobody finished a match."""
    means = {name: score.mean for name, score in scores.items() if score.mean is not None}
    return max(means, key=lambda name: means[name], default=None)


async def _played(seller: Agent, cells: Sequence[TrainingCell], recipe: Recipe) -> list[Outcome]:
    return await asyncio.gather(
        *(
            run_async(
                cell.game(recipe),
                {Role.SELLER: seller, Role.BUYER: cell.buyer},
                {Role.SELLER: Random(f"dev/{cell.number}"), Role.BUYER: cell.rng()},
                recipe.turn_timeout,
            )
            for cell in cells
        )
    )


def _built(name: str, spec: AgentSpec, connection: Connection) -> Agent:
    try:
        return build(spec, connection)
    except UnplayableError as error:
        raise UserError(f"{name} cannot play: {error}") from error
