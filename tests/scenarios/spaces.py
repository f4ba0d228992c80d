"""Small spaces for the scenario tests: hand-made, drawn by Hypothesis, and enumerated in full."""

from collections import Counter
from collections.abc import Iterator
from itertools import product

from hypothesis import strategies as st

from scenarios.domain import Briefs, Domain, Kind, Term
from scenarios.scenario import Package, Preferences, Scenario, Split


def packages(scenario: Scenario) -> Iterator[Package]:
    """Enumerate every package: fine for small spaces only."""
    return product(*(range(len(term.options)) for term in scenario.terms))


def scenario_of(seller: Preferences, buyer: Preferences) -> Scenario:
    """Return a scenario around two sides' preferences, with made-up names."""
    terms = tuple(
        Term(name=f"term {i}", options=tuple(f"option {j}" for j in range(len(row))), default="option 0")
        for i, row in enumerate(seller.values)
    )
    return Scenario("made_up", "0" * 12, Split.EVAL, 0, True, terms, seller, buyer, 6)


@st.composite
def small_scenarios(draw: st.DrawFn) -> Scenario:
    """Return spaces of up to 256 packages with any values: ties, flat terms, limits out of reach."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))

    def side() -> Preferences:
        cuts = sorted(
            draw(st.lists(st.integers(0, 100), min_size=len(sizes) - 1, max_size=len(sizes) - 1))
        )
        weights = [high - low for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]
        # Coarse values make ties and dominated options common.
        value = draw(st.sampled_from([st.integers(0, 100), st.integers(0, 4).map(lambda n: 25 * n)]))
        rows = [tuple(draw(st.lists(value, min_size=size, max_size=size))) for size in sizes]
        unlimited = Preferences(tuple(weights), tuple(rows), 0)
        some_package = tuple(draw(st.integers(0, size - 1)) for size in sizes)
        limit = st.one_of(
            st.just(0), st.just(unlimited.points(some_package)), st.integers(0, 6_000), st.just(10_000)
        )
        return Preferences(tuple(weights), tuple(rows), draw(limit))

    return scenario_of(side(), side())


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """Return domains such as a user may write, from a hundred packages to a hundred thousand."""
    count = draw(st.integers(4, 7))
    kinds = draw(st.lists(st.sampled_from(list(Kind)), min_size=count, max_size=count))
    opposed = sum(kind in (Kind.DISTRIBUTIVE, Kind.INTEGRATIVE) for kind in kinds)
    forced = draw(st.integers(0, min(opposed, 2)))
    terms = []
    for i in range(count):
        options = tuple(f"option {j}" for j in range(draw(st.integers(2, 5))))
        terms.append(
            Term(
                name=f"term {i}",
                options=options,
                default=draw(st.sampled_from(options)),
                ordered=i < forced or draw(st.booleans()),
                seller_prefers=draw(st.sampled_from(["first", "last"])) if i < forced else None,
            )
        )
    return Domain(
        name="made_up",
        title="Made up",
        briefs=Briefs(seller="Sell.", buyer="Buy."),
        aim=dict(Counter(kinds)),
        terms=tuple(terms),
    )
