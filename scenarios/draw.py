"""Drawing a scenario: the same domain, split, index and version give the same bytes on any machine.

The recipe (all of it this project's choice; docs/scenarios.md says why):

1. the domain's `aim` counts are dealt to its terms at random, terms with `seller_prefers` being opposed;
2. each term's option values and both sides' weights are drawn to give exactly those kinds;
3. walk-away values are set so that a drawn share of the packages, 12 to 38%, suits both sides;
4. a draw whose default package would suit either side is thrown away and drawn again;
5. terms, and the options of unordered terms, are shuffled into a display order of their own.
"""

from dataclasses import dataclass

from scenarios.domain import Domain, Kind, Term
from scenarios.frontier import best_worse_side
from scenarios.kinds import kind_of
from scenarios.scenario import SCALE, Preferences, Scenario, Split
from scenarios.stream import Stream
from scenarios.values import Values, draw_values
from scenarios.walk_away import level_for_share
from scenarios.weights import Weights, draw_weights

DRAW_VERSION = 1
"""Part of every seed: to be raised by any change of the recipe, so that no old scenario comes back
under the same name with other content."""

TURNS = (6, 12)
"""Bounds of the turns a side has."""

SHARE_PERMILLE = (120, 380)
"""The share of packages acceptable to both that a draw aims at; narrower than SHARE, so that the
true share stays inside it although it is estimated on a sample."""

SHARE = (0.10, 0.40)
"""Bounds of the share of packages acceptable to both."""

TILT = 800
"""Half the largest difference of the two walk-away values, in units of 1/SCALE."""

GAP = (100, 500)
"""How far beyond reach an infeasible scenario puts both walk-away values, in units of 1/SCALE."""

MAX_WALK_AWAY = 9_700
"""No side insists on (nearly) its best package."""

ATTEMPTS = 400


class DrawError(ValueError):
    """A domain from which no scenario could be drawn; the message says what to change."""


@dataclass(frozen=True)
class _Tables:
    """Both sides' weights and values, in the domain's own order."""

    weights: tuple[Weights, Weights]
    values: tuple[tuple[Values, ...], tuple[Values, ...]]

    def side(self, side: int, walk_away: int = 0) -> Preferences:
        return Preferences(self.weights[side], self.values[side], walk_away)


def draw(domain: Domain, split: Split, index: int, feasible: bool = True) -> Scenario:
    """Return the scenario that a domain, a split and an index (0 or more) stand for.

    With `feasible` false, no package is individually rational for both sides, which is checked on the
    exact Pareto frontier. Raises DrawError where the domain leaves no room for what a scenario must
    be: too few packages, or an aim that rounding to whole percents cannot give.
    """
    if index < 0:
        raise ValueError(f"a scenario's index is 0 or more, not {index}")
    stream = Stream([domain.version, split.value, index, feasible, DRAW_VERSION])
    # Drawn before the loop: what is thrown away must not bend these distributions.
    turn_limit = stream.between(*TURNS)
    share = stream.between(*SHARE_PERMILLE) / 1000
    tilt = stream.between(-TILT, TILT)
    for _ in range(ATTEMPTS):
        tables = _draw_tables(stream, domain)
        if tables is None:
            continue
        if feasible:
            level = _feasible_level(domain, tables, tilt, share)
        else:
            level = _infeasible_level(domain, tables, tilt, stream.between(*GAP))
        if level is None:
            continue
        seller, buyer = tables.side(0, level + tilt), tables.side(1, level - tilt)
        return _shown(stream, domain, split, index, feasible, seller, buyer, turn_limit)
    raise DrawError(
        f"domain {domain.name!r}: no scenario in {ATTEMPTS} attempts; give it more terms or options, "
        f"or another aim (it asks for {', '.join(f'{n} {kind}' for kind, n in domain.aim.items())})"
    )


def _draw_tables(stream: Stream, domain: Domain) -> _Tables | None:
    kinds = _deal_kinds(stream, domain)
    weights = draw_weights(stream, kinds, [len(term.options) for term in domain.terms])
    if weights is None:
        return None
    pairs = [draw_values(stream, term, kind) for term, kind in zip(domain.terms, kinds, strict=True)]
    seller, buyer = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    derived = list(map(kind_of, weights[0], seller, weights[1], buyer))
    return _Tables(weights, (seller, buyer)) if derived == kinds else None


def _deal_kinds(stream: Stream, domain: Domain) -> list[Kind]:
    """Return a kind for each term: the aim's counts at random, `seller_prefers` terms opposed."""
    dealt = stream.shuffled([kind for kind in Kind for _ in range(domain.aim.get(kind, 0))])
    opposed = [kind for kind in dealt if kind in (Kind.DISTRIBUTIVE, Kind.INTEGRATIVE)]
    forced = [term for term in domain.terms if term.seller_prefers]
    for kind in opposed[: len(forced)]:
        dealt.remove(kind)
    kinds = {term.name: kind for term, kind in zip(forced, opposed, strict=False)}
    rest = iter(stream.shuffled(dealt))
    return [kinds[term.name] if term.seller_prefers else next(rest) for term in domain.terms]


def _feasible_level(domain: Domain, tables: _Tables, tilt: int, share: float) -> int | None:
    """Return the level of the walk-away values, or None where these tables will not do."""
    seller, buyer = tables.side(0), tables.side(1)
    level, got = level_for_share(seller.table, buyer.table, tilt, share)
    usable = SHARE[0] <= got <= SHARE[1] and _refuses_default(domain, seller, buyer, tilt, level)
    return level if usable else None


def _infeasible_level(domain: Domain, tables: _Tables, tilt: int, gap: int) -> int | None:
    """Return a level beyond what any package gives both sides at once, or None."""
    seller, buyer = tables.side(0), tables.side(1)
    level = best_worse_side(seller, buyer, tilt) + gap
    usable = level + abs(tilt) <= MAX_WALK_AWAY and _refuses_default(domain, seller, buyer, tilt, level)
    return level if usable else None


def _refuses_default(
    domain: Domain, seller: Preferences, buyer: Preferences, tilt: int, level: int
) -> bool:
    """Return whether the default package is worth less than the walk-away value to each side."""
    default = [term.options.index(term.default) for term in domain.terms]
    return seller.points(default) < level + tilt and buyer.points(default) < level - tilt


def _shown(
    stream: Stream,
    domain: Domain,
    split: Split,
    index: int,
    feasible: bool,
    seller: Preferences,
    buyer: Preferences,
    turn_limit: int,
) -> Scenario:
    """Return the scenario in a random display order."""
    order = stream.shuffled(range(len(domain.terms)))
    options = [
        range(len(term.options)) if term.ordered else stream.shuffled(range(len(term.options)))
        for term in domain.terms
    ]
    terms = tuple(_reordered(domain.terms[i], options[i]) for i in order)

    def shown(side: Preferences) -> Preferences:
        return Preferences(
            weights=tuple(side.weights[i] for i in order),
            values=tuple(tuple(side.values[i][option] for option in options[i]) for i in order),
            walk_away_points=side.walk_away_points,
        )

    return Scenario(
        domain=domain.name,
        domain_version=domain.version,
        split=split,
        index=index,
        feasible=feasible,
        terms=terms,
        seller=shown(seller),
        buyer=shown(buyer),
        turn_limit=turn_limit,
    )


def _reordered(term: Term, options: "range | list[int]") -> Term:
    if term.ordered:
        return term
    return term.model_copy(update={"options": tuple(term.options[option] for option in options)})


assert SCALE == 10_000  # TILT, GAP and MAX_WALK_AWAY are in these units
