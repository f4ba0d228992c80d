"""Which checkpoint of a run to keep: the one that scores best on scenarios of the dev split.

Chosen on the scenarios that judge it, a checkpoint's score would be too good: the more of them, the more
so. So they are chosen here, against the run's own buyers, and judged elsewhere. For the same reason the
chosen one's score here is no result: it is the best of several.
"""

import asyncio
import gc
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from random import Random
from statistics import fmean
from typing import Any

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
from trainers.prepare import Prepared
from trainers.recipe import Recipe
from trainers.telling import Tell, silent

MATCHES = 64
"""Played by each seller; this project's choice."""


@dataclass(frozen=True)
class DevScore:
    """How a seller did on the dev split."""

    mean: float | None
    """The seller's score in [0, 1] over the matches that all who are compared finished; None where
    there are none, or it finished none itself and is left out."""
    finished: int
    """Matches that this seller finished."""


@dataclass(frozen=True)
class Choice:
    """Who did best on the dev split."""

    best: str | None
    """A name in `scores`; None where no match was finished by all who are compared, or none by the
    base."""
    compared: int
    """Matches over which they are compared: those that all finished but who finished none."""
    scores: Mapping[str, DevScore]
    """Of the base, which comes first, and of every checkpoint."""

    def to_json(self) -> dict[str, Any]:
        """Return the choice as JSON-ready data."""
        return {
            "best": self.best,
            "split": Split.DEV,
            "matches": MATCHES,
            "compared": self.compared,
            "scores": {name: asdict(score) for name, score in self.scores.items()},
        }


def chosen(sellers: Sequence[Registration], prepared: Prepared, tell: Tell = silent) -> Choice:
    """Return who of a run's base and checkpoints does best on the dev split, against the run's buyers.

    Of equals the first: with the base first, a checkpoint has to be better than it. `tell` is told what
    each seller finished, and how they compare. Raises as :func:`dev_scores` does.
    """
    free_memory()
    cells = dev_cells(prepared.recipe, prepared.domains, prepared.pool, MATCHES)
    choice = compared(dev_scores(sellers, cells, prepared.recipe, tell))
    if choice.best is not None:
        means = {name: one.mean for name, one in choice.scores.items() if one.mean is not None}
        who = "all" if len(means) == len(choice.scores) else "all others"
        said = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items())
        tell(f"over the {choice.compared} of them that {who} finished: {said}")
    return choice


def matches_to_choose(recipe: Recipe) -> int:
    """Return how many matches it takes to choose among the checkpoints of a whole run and their base."""
    return MATCHES * (1 + ceil(recipe.steps / recipe.save_steps))


def dev_cells(
    recipe: Recipe,
    domains: Mapping[str, Domain],
    pool: Mapping[str, tuple[AgentSpec, Connection]],
    matches: int,
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
    sellers: Sequence[Registration],
    cells: Sequence[TrainingCell],
    recipe: Recipe,
    tell: Tell = silent,
) -> dict[str, list[float | None]]:
    """Return each seller's scores on `cells`, in [0, 1], by its name; None is a void match. All play the
    same cells with the same random streams.

    `tell` is told how many each finished. Raises UserError for a seller that cannot be played here,
    ValueError for a cell of another split than dev, and RuntimeError where a match met a bug of the
    arena's.
    """
    if strangers := [cell for cell in cells if cell.scenario.split is not Split.DEV]:
        raise ValueError(f"{strangers[0].scenario.label} is no scenario to choose by: only dev is")
    scores = {}
    for seller in sellers:
        agent = _built(seller.name, seller.spec, seller.connection)
        scores[seller.name] = own = seller_scores(agent, cells, recipe)
        finished = len(own) - own.count(None)
        tell(f"{seller.name} finished {finished} of {len(own)} matches on the dev split")
    return scores


def compared(scores: Mapping[str, list[float | None]]) -> Choice:
    """Return who of sellers that played the same cells did best, of equals the first.

    They are compared over the matches that all of them finished: a seller is not better for the matches
    that were void for it. One that finished none is left out; if that is the first, the base, there is
    nothing to compare with.
    """
    finished = {name: len(own) - own.count(None) for name, own in scores.items()}
    played = [name for name, count in finished.items() if count]
    matches = list(zip(*(scores[name] for name in played), strict=True))
    paired = [[one for one in match if one is not None] for match in matches if None not in match]
    if not finished.get(next(iter(scores), ""), 0):
        paired = []
    means = {
        name: fmean(column) for name, column in zip(played, zip(*paired, strict=True), strict=False)
    }
    found = {name: DevScore(means.get(name), count) for name, count in finished.items()}
    return Choice(max(means, key=means.__getitem__, default=None), len(paired), found)


def seller_scores(seller: Agent, cells: Sequence[TrainingCell], recipe: Recipe) -> list[float | None]:
    """Return the scores of `seller` on `cells`, which it plays all at once; None is a void match."""
    outcomes = asyncio.run(_played(seller, cells, recipe))
    for outcome in outcomes:
        if outcome.ending is Ending.HARNESS_ERROR:
            raise RuntimeError(f"a bug of bargaining-arena on the dev split: {outcome.detail}")
    return [outcome.seller_score for outcome in outcomes]


def free_memory() -> None:
    """Free what a training that is over still holds of a GPU."""
    import torch

    gc.collect()  # a trainer and its callbacks know each other
    torch.cuda.empty_cache()


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
