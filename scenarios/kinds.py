"""The kind of a term, derived from both sides' tables of one scenario."""

from collections.abc import Sequence
from itertools import combinations

from scenarios.domain import Kind

DISTRIBUTIVE_RATIO = 1.5
INTEGRATIVE_RATIO = 2.0


def kind_of(
    seller_weight: float,
    seller_values: Sequence[float],
    buyer_weight: float,
    buyer_values: Sequence[float],
) -> Kind:
    """Return how the two sides' interests in one term relate.

    Weights are positive, values one per option (same length for both sides). Compatible: one option
    is best for both. Opposed: every pair of options is Pareto-incomparable; opposed terms are
    distributive at a weight ratio of at most 1.5, integrative at 2 or more. All else is mixed. The
    two thresholds are this project's choice.
    """
    options = range(len(seller_values))
    best_seller, best_buyer = max(seller_values), max(buyer_values)
    if any(seller_values[i] == best_seller and buyer_values[i] == best_buyer for i in options):
        return Kind.COMPATIBLE
    opposed = all(
        (seller_values[i] - seller_values[j]) * (buyer_values[i] - buyer_values[j]) < 0
        for i, j in combinations(options, 2)
    )
    ratio = max(seller_weight, buyer_weight) / min(seller_weight, buyer_weight)
    if opposed and ratio <= DISTRIBUTIVE_RATIO:
        return Kind.DISTRIBUTIVE
    if opposed and ratio >= INTEGRATIVE_RATIO:
        return Kind.INTEGRATIVE
    return Kind.MIXED
