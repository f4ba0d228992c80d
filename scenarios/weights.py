"""The recipe for weights: how much each term matters to each side, given the kinds.

Weights are whole percents that add up to 100 for each side. All of it is this project's choice.
"""

from collections.abc import Sequence

from scenarios.domain import Kind
from scenarios.kinds import DISTRIBUTIVE_RATIO, INTEGRATIVE_RATIO
from scenarios.stream import Stream

MIN_WEIGHT = 2
"""The least a term matters to a side, in percent."""

_BASE = (50, 150)
"""A term's importance to both sides alike, before the two are pulled apart."""

_PULL = {
    Kind.COMPATIBLE: (100, 150),
    Kind.MIXED: (100, 150),
    Kind.DISTRIBUTIVE: (100, 115),
    Kind.INTEGRATIVE: (150, 200),
}
"""In percent: the heavier side's weight is multiplied by the pull, the lighter side's divided by it."""

_TWO_OPTION_MIXED = (125, 138)
"""With two options only the ratio of weights, between 1.5 and 2, makes a term mixed."""

Weights = tuple[int, ...]


def draw_weights(
    stream: Stream, kinds: Sequence[Kind], sizes: Sequence[int], attempts: int = 40
) -> tuple[Weights, Weights] | None:
    """Return the seller's and the buyer's weights, or None where no attempt kept every kind.

    `kinds` and `sizes` (number of options) have one entry per term. Rounding to whole percents can
    push a ratio over a threshold, hence the attempts. Half of the integrative terms are heavy for
    each side; an odd one, and every other term, is heavy for a random side.
    """
    for _ in range(attempts):
        heavy = _heavy_sides(stream, kinds)
        seller, buyer = [], []
        for kind, size, seller_heavy in zip(kinds, sizes, heavy, strict=True):
            base = stream.between(*_BASE)
            two_option_mixed = kind is Kind.MIXED and size == 2
            pull = stream.between(*(_TWO_OPTION_MIXED if two_option_mixed else _PULL[kind]))
            more, less = base * pull, base * 10_000 // pull
            seller.append(more if seller_heavy else less)
            buyer.append(less if seller_heavy else more)
        weights = _percents(seller), _percents(buyer)
        if all(map(_keeps, kinds, sizes, *weights)):
            return weights
    return None


def _heavy_sides(stream: Stream, kinds: Sequence[Kind]) -> list[bool]:
    """Return, per term, whether it is the seller to whom it matters more."""
    integrative = sum(kind is Kind.INTEGRATIVE for kind in kinds)
    halves = [True, False] * (integrative // 2) + [stream.coin()] * (integrative % 2)
    sides = iter(stream.shuffled(halves))
    return [next(sides) if kind is Kind.INTEGRATIVE else stream.coin() for kind in kinds]


def _percents(raw: Sequence[int]) -> Weights:
    """Return whole percents in proportion to `raw`, by largest remainder, each at least MIN_WEIGHT."""
    spare, total = 100 - MIN_WEIGHT * len(raw), sum(raw)
    floors = [MIN_WEIGHT + spare * part // total for part in raw]
    by_remainder = sorted(range(len(raw)), key=lambda i: (-(spare * raw[i] % total), i))
    for i in by_remainder[: 100 - sum(floors)]:
        floors[i] += 1
    return tuple(floors)


def _keeps(kind: Kind, size: int, seller: int, buyer: int) -> bool:
    """Return whether two weights suit a kind whose values are already drawn to match it."""
    ratio = max(seller, buyer) / min(seller, buyer)
    if kind is Kind.DISTRIBUTIVE:
        return ratio <= DISTRIBUTIVE_RATIO
    if kind is Kind.INTEGRATIVE:
        return ratio >= INTEGRATIVE_RATIO
    return size > 2 or kind is Kind.COMPATIBLE or DISTRIBUTIVE_RATIO < ratio < INTEGRATIVE_RATIO
