"""Results with planted gains by buyer, for the tests of splits and guards."""

import json
from dataclasses import replace

import numpy as np

from arena.analysis import Analysis
from arena.design import Design
from arena.results import Results
from tests.leaderboard import synthetic


def plan(
    sellers=("arm", "base"), buyers=("x", "y"), domains=3, scenarios=32, bases=None, **declared
) -> Design:
    """Return a design, the last domain held out, whose arms all have the last seller as base."""
    bases = dict.fromkeys(sellers[:-1], sellers[-1]) if bases is None else bases
    return synthetic.design(
        sellers, buyers, domains, scenarios=scenarios, analysis=Analysis(bases=bases, **declared)
    )


def world(
    design: Design, gains: dict[str, dict[str, float]], seed: int = 0, noise: float = 0.1
) -> Results:
    """Return results of skill 0.4, plus `gains` by seller and buyer."""
    results = synthetic.play_all(
        design, np.random.default_rng(seed), {player.name: 0.4 for player in design.sellers}, noise
    )
    gain_S_B = np.array(
        [[gains.get(s.name, {}).get(b.name, 0.0) for b in design.buyers] for s in design.sellers]
    )
    utility_M = results.seller_utility_M + gain_S_B[results.seller_M, results.buyer_M]
    return replace(results, seller_utility_M=np.round(utility_M.clip(0, 1), 4))


def speaking(results: Results, seller: int, words: list[str], leaks: int = 0) -> Results:
    """Return the results with these first words of the messages in every match of one seller, of which
    `leaks` carry a fragment of the action."""
    said_M = results.seller_M == seller
    measures_M = results.measures_M.copy()
    measures_M["messages"][said_M, 0] = len(words)
    measures_M["turns"][said_M, 0] = len(words)
    measures_M["leaks"][said_M, 0] = leaks
    text = json.dumps([words, []])
    spoken = [text if said else old for said, old in zip(said_M, results.words_M, strict=True)]
    return replace(results, measures_M=measures_M, words_M=spoken)


def thinned(results: Results, case: str) -> Results:
    """Return results that hold next to nothing: all scores "equal", the first seller with "one match",
    "no buyer y", or "nothing"."""
    first = np.arange(len(results.seller_M)) == 0
    if case == "equal":
        return replace(results, seller_utility_M=np.full(len(first), 0.5))
    kept_M = {
        "one match": (results.seller_M == 1) | first,
        "no buyer y": results.buyer_M == 0,
        "nothing": np.zeros(len(first), bool),
    }
    return synthetic.choose(results, kept_M[case])
