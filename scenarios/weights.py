"""The recipe for weights: how much each term matters to each side, given the kinds.

Weights are whole percents that add up to 100 for each side. All of it is this project's choice.
"""

from collections.abc import Sequence
from operator import mul

from scenarios.domain import Kind
from scenarios.kinds import DISTRIBUTIVE_RATIO, INTEGRATIVE_RATIO
from scenarios.stream import Stream

DEFAULT_MOST = 45
"""What the default package is worth to each side at most, in percent."""

ATTEMPTS = 30
"""How often weights are drawn for the same values before all of it is drawn again."""

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
Table = Sequence[Sequence[int]]


def draw_weights(
    stream: Stream,
    kinds: Sequence[Kind],
    seller_values: Table,
    buyer_values: Table,
    default: Sequence[int],
) -> tuple[Weights, Weights] | None:
    """Return the seller's and the buyer's weights, or None where no attempt met every demand.

    Kinds, rows of values and the default package have one entry per term. Demanded are the kinds'
    ratios of weights, which scaling to whole percents can spoil, and a default package worth at most
    DEFAULT_MOST to each side. Half of the integrative terms are heavy for each side; an odd one, and
    every other term, is heavy for a random side.
    """
    sizes = list(map(len, seller_values))
    seller_default = [row[option] for row, option in zip(seller_values, default, strict=True)]
    buyer_default = [row[option] for row, option in zip(buyer_values, default, strict=True)]
    pulls = [
        _TWO_OPTION_MIXED if kind is Kind.MIXED and size == 2 else _PULL[kind]
        for kind, size in zip(kinds, sizes, strict=True)
    ]
    integrative = [kind is Kind.INTEGRATIVE for kind in kinds]
    for _ in range(ATTEMPTS):
        seller, buyer = _raw(stream, pulls, _heavy_sides(stream, integrative))
        # Checked before the work of rounding, and in the same way after it.
        if _worth_little(seller, seller_default) and _worth_little(buyer, buyer_default):
            seller, buyer = _percents(seller), _percents(buyer)
            if (
                _worth_little(seller, seller_default)
                and _worth_little(buyer, buyer_default)
                and all(map(_keeps, kinds, sizes, seller, buyer))
            ):
                return tuple(seller), tuple(buyer)
    return None


def _raw(
    stream: Stream, pulls: Sequence[tuple[int, int]], seller_heavy: Sequence[bool]
) -> tuple[list[int], list[int]]:
    """Return both sides' weights before they are scaled to 100."""
    seller, buyer = [], []
    bases = stream.several(len(pulls), *_BASE)
    for base, (low, high), heavy in zip(bases, pulls, seller_heavy, strict=True):
        pull = stream.between(low, high)
        more, less = base * pull, base * 10_000 // pull
        seller.append(more if heavy else less)
        buyer.append(less if heavy else more)
    return seller, buyer


def _worth_little(weights: Sequence[int], default_values: Sequence[int]) -> bool:
    worth: int = sum(map(mul, weights, default_values))
    return worth <= DEFAULT_MOST * sum(weights)


def _heavy_sides(stream: Stream, integrative: Sequence[bool]) -> list[bool]:
    """Return, per term, whether it is the seller to whom it matters more."""
    pairs, odd = divmod(sum(integrative), 2)
    halves = [True, False] * pairs + [stream.coin()] * odd
    sides = iter(stream.shuffled(halves))
    return [next(sides) if of_a_pair else stream.coin() for of_a_pair in integrative]


def _percents(raw: Sequence[int]) -> list[int]:
    """Return whole percents in proportion to `raw`, by largest remainder, each at least MIN_WEIGHT."""
    spare, total = 100 - MIN_WEIGHT * len(raw), sum(raw)
    floors = [MIN_WEIGHT + spare * part // total for part in raw]
    by_remainder = sorted(range(len(raw)), key=lambda i: -(spare * raw[i] % total))
    for i in by_remainder[: 100 - sum(floors)]:
        floors[i] += 1
    return floors


def _keeps(kind: Kind, size: int, seller: int, buyer: int) -> bool:
    """Return whether two weights suit a kind whose values are already drawn to match it."""
    ratio = max(seller, buyer) / min(seller, buyer)
    if kind is Kind.DISTRIBUTIVE:
        return ratio <= DISTRIBUTIVE_RATIO
    if kind is Kind.INTEGRATIVE:
        return ratio >= INTEGRATIVE_RATIO
    return size > 2 or kind is Kind.COMPATIBLE or DISTRIBUTIVE_RATIO < ratio < INTEGRATIVE_RATIO
