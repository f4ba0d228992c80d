"""Hand-made results for the tests: a design and a score for every planned match."""

from dataclasses import replace

import numpy as np

from arena.design import Design, DesignDomain, Player
from arena.measures import DTYPE
from arena.results import Results


def design(
    sellers: tuple[str, ...] = ("a", "b", "c"),
    buyers: tuple[str, ...] = ("x", "y"),
    domains: int = 3,
    held_out: int = 1,
    stochastic: tuple[str, ...] = (),
    **settings: object,
) -> Design:
    """Return a design; the last `held_out` domains are held out. A name is its own version."""

    def players(names: tuple[str, ...]) -> tuple[Player, ...]:
        return tuple(
            Player(name=n.split("@")[0], version=n, deterministic=n not in stochastic) for n in names
        )

    return Design(
        sellers=players(sellers),
        buyers=players(buyers),
        domains=tuple(
            DesignDomain(name=f"domain_{d}", version="1", held_out=d >= domains - held_out)
            for d in range(domains)
        ),
        **settings,  # type: ignore[arg-type]
    )


def play_all(
    plan: Design,
    rng: np.random.Generator,
    skill: dict[str, float] | None = None,
    noise: float = 0.1,
    scenario_noise: float = 0.1,
) -> Results:
    """Return complete results: skill + scenario effect + noise, rounded as utilities are."""
    sellers, buyers, domains = len(plan.sellers), len(plan.buyers), len(plan.domains)
    grid = np.array(
        [
            (s, b, d, d * plan.scenarios + g, g % 2 == 0, r)
            for s in range(sellers)
            for b in range(buyers)
            for d in range(domains)
            for g in range(plan.scenarios)
            for r in range(plan.replicates_of(plan.sellers[s], plan.buyers[b]))
        ],
        dtype=np.int64,
    )
    level_S = np.array([(skill or {}).get(player.name, 0.5) for player in plan.sellers])
    effect_G = rng.normal(0, scenario_noise, domains * plan.scenarios)
    y_M = level_S[grid[:, 0]] + effect_G[grid[:, 3]] + rng.normal(0, noise, len(grid))
    y_M = np.round(y_M.clip(0, 1), 4)
    planned = np.zeros((sellers, buyers, domains), dtype=np.int64)
    np.add.at(planned, (grid[:, 0], grid[:, 1], grid[:, 2]), 1)
    return Results(
        design=plan,
        seller_M=grid[:, 0],
        buyer_M=grid[:, 1],
        domain_M=grid[:, 2],
        scenario_M=grid[:, 3],
        feasible_M=np.ones(len(grid), dtype=bool),
        seller_opens_M=grid[:, 4].astype(bool),
        replicate_M=grid[:, 5],
        seller_utility_M=y_M,
        buyer_utility_M=np.round(1 - y_M**2, 4),
        deal_M=y_M > 0.4,
        seller_forfeits_M=np.zeros(len(grid), dtype=bool),
        buyer_forfeits_M=np.zeros(len(grid), dtype=bool),
        seller_faults_M=np.zeros(len(grid), dtype=np.int64),
        buyer_faults_M=np.zeros(len(grid), dtype=np.int64),
        key_M=np.array([f"{number:032x}" for number in range(len(grid))], dtype=str),
        fresh_M=np.ones(len(grid), dtype=bool),
        tokens_M_R=np.full((len(grid), 2), np.nan),
        cost_M_R=np.full((len(grid), 2), np.nan),
        latency_M_R=np.full((len(grid), 2), np.nan),
        measures_M=_measures(y_M),
        words_M=[None] * len(grid),
        planned_S_B_D=planned,
        void_S_B_D=np.zeros_like(planned),
    )


def _measures(y_M: np.ndarray) -> np.ndarray:
    """Return measures of silent matches in which each side's walk-away value is 0.4."""
    measures_M = np.zeros(len(y_M), dtype=DTYPE)
    measures_M["walk_away"] = 4_000
    measures_M["surplus"] = 4_000
    measures_M["terms"] = 9
    measures_M["distance"] = np.where(y_M > 0.4, 0.05, np.nan)
    measures_M["by_kind"][:, 0, 3] = np.where(y_M > 0.4, np.round(y_M * 10_000), 0)
    measures_M["by_kind"][:, 1, 3] = np.where(y_M > 0.4, np.round((1 - y_M**2) * 10_000), 0)
    measures_M["turns"] = 4
    return measures_M


def choose(results: Results, rows: np.ndarray) -> Results:
    """Return the results with only these rows, in this order (a mask or an index)."""
    columns = {
        name: getattr(results, name)[rows]
        for name in vars(results)
        if "_M" in name and name != "words_M"
    }
    columns["words_M"] = list(np.array(results.words_M, dtype=object)[rows])
    return replace(results, **columns)
