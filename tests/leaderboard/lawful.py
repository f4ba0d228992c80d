"""Made-up results that obey the rules of play: what a match ends in is what it is worth."""

from dataclasses import replace

import numpy as np

from arena.results import Results
from tests.leaderboard.synthetic import design, play_all

DEAL, NO_AGREEMENT, SELLER_FORFEITS, BUYER_FORFEITS = range(4)


def lawful(
    seed: int,
    endings: tuple[float, float, float, float] = (0.6, 0.2, 0.1, 0.1),
    edge: float = 0.0,
    **more,
) -> Results:
    """Return results that obey the rules of play: `endings` are the chances of how a match ends, and
    seller a's deals are better by `edge`."""
    rng = np.random.default_rng(seed)
    found = play_all(design(**({"scenarios": 8} | more)), rng)
    count = len(found.seller_M)
    ending_M = rng.choice(4, size=count, p=endings)
    deal_M = ending_M == DEAL
    walk_away_G_R = rng.integers(0, 7_000, (found.scenario_M.max() + 1, 2))
    walk_away_M_R = walk_away_G_R[found.scenario_M]
    kinds_M_R_K = rng.integers(0, 2_300, (count, 2, 4)) * deal_M[:, None, None]
    kinds_M_R_K[:, 0, 1] += (deal_M & (found.seller_M == 0)) * round(edge * 10_000)
    score_M_R = np.where(deal_M[:, None], kinds_M_R_K.sum(axis=2), walk_away_M_R)
    score_M_R[ending_M == SELLER_FORFEITS, 0] = 0
    score_M_R[ending_M == BUYER_FORFEITS, 1] = 0
    measures_M = found.measures_M.copy()
    measures_M["walk_away"], measures_M["by_kind"] = walk_away_M_R, kinds_M_R_K
    return replace(
        found,
        seller_utility_M=score_M_R[:, 0] / 10_000,
        buyer_utility_M=score_M_R[:, 1] / 10_000,
        deal_M=deal_M,
        seller_forfeits_M=ending_M == SELLER_FORFEITS,
        buyer_forfeits_M=ending_M == BUYER_FORFEITS,
        measures_M=measures_M,
    )
