"""The order in which matches with language models are played.

What a provider serves under one name may change from one day to the next, so sellers that are compared
should meet it at nearly the same time. And weights on this machine should be loaded seldom, though a
tournament may have more of them than fit into its memory.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import groupby
from operator import itemgetter

from arena.schedule import Place
from arena.serving import servings
from arena.store import Registration

MATCHES_A_LOAD = 256
"""Matches that weights on this machine play before others are loaded: four of their largest batches.
Already one batch takes a tiny model a hundred times as long as being loaded; for large ones, and servers
that must start, loading weighs more."""
MATCHES_A_LOAD_IN_TIME = 64
"""The same where the other side may change over time. A quarter of an hour or so apart, at most, the
sellers of a block then meet what a provider serves, and loading still takes less time than playing. Both
are this project's choice."""


def in_order(planned: Iterable[Place], agents: Mapping[str, Registration]) -> list[Place]:
    """Return planned matches of `agents` (by version, in the order of the line-up) in the order to play
    them in."""
    served, here = servings(agents), ("scripted", "local")
    local = {version: version for version, agent in agents.items() if agent.spec.kind == "local"}
    changing = {version for version, agent in agents.items() if agent.spec.kind not in here}
    places, loads = list(planned), {**local, **served}
    if not loads:
        return places
    needed = weights_needed(loads)
    mixed = any(
        needed(place) and not (changing - served.keys()).isdisjoint(place.versions) for place in places
    )
    return in_blocks(places, needed, MATCHES_A_LOAD_IN_TIME if mixed else MATCHES_A_LOAD)


def weights_needed(loads: Mapping[str, Hashable]) -> Callable[[Place], tuple[int, ...]]:
    """Return what tells of a match which weights on this machine it needs, as :func:`in_blocks` asks it.

    `loads`: by version, in the order of the line-up, what has to be loaded or served here for an agent;
    equal for agents that share it. Who is not there needs nothing here.
    """
    number = {load: place for place, load in enumerate(dict.fromkeys(loads.values()))}

    def weights(place: Place) -> tuple[int, ...]:
        return tuple(sorted({number[loads[v]] for v in place.versions if v in loads}))

    return weights


def in_blocks(
    planned: Iterable[Place], weights_of: Callable[[Place], tuple[int, ...]], most: int = MATCHES_A_LOAD
) -> list[Place]:
    """Return planned matches in the order to play them in: blocks of whole scenarios, and within each
    first what needs no weights on this machine (an empty tuple), then the shares of those that need the
    same (by number, lowest first), each in the plan's order.

    A share has at most `most` matches, or those of one scenario. Blocks are counted over the whole plan,
    whatever of it is played already: a seller's first block has the same cells as every other's, and a
    tournament that is stopped has played them alike but for one block. Where no weights are needed the
    plan's order stays, which plays each scenario across all sellers before the next.
    """
    block, shares = 0, Counter[tuple[int, ...]]()
    placed: list[tuple[int, tuple[int, ...], Place]] = []
    for _, places in groupby(planned, key=lambda place: place.scenario):
        needed = [(weights_of(place), place) for place in places]
        more = Counter(weights for weights, _ in needed if weights)
        if any(shares[weights] + count > most for weights, count in more.items()):
            block, shares = block + 1, Counter()
        shares += more
        placed += [(block, weights, place) for weights, place in needed]
    return [place for _, _, place in sorted(placed, key=itemgetter(0, 1))]
