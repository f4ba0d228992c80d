"""A world is a design with a known truth; drawing it gives results as a real tournament would.

A cell's score is the seller's level against that buyer, plus an effect of the scenario that all share,
plus noise of its own. Scores are neither rounded nor held inside [0, 1] unless a world says so: where
coverage is checked, the truth has to stay what was planted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from arena.analysis import Analysis, Contrast
from arena.design import Design, DesignDomain, Player
from arena.measures import DTYPE
from arena.results import FloatArray, Results
from scenarios.canonical import digest


def version(name: str) -> str:
    """Return the version of a made-up agent: no spec has it, so it meets no real one."""
    return digest({"simulated": name}, 12)


def planned(
    sellers: Sequence[str],
    buyers: Sequence[str],
    *,
    domains: int = 8,
    held_out: int = 0,
    scenarios: int = 64,
    replicates: int = 1,
    bases: Mapping[str, str] | None = None,
    contrasts: Sequence[Contrast] | None = None,
) -> Design:
    """Return a design of made-up agents. `bases` name each arm's base; unless `contrasts` are given,
    every arm minus its base is declared."""
    bases = {version(arm): version(base) for arm, base in (bases or {}).items()}
    gains = Analysis(bases=bases).gains().values()

    def players(names: Sequence[str]) -> tuple[Player, ...]:
        return tuple(
            Player(name=name, version=version(name), deterministic=replicates == 1) for name in names
        )

    content = {
        "sellers": players(sellers),
        "buyers": players(buyers),
        "domains": [
            DesignDomain(name=f"domain {d + 1}", version=f"{d}", held_out=d >= domains - held_out)
            for d in range(domains)
        ],
        "scenarios": scenarios,
        "replicates": replicates,
        "analysis": Analysis(contrasts=tuple(contrasts or gains), bases=bases),
    }
    return Design.model_validate(content)


@dataclass(frozen=True)
class World:
    """A known truth over a design: levels by seller and buyer, and what varies around them."""

    design: Design
    level_S_B: FloatArray
    scenario_sd: float = 0.1
    """Of the effect that a scenario has on every seller and buyer alike."""
    noise_sd_S: FloatArray | float = 0.15
    """Of a single match, by seller."""
    missing: float = 0.0
    """Share of matches that are missing, at random."""
    walk_away_share: float = 0.0
    """Share of matches that end at the scenario's walk-away value, 0.45 for all."""
    zero_share: float = 0.0
    """Share of matches that score 0."""
    masses_by_scenario: bool = False
    """Whether all matches of a scenario end so together, or each by itself."""

    def draw(self, rng: np.random.Generator) -> Results:
        """Return the results of one tournament in this world."""
        grid = self._grid
        effect_G = rng.normal(0, self.scenario_sd, int(grid.scenario_M.max()) + 1)
        noise_sd_S = np.broadcast_to(np.asarray(self.noise_sd_S, float), len(self.design.sellers))
        y_M = self.level_S_B[grid.seller_M, grid.buyer_M] + effect_G[grid.scenario_M]
        y_M = y_M + rng.normal(size=len(y_M)) * noise_sd_S[grid.seller_M]
        if self.walk_away_share or self.zero_share:
            y_M = self._with_masses(y_M, rng)
        drawn = replace(grid, seller_utility_M=y_M)
        return drawn.where(rng.random(len(y_M)) >= self.missing) if self.missing else drawn

    def _with_masses(self, y_M: FloatArray, rng: np.random.Generator) -> FloatArray:
        chance_M = rng.random(len(y_M))
        if self.masses_by_scenario:
            chance_M = chance_M[self._grid.scenario_M]
        y_M = np.where(chance_M < self.walk_away_share, WALK_AWAY, y_M.clip(0, 1))
        return np.where(chance_M > 1 - self.zero_share, 0.0, y_M)

    @cached_property
    def _grid(self) -> Results:
        return _grid(self.design)


WALK_AWAY = 0.45


def _grid(design: Design) -> Results:
    """Return the results of every planned match on feasible scenarios, all with a score of 0."""
    shape = (
        len(design.sellers),
        len(design.buyers),
        len(design.domains),
        design.scenarios,
        design.replicates,
    )
    seller_M, buyer_M, domain_M, number_M, replicate_M = (axis.ravel() for axis in np.indices(shape))
    matches = len(seller_M)
    none_M, no_M = np.zeros(matches, np.int64), np.zeros(matches, bool)
    unknown_M_R = np.full((matches, 2), np.nan)
    planned_S_B_D = np.full(shape[:3], design.scenarios * design.replicates)
    return Results(
        design=design,
        seller_M=seller_M,
        buyer_M=buyer_M,
        domain_M=domain_M,
        scenario_M=domain_M * design.scenarios + number_M,
        feasible_M=~no_M,
        seller_opens_M=number_M % 2 == 0,
        replicate_M=replicate_M,
        seller_utility_M=np.zeros(matches),
        buyer_utility_M=np.full(matches, 0.5),
        deal_M=~no_M,
        seller_forfeits_M=no_M,
        buyer_forfeits_M=no_M,
        seller_faults_M=none_M,
        buyer_faults_M=none_M,
        key_M=np.array([f"{number:032x}" for number in range(matches)]),
        fresh_M=~no_M,
        tokens_M_R=unknown_M_R,
        cost_M_R=unknown_M_R,
        latency_M_R=unknown_M_R,
        measures_M=np.zeros(matches, DTYPE),
        words_M=[None] * matches,
        planned_S_B_D=planned_S_B_D,
        void_S_B_D=np.zeros_like(planned_S_B_D),
    )
