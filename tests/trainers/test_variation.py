"""What varied buyers of the pool can come out as: no policy that does not bargain earns nearly all
there is from any of them."""

from itertools import product

import pytest

from agents.build import build
from agents.scripted import spec_of
from agents.spec import AgentSpec
from arena.audit import EXPLOITABLE, audit
from scenarios.catalogue import bundled
from scenarios.stream import Stream
from trainers.cells import FLOOR, PACE, varied
from trainers.pool import DEFAULT_BUYERS

MARGIN = 0.02
"""Few scenarios are played here."""


def extremes(name: str) -> dict[str, AgentSpec]:
    """Return the ends of what :func:`trainers.cells.varied` makes of a strategy."""
    spec = spec_of(name)
    ends = []
    if "exponent" in spec.parameters:
        ends.append([("exponent", spec.parameters["exponent"] * factor) for factor in PACE])
    if "floor" in spec.parameters:
        ends.append([("floor", floor) for floor in FLOOR])
    return {
        f"{name} {corner}": spec.model_copy(update={"parameters": spec.parameters | dict(corner)})
        for corner in product(*ends)
    }


@pytest.mark.parametrize("name", [*DEFAULT_BUYERS, "linear"])
def test_what_is_drawn_lies_between_the_extremes(name: str) -> None:
    drawn = [varied(spec_of(name), Stream(["test", number])).parameters for number in range(200)]
    for key in drawn[0]:
        ends = [spec.parameters[key] for spec in extremes(name).values()]
        assert all(min(ends) <= parameters[key] <= max(ends) for parameters in drawn), key


@pytest.mark.parametrize("suite", ["small", "trade"])
def test_no_variation_of_a_default_buyer_is_exploitable(suite: str) -> None:
    buyers = {label: build(spec) for name in DEFAULT_BUYERS for label, spec in extremes(name).items()}
    assert len(buyers) == 10
    found = audit(buyers, list(bundled(suite).values()), 24 if suite == "small" else 2)
    limit = EXPLOITABLE - MARGIN
    assert {one.buyer: one.best.share for one in found if one.best.share > limit} == {}
