"""Names, parameters and versions of the scripted strategies."""

import pytest

from agents.build import UnplayableError, build, refusal
from agents.scripted import STRATEGIES, spec_of
from scenarios.catalogue import bundled


def test_defaults_are_part_of_the_identity() -> None:
    spelt_out = spec_of("boulware", **STRATEGIES["boulware"].defaults)
    assert spec_of("boulware") == spelt_out
    assert spec_of("boulware").version == spelt_out.version


def test_one_and_one_point_zero_are_one_version() -> None:
    assert spec_of("linear", exponent=1).version == spec_of("linear", exponent=1.0).version
    assert spec_of("linear", exponent="1").version == spec_of("linear").version


def test_every_strategy_and_every_changed_parameter_is_a_version_of_its_own() -> None:
    specs = [spec_of(name) for name in STRATEGIES]
    specs += [spec_of("boulware", exponent=0.3), spec_of("boulware", floor=0.3)]
    assert len({spec.version for spec in specs}) == len(specs)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("boulwar", {}, "no scripted strategy is called 'boulwar'; there are: boulware, linear"),
        ("linear", {"exponnent": 1}, "linear has no parameter 'exponnent'; it has: exponent, floor"),
        ("walk_away", {"floor": 1}, "walk_away has no parameter 'floor'; it has: none"),
        ("linear", {"exponent": 0}, "linear: exponent must be above 0"),
        ("linear", {"floor": 1.5}, "linear: floor must lie between 0 and 1"),
        ("linear", {"exponent": "fast"}, "linear: exponent must be a number, not 'fast'"),
        ("linear", {"exponent": float("nan")}, "linear: exponent must be a number"),
        ("linear", {"exponent": True}, "linear: exponent must be a number"),
        ("linear", {"acceptance": "soon"}, 'acceptance must be "next" or "target"'),
        ("micro_quantile", {"steps": 2.5}, "micro_quantile: steps must be a whole number"),
        ("micro_quantile", {"steps": 0}, "micro_quantile: steps must be 1 or more"),
        ("random", {"accept_probability": -1}, "random: accept_probability must lie between 0 and 1"),
    ],
)
def test_mistakes_are_explained(name: str, parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        spec_of(name, **parameters)


def test_another_releases_version_is_refused() -> None:
    old = spec_of("linear").model_copy(update={"strategy_version": 99})
    with pytest.raises(UnplayableError, match=r"linear is at version 1 .* asks for version 99"):
        build(old)


def test_an_unknown_strategy_is_unplayable() -> None:
    with pytest.raises(UnplayableError, match="no scripted strategy"):
        build(spec_of("linear").model_copy(update={"strategy": "gone"}))


def test_what_an_agent_cannot_play_is_known_before() -> None:
    domain = bundled()["car_sale"]
    small = domain.model_copy(update={"terms": domain.terms[:3]})
    assert "micro plays domains of up to 500 packages" in str(refusal(spec_of("micro"), domain))
    assert refusal(spec_of("micro"), small) is None
    assert refusal(spec_of("micro_quantile"), domain) is None
