"""The recipe for option values: what each option of a term is worth to each side, given a kind.

Values are whole percents, distinct within a term, 0 for a side's worst option and 100 for its best.
Every rule treats the two sides alike. All of it is this project's choice.
"""

from collections.abc import Sequence

from scenarios.domain import Kind, Term
from scenarios.stream import Stream

Values = tuple[int, ...]
"""One whole percent per option, in the term's own order."""

_STEP = (40, 160)
"""Bounds of the steps between neighbouring ranks before they are scaled to 100: no two options are
nearly the same, and none towers over the rest."""


def draw_values(stream: Stream, term: Term, kind: Kind) -> tuple[Values, Values]:
    """Return the seller's and the buyer's values of one term of the given kind.

    - Opposed (distributive, integrative): strictly reverse orders; where options have an order, both
      sides are monotone in it, in the direction of `seller_prefers` or else a random one.
    - Compatible: the shared best is a random option other than the default.
    - Mixed: different bests, but not strictly reverse (with two options, only weights can make a
      term mixed, so there the values are opposed). With four options or more, neither best is the
      default.

    What a contract says when nobody speaks up pleases nobody much, and tells nobody who wants what.
    Ordered terms that are not opposed are single-peaked for each side: the further from the best, in
    either direction, the worse.
    """
    if kind in (Kind.DISTRIBUTIVE, Kind.INTEGRATIVE) or (kind is Kind.MIXED and len(term.options) == 2):
        seller = _opposed_ranking(stream, term)
        buyer = seller[::-1]
    elif kind is Kind.COMPATIBLE:
        best = stream.pick(_but_default(term))
        seller, buyer = _ranking(stream, term, best), _ranking(stream, term, best)
    else:
        seller, buyer = _mixed_rankings(stream, term)
    return _values(stream, seller), _values(stream, buyer)


def _opposed_ranking(stream: Stream, term: Term) -> list[int]:
    """Return the seller's ranking, best option first; the buyer's is its reverse."""
    options = list(range(len(term.options)))
    if not term.ordered:
        return stream.shuffled(options)
    first = stream.coin() if term.seller_prefers is None else term.seller_prefers == "first"
    return options if first else options[::-1]


def _mixed_rankings(stream: Stream, term: Term) -> tuple[list[int], list[int]]:
    size = len(term.options)
    # Of three ordered options without the middle one, only the opposed ends would be left.
    bests = _but_default(term) if size > 3 else range(size)
    while True:
        best_seller, best_buyer = stream.shuffled(bests)[:2]
        seller, buyer = _ranking(stream, term, best_seller), _ranking(stream, term, best_buyer)
        if seller != buyer[::-1]:
            return seller, buyer


def _but_default(term: Term) -> list[int]:
    default = term.options.index(term.default)
    return [option for option in range(len(term.options)) if option != default]


def _ranking(stream: Stream, term: Term, best: int) -> list[int]:
    """Return a ranking that starts with `best`: single-peaked for an ordered term, else any."""
    size = len(term.options)
    if not term.ordered:
        return [best, *stream.shuffled([option for option in range(size) if option != best])]
    ranking, low, high = [best], best - 1, best + 1
    while low >= 0 or high < size:
        if low >= 0 and (high == size or stream.coin()):
            ranking.append(low)
            low -= 1
        else:
            ranking.append(high)
            high += 1
    return ranking


def _values(stream: Stream, ranking: Sequence[int]) -> Values:
    """Return falling values, from 100 to 0 in uneven steps, for a ranking from best to worst."""
    steps = stream.several(len(ranking) - 1, *_STEP)
    total = sum(steps)
    values, fallen = [100] * len(ranking), 0
    for option, step in zip(ranking[1:], steps, strict=True):
        fallen += step
        values[option] = 100 - (100 * fallen + total // 2) // total
    return tuple(values)
