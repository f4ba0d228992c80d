"""Drawing a scenario: the same domain, split, index and version give the same bytes on any machine.

The recipe (all of it this project's choice; docs/scenarios.md says why):

1. the domain's `aim` counts are dealt to its terms at random, terms with `seller_prefers` being opposed;
2. weights and option values are drawn to give exactly those kinds (:mod:`scenarios.weights`,
   :mod:`scenarios.values`);
3. walk-away values leave a drawn share of the packages, about 12 to 38%, acceptable to both sides
   (:mod:`scenarios.walk_away`); in an infeasible scenario they lie just beyond the Pareto frontier;
4. a draw whose default package is worth more than 0.45, or acceptable, to either side is thrown
   away and drawn again;
5. terms, and the options of unordered terms, are shuffled into a display order of their own.

Both sides are treated alike throughout, so the recipe favours neither.
"""

from collections.abc import Sequence

from scenarios.domain import Domain, Kind, Term
from scenarios.scenario import Preferences, Scenario, Split
from scenarios.stream import Stream
from scenarios.values import draw_values
from scenarios.walk_away import TILT, feasible_level, infeasible_level
from scenarios.weights import draw_weights

DRAW_VERSION = 1
"""Part of every seed; raise it with any change of the recipe, so that no old scenario comes back under
the same name with other content."""

TURNS = (6, 12)
"""Bounds of the turns a side has."""

SHARE_PERMILLE = (125, 375)
"""Bounds of the share of packages, acceptable to both sides, that a draw asks for."""

GAP = (100, 500)
"""How far beyond reach an infeasible scenario puts the walk-away values, in units of 1/SCALE."""

ATTEMPTS = 400

_OPPOSED = (Kind.DISTRIBUTIVE, Kind.INTEGRATIVE)


class DrawError(ValueError):
    """A domain from which no scenario could be drawn; the message says what to change."""


def draw(domain: Domain, split: Split, index: int, feasible: bool = True) -> Scenario:
    """Return the scenario that a domain, a split and an index (0 or more) stand for.

    With `feasible` false, no package is individually rational for both sides. Raises DrawError where
    the domain leaves no room for what a scenario must be: too few packages, or an aim that whole
    percents cannot give.
    """
    if index < 0:
        raise ValueError(f"a scenario's index is 0 or more, not {index}")
    stream = Stream([domain.version, split.value, index, feasible, DRAW_VERSION])
    # Drawn once, before the attempts: what is thrown away must not bend these distributions.
    turn_limit = stream.between(*TURNS)
    share = stream.between(*SHARE_PERMILLE) / 1000
    gap = stream.between(*GAP)
    tilt = stream.between(-TILT, TILT)
    default = [term.options.index(term.default) for term in domain.terms]
    for _ in range(ATTEMPTS):
        sides = _draw_sides(stream, domain, default)
        if sides is None:
            continue
        level = feasible_level(*sides, tilt, share) if feasible else infeasible_level(*sides, tilt, gap)
        if level is None:
            continue
        seller = _with_walk_away(sides[0], level + tilt)
        buyer = _with_walk_away(sides[1], level - tilt)
        if all(side.points(default) < side.walk_away_points for side in (seller, buyer)):
            terms, seller, buyer = _displayed(stream, domain.terms, seller, buyer)
            return Scenario(
                domain=domain.name,
                domain_version=domain.version,
                split=split,
                index=index,
                feasible=feasible,
                terms=terms,
                seller=seller,
                buyer=buyer,
                turn_limit=turn_limit,
            )
    raise DrawError(
        f"domain {domain.name!r}: no scenario in {ATTEMPTS} attempts; give it four to fifteen terms, "
        "more options, an aim with terms to trade, or defaults that suit neither side better"
    )


def _draw_sides(
    stream: Stream, domain: Domain, default: Sequence[int]
) -> tuple[Preferences, Preferences] | None:
    """Return both sides' preferences in the domain's own order, walk-away values still at 0.

    None where no weights were found for the values drawn.
    """
    kinds = _deal_kinds(stream, domain)
    pairs = [draw_values(stream, term, kind) for term, kind in zip(domain.terms, kinds, strict=True)]
    seller_values, buyer_values = zip(*pairs, strict=True)
    weights = draw_weights(stream, kinds, seller_values, buyer_values, default)
    if weights is None:
        return None
    return Preferences(weights[0], seller_values, 0), Preferences(weights[1], buyer_values, 0)


def _deal_kinds(stream: Stream, domain: Domain) -> list[Kind]:
    """Return a kind for each term: the aim's counts at random, `seller_prefers` terms opposed."""
    forced = [term for term in domain.terms if term.seller_prefers]
    opposed = stream.shuffled([kind for kind in _OPPOSED for _ in range(domain.aim.get(kind, 0))])
    others = [kind for kind in Kind if kind not in _OPPOSED for _ in range(domain.aim.get(kind, 0))]
    for_forced = iter(opposed[: len(forced)])
    for_rest = iter(stream.shuffled([*opposed[len(forced) :], *others]))
    return [next(for_forced if term.seller_prefers else for_rest) for term in domain.terms]


def _with_walk_away(side: Preferences, points: int) -> Preferences:
    return Preferences(side.weights, side.values, points)


def _displayed(
    stream: Stream, terms: Sequence[Term], seller: Preferences, buyer: Preferences
) -> tuple[tuple[Term, ...], Preferences, Preferences]:
    """Return terms and preferences in a random display order; ordered options keep theirs."""
    order = stream.shuffled(range(len(terms)))
    options = [
        list(range(len(term.options))) if term.ordered else stream.shuffled(range(len(term.options)))
        for term in terms
    ]

    def displayed(side: Preferences) -> Preferences:
        return Preferences(
            weights=tuple(side.weights[term] for term in order),
            values=tuple(tuple(side.values[term][i] for i in options[term]) for term in order),
            walk_away_points=side.walk_away_points,
        )

    shown = (
        terms[term].model_copy(update={"options": tuple(terms[term].options[i] for i in options[term])})
        for term in order
    )
    return tuple(shown), displayed(seller), displayed(buyer)
