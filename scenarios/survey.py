"""What a domain's draws come out as: kinds, acceptable shares, defaults and limits, measured."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from statistics import fmean

from scenarios.domain import Domain, Kind
from scenarios.draw import DrawError, draw
from scenarios.frontier import frontier, reference_points
from scenarios.scenario import Scenario, Split
from scenarios.walk_away import acceptable_share

HOPELESS = 8
"""A domain of which so many scenarios in a row cannot be drawn, from the first, is given up."""


@dataclass(frozen=True)
class Spread:
    """Least, mean and largest value of a figure over the draws."""

    low: float
    mean: float
    high: float


@dataclass(frozen=True)
class Survey:
    """A domain's draws of one split, summed up. Shares and utilities are in [0, 1]."""

    domain: str
    terms: int
    packages: int
    draws: int
    failures: tuple[int, ...]
    """Indices that could not be drawn; the figures below are of the others."""
    kinds: dict[Kind, Spread]
    """Terms of each kind in a draw."""
    acceptable: Spread
    """Share of random packages acceptable to both sides."""
    seller_default: Spread
    buyer_default: Spread
    """What the default package is worth to each side."""
    seller_walk_away: Spread
    buyer_walk_away: Spread
    opposition: Spread
    frontier: Spread
    """Distinct Pareto-optimal utility pairs."""


def survey(domain: Domain, draws: int = 64, split: Split = Split.EVAL) -> Survey:
    """Draw the first `draws` scenarios of a split and return what they come out as.

    Raises DrawError where the first ones (HOPELESS of them, or all) cannot be drawn.
    """
    drawn, failures = [], []
    for index in range(draws):
        try:
            drawn.append(draw(domain, split, index))
        except DrawError:
            failures.append(index)
            if not drawn and len(failures) == min(draws, HOPELESS):
                raise
    return summed(domain, drawn, failures)


def summed(domain: Domain, drawn: Sequence[Scenario], failures: Sequence[int] = ()) -> Survey:
    """Sum up scenarios of a domain, at least one, each with a zone of agreement; `failures` are the
    indices that could not be drawn."""
    counts = [Counter(scenario.kinds) for scenario in drawn]
    return Survey(
        domain=domain.name,
        terms=len(domain.terms),
        packages=prod(len(term.options) for term in domain.terms),
        draws=len(drawn) + len(failures),
        failures=tuple(failures),
        kinds={kind: _spread([count[kind] for count in counts]) for kind in Kind},
        acceptable=_spread([acceptable_share(scenario) for scenario in drawn]),
        seller_default=_spread([scenario.seller.utility(scenario.default) for scenario in drawn]),
        buyer_default=_spread([scenario.buyer.utility(scenario.default) for scenario in drawn]),
        seller_walk_away=_spread([scenario.seller.walk_away for scenario in drawn]),
        buyer_walk_away=_spread([scenario.buyer.walk_away for scenario in drawn]),
        opposition=_spread([_opposition(scenario) for scenario in drawn]),
        frontier=_spread([len(frontier(scenario)) for scenario in drawn]),
    )


def _spread(values: list[int] | list[float]) -> Spread:
    return Spread(min(values), fmean(values), max(values))


def _opposition(scenario: Scenario) -> float:
    opposition = reference_points(scenario).opposition
    assert opposition is not None, "a feasible scenario has a zone of agreement"
    return opposition
