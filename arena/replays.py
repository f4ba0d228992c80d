"""Matches of a base played once more as a tournament goes on, to see whether what is served changes.

What a provider serves under one name may change from one day to the next, and a tournament can last for
days. So the scenarios of a design are cut into blocks, and after each block but the first some of the
first block's matches of a base are played again. What a replay scores less what the first play scored is
drift (`leaderboard.inference.drift`). All of this is this project's choice:

- **Blocks**: BLOCKS stretches of scenario numbers, as even as can be (fewer scenarios, fewer blocks).
  Every domain, seller and buyer is in each. The panel without a zone of agreement comes after the last.
- **Base**: the sellers that the design declares as bases of others; without one those that its contrasts
  take away; else the first seller that is remote; else the first.
- **Cells**: of a base against a buyer, where one of them is remote, the given share of the cells of the
  first block, one at least: a random sample by hash, other cells after each block while there are any,
  so that as many scenarios as possible tell. A larger share holds the cells of a smaller one.

A replay has a replicate number that no design plans, so that no board counts it, no cached answer serves
it, and its key is its own. The number depends on the design: a base whose matches an earlier design
played is replayed for this one as well.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

from arena.design import Design
from arena.schedule import Place, indices, openers
from scenarios.canonical import digest

BLOCKS = 8
_STRIDE = 1_000_000
"""Replicate numbers that are set apart for a design's replays. No design has so many replicates."""
_DESIGNS = 2_000
"""Designs that are told apart; the largest replicate number still fits 31 bits."""


def replicates(design: Design) -> range:
    """Return the replicate numbers of the design's replays; that of block K (1 or more) stands at K."""
    first = _STRIDE * (1 + int(design.hash, 16) % _DESIGNS)
    return range(first, first + BLOCKS)


def replayed_block(replicate: int) -> int | None:
    """Return the block that a replay with this replicate number follows; None for a number that a
    design plans."""
    return replicate % _STRIDE if replicate >= _STRIDE else None


def blocks(design: Design) -> int:
    """Return how many blocks of scenarios the design has."""
    return min(BLOCKS, design.scenarios)


def block_of(design: Design, place: Place) -> int:
    """Return the block of a planned place, from 0; that of the infeasible panel comes after the last."""
    if not place.feasible:
        return blocks(design)
    return (place.number - indices(design).start) * blocks(design) // design.scenarios


def bases(design: Design, remote: Collection[str]) -> list[str]:
    """Return the versions of the sellers that are replayed, where `remote` may change; empty where
    nothing may."""
    sellers = [player.version for player in design.sellers]
    table = {player.version for player in design.buyers}
    meet = sellers if table & set(remote) else [version for version in sellers if version in remote]
    declared = design.analysis
    choices: list[Iterable[str]] = [[s for s in sellers if s in remote][:1], sellers[:1]]
    if declared is not None:
        taken_away = [version for contrast in declared.contrasts for version in contrast.minus]
        choices = [declared.bases.values(), taken_away, *choices]
    for chosen in choices:
        if found := [version for version in meet if version in set(chosen)]:
            return found
    return []


def replays(design: Design, remote: Collection[str], share: float) -> dict[int, list[Place]]:
    """Return the replays of a design by the block that they follow, 1 or later.

    `remote`: versions of agents that a provider serves. `share`, above 0 and at most 1: of the cells of
    the first block of a base against a buyer, how many are played again with each later block.
    """
    found: dict[int, list[Place]] = {block: [] for block in range(1, blocks(design))}
    for seller in bases(design, remote):
        for player in design.buyers:
            if not {seller, player.version} & set(remote):
                continue
            cells = _first_block(design, seller, player.version)
            size = max(1, round(share * len(cells)))
            for block, chosen in found.items():
                start = (block - 1) * len(cells) // len(found)
                again = replicates(design)[block]
                chosen += [
                    cells[(start + number) % len(cells)]._replace(replicate=again)
                    for number in range(size)
                ]
    return found


def with_replays(
    queue: Iterable[Place], again: Mapping[int, Iterable[Place]], design: Design, remote: Collection[str]
) -> deque[Place]:
    """Return the queue with each block's replays behind the last match of that block, or of an earlier
    one, in which a `remote` agent plays; in front where none is left."""
    order, served = list(queue), set(remote)
    block_at = {
        number: block_of(design, place)
        for number, place in enumerate(order)
        if not served.isdisjoint(place.versions)
    }
    behind: dict[int, list[Place]] = {}
    for block, places in again.items():
        last = max((number for number, its in block_at.items() if its <= block), default=-1)
        behind.setdefault(last, []).extend(places)
    found = deque(behind.get(-1, []))
    for number, place in enumerate(order):
        found.append(place)
        found.extend(behind.get(number, []))
    return found


def _first_block(design: Design, seller: str, buyer: str) -> list[Place]:
    """Return the cells of the pair in the first block, in a random order that is always the same."""
    cells = [
        Place(domain.version, number, True, seller, buyer, opener.value, 0)
        for number in indices(design)
        for domain in design.domains
        for opener in openers(design, number)
    ]
    first = [place for place in cells if block_of(design, place) == 0]
    return sorted(first, key=_lot)


def _lot(place: Place) -> str:
    """Return what a cell's place in the sample is drawn by: not the seller, so that all bases meet the
    same cells."""
    return digest([place.domain_version, place.number, place.opener, place.buyer_version], 32)
