"""The suite of small domains: what its draws promise, and that the held-out one asks for nothing new."""

from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from scenarios import catalogue
from scenarios.catalogue import bundled, load
from scenarios.domain import Kind
from scenarios.draw import draw
from scenarios.scenario import Scenario, Split

SMALL = Path(catalogue.__file__).parent / "small"
NAMES = sorted(bundled("small"))
PACKAGES = list(product(range(3), repeat=4))


@cache
def eval_draws(name: str) -> list[Scenario]:
    return [draw(bundled("small")[name], Split.EVAL, index) for index in range(64)]


@pytest.mark.parametrize("name", NAMES)
def test_sixty_four_different_scenarios_can_be_drawn_of_every_split(name: str) -> None:
    assert len({scenario.key for scenario in eval_draws(name)}) == 64
    domain = bundled("small")[name]
    others = {
        draw(domain, split, index).key for split in (Split.TRAIN, Split.DEV) for index in range(64)
    }
    assert len(others) == 128
    assert not others & {scenario.key for scenario in eval_draws(name)}


@pytest.mark.parametrize("name", NAMES)
def test_kinds_are_read_off_the_tables_as_the_domain_aims(name: str) -> None:
    aim = {Kind.COMPATIBLE: 1, Kind.DISTRIBUTIVE: 1, Kind.INTEGRATIVE: 2}
    assert bundled("small")[name].aim == aim
    for scenario in eval_draws(name):
        assert Counter(scenario.kinds) == aim
        rows = zip(scenario.kinds, scenario.seller.values, scenario.buyer.values, strict=True)
        for kind, seller, buyer in rows:
            shared = seller.index(100) == buyer.index(100)
            assert shared == (kind is Kind.COMPATIBLE)
            if not shared:
                assert sorted(range(3), key=seller.__getitem__) == sorted(
                    range(3), key=buyer.__getitem__, reverse=True
                )


@pytest.mark.parametrize("name", NAMES)
def test_some_packages_are_acceptable_to_both_and_the_default_to_neither(name: str) -> None:
    for scenario in eval_draws(name):
        sides = (scenario.seller, scenario.buyer)
        good = [p for p in PACKAGES if all(side.points(p) >= side.walk_away_points for side in sides)]
        assert 0.1 <= len(good) / len(PACKAGES) <= 0.4
        for side in sides:
            assert side.points(scenario.default) < side.walk_away_points
            assert side.points(scenario.default) <= 4_500


def test_the_held_out_domain_is_made_of_terms_that_the_open_ones_have() -> None:
    """Nothing in it is new but the combination: name, options, default and direction of each term are
    met in training, so that a seller without a language can carry over what it learned."""
    domains = bundled("small").values()
    (held_out,) = [domain for domain in domains if domain.held_out]
    known = [term for domain in domains if not domain.held_out for term in domain.terms]
    assert all(term in known for term in held_out.terms)
    names = {term.name for term in held_out.terms}
    assert not [d for d in domains if not d.held_out and {term.name for term in d.terms} == names]


def test_what_stands_side_by_side_in_the_held_out_domain_does_so_in_an_open_one() -> None:
    """In the order of the prompt's table, which is by name: what a model of a few hundred thousand
    parameters copies, it copies step by step."""

    def neighbours(terms: list[str]) -> set[tuple[str, str]]:
        return set(zip(["", *terms], [*terms, ""], strict=True))

    domains = bundled("small").values()
    pairs = {d.name: neighbours(sorted(term.name for term in d.terms)) for d in domains}
    wanted = pairs.pop("chairs")
    assert len(wanted) == 5
    assert wanted <= set().union(*pairs.values())


def test_files_and_words_are_small() -> None:
    for name, domain in bundled("small").items():
        assert load(SMALL / f"{name}.yaml") == domain
        assert domain.suite == "small"
        words = [word for term in domain.terms for word in (term.name, *term.options)]
        assert all(word.isalpha() and word.islower() and len(word) <= 8 for word in words)
    assert not set(bundled("small")) & set(bundled("trade"))


def test_a_suites_name_stands_for_its_domains() -> None:
    assert catalogue.named("small") == list(bundled("small").values())
    assert catalogue.named("trade") == list(bundled().values())
    assert catalogue.named("bread") == [bundled("small")["bread"]]
    with pytest.raises(ValueError, match="no domain is called 'big'"):
        catalogue.named("big")
