"""Kinds, families and bases of a design's agents, from the design and the registry."""

import math

import pytest

from agents.scripted import spec_of
from agents.spec import AgentSpec, Connection, Profile
from arena.analysis import Analysis
from arena.store import Registration
from leaderboard.known import Kind, known, known_kl, lineage_kl
from tests.leaderboard.synthetic import design

TIME = "2026-11-29T10:00:00.000000+00:00"


def registered(name: str, model: str, **profile: object) -> Registration:
    spec = AgentSpec(kind="model", model=model)
    return Registration(name, spec, "both", Profile.model_validate(profile), Connection(), TIME)


BASE = registered("base", "org/base", family="gem", params=12e9)
ARM = registered("arm", "org/arm", family="other", base="base")
PLAIN = registered("plain", "org/plain")


def versions(*agents: Registration) -> tuple[str, ...]:
    return tuple(agent.spec.version for agent in agents)


def test_a_seller_whose_profile_names_a_base_is_trained_and_has_its_bases_family():
    plan = design(sellers=versions(BASE, ARM, PLAIN), buyers=(spec_of("linear").version,))
    agents = (BASE, ARM, PLAIN)
    specs = {agent.spec.version: agent.spec for agent in agents}
    found = known(plan, specs | {spec_of("linear").version: spec_of("linear")}, agents)
    base, arm, plain = (found[agent.spec.version] for agent in agents)
    assert (base.kind, base.family, base.base, base.base_family) == (Kind.MODEL, "gem", None, "gem")
    assert base.params == 12e9
    assert (arm.kind, arm.family, arm.base_family) == (Kind.TRAINED, "other", "gem")
    assert arm.base == BASE.spec.version
    assert (plain.kind, plain.family, plain.base_family) == (Kind.MODEL, None, None)
    assert found[spec_of("linear").version].kind is Kind.SCRIPTED


def test_the_design_declares_bases_and_families_over_the_registry():
    arm, base, plain = versions(ARM, BASE, PLAIN)
    analysis = Analysis(bases={plain: arm, arm: base}, families={arm: "declared"})
    plan = design(sellers=(arm, base, plain), buyers=("x",), analysis=analysis)
    found = known(plan, {}, [BASE, ARM, PLAIN])
    assert (found[plain].kind, found[plain].base, found[plain].base_family) == (
        Kind.TRAINED,
        arm,
        "declared",
    )
    assert (found["x"].kind, found["x"].family) == (Kind.SCRIPTED, None)


def test_a_plug_in_is_one():
    spec = AgentSpec(kind="plugin", target="mine:Agent")
    plan = design(sellers=(spec.version,))
    assert known(plan, {spec.version: spec}, [])[spec.version].kind is Kind.PLUGIN


def test_kl_is_read_from_the_lineage_of_sellers():
    plan = design(sellers=("arm", "base", "far"), buyers=("x",))
    lineages = {"arm": {"kl": 0.437}, "base": {"kl": "much"}, "far": {"kl": 2}, "x": {"kl": 1.0}}
    assert known_kl(plan, lineages) == {"arm": 0.437, "far": 2.0}


@pytest.mark.parametrize("kl", [math.nan, math.inf, None, "0.4"])
def test_a_kl_that_is_no_finite_number_is_not_known(kl):
    assert lineage_kl({"kl": kl}) is None
    assert lineage_kl({}) is None
