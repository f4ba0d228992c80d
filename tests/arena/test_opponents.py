"""In which guise a buyer that was trained against stands in a design, and what is said of that."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents.scripted import spec_of
from agents.spec import AgentSpec, Connection, Profile
from arena.cli import app
from arena.deviations import freeze, pending
from arena.entry import Entry
from arena.lineup import Lineup, request_from, resolve
from arena.opponents import ALIKE, Opponent, guise, met
from arena.registry import Registry
from arena.store import Registration, Store
from arena.template import seen_in_training
from scenarios.catalogue import bundled

BOULWARE = spec_of("boulware").version
CHAIRS = bundled("small")["chairs"].version
NOT_BOULWARE = {"name": "late", "scripted": "boulware", "set": {"exponent": 0.4}}
"""Another agent by its version, the same strategy."""


def register(store: Store, **fields: Any) -> str:
    """Register an agent; return its version."""
    return Registry(store).register([Entry(**fields)])[0].agent.spec.version


def train(store: Store, **lineage: Sequence[str | None]) -> Registration:
    """Register a seller with this lineage, and its base."""
    register(store, name="start", scripted="linear", set={"floor": 0.4})
    register(store, name="arm", scripted="linear", set={"floor": 0.2}, base="start", lineage=lineage)
    return Registry(store).find("arm")


def lineup(store: Store, *excluded: str, buyers: tuple[str, ...] = ("boulware", "logroller")) -> Lineup:
    """Return the line-up of the arm, its base and `buyers`, of which some are excluded from training."""
    asked = {"sellers": ["arm", "start"], "buyers": list(buyers), "domains": ["bread", "chairs"]}
    asked |= {"scenarios": 1, "analysis": {"excluded": list(excluded)}}  # type: ignore[dict-item]
    return resolve(request_from(asked), store)


def seen(store: Store, arm: Registration, *excluded: str) -> list[str]:
    """Return what is said of an arm in an evaluation of it, up to the colon."""
    design = lineup(store, *excluded).design
    return [note.partition(": ")[0] for note in seen_in_training(design, [arm], Registry(store))]


@pytest.mark.parametrize("kind", ALIKE)
def test_what_an_agent_is_made_of_decides_whether_settings_make_it_another(kind: Any) -> None:
    field, words = ALIKE[kind]
    plays, other = (AgentSpec(kind=kind, **{field: what}) for what in ("this", "that"))
    warm = plays.model_copy(update={"sampling": {"temperature": 0.5}})
    stranger = AgentSpec(kind="plugin" if kind != "plugin" else "model", target="this", model="this")
    one = Opponent("one", "1", plays)
    assert guise(one, Opponent("two", "2", warm)) == words
    for spec in (other, stranger, None):
        assert guise(one, Opponent("two", "2", spec)) is None
    assert guise(one, Opponent("two", "1", None)) == "the same"
    assert guise(one, Opponent("one", "2", other)) == "another version of it"


def test_a_name_without_a_version_is_all_there_is_to_go_by() -> None:
    spec = spec_of("boulware")
    assert guise(Opponent("boulware", None), Opponent("boulware", "1", spec)) == "the same by name"
    assert guise(Opponent("tough", None), Opponent("boulware", "1", spec)) is None
    assert guise(Opponent("tough", None), Opponent("boulware", None)) is None


def test_a_buyer_is_recognised_under_another_name(store: Store) -> None:
    register(store, name="tough", scripted="boulware")
    arm = train(store, buyers=["tough"], buyer_versions=[BOULWARE])
    assert seen(store, arm) == [f"trained against boulware (as tough@{BOULWARE}, the same)"]


def test_a_buyer_is_recognised_with_other_settings(store: Store) -> None:
    late = register(store, **NOT_BOULWARE)
    arm = train(store, buyers=["late", "micro"], buyer_versions=[late, spec_of("micro").version])
    assert seen(store, arm) == [
        f"trained against boulware (as late@{late}, the same strategy with other parameters)"
    ]


def test_a_buyer_that_is_called_the_same_is_not_said_to_be_the_same(store: Store) -> None:
    arm = train(store, buyers=["boulware"], buyer_versions=["0123456789ab"])
    assert seen(store, arm) == [
        "trained against boulware (as boulware@0123456789ab, another version of it)"
    ]
    arm = train(store, buyers=["boulware"], buyer_versions=[BOULWARE])
    assert seen(store, arm) == ["trained against boulware"]


@pytest.mark.parametrize("versions", [[], [BOULWARE]])
def test_a_lineage_without_a_version_for_every_name_is_read_by_names(
    store: Store, versions: list[str]
) -> None:
    arm = train(store, buyers=["tough", "boulware"], buyer_versions=versions)
    assert seen(store, arm) == ["trained against boulware (the same by name)"]


def test_one_missing_version_makes_no_other_buyer_be_read_by_its_name(store: Store) -> None:
    """A lineage that was inherited from one without versions has some and lacks others."""
    names = ["gone", "tough", "logroller"]
    arm = train(store, buyers=names, buyer_versions=[None, BOULWARE, None])
    assert met(arm, "buyer") == [("gone", None), ("tough", BOULWARE), ("logroller", None)]
    assert lineup(store, "boulware").broken == [
        f"arm was trained against boulware (as tough@{BOULWARE}, the same), "
        "which the design excludes from training"
    ]
    assert seen(store, arm, "boulware") == ["trained against logroller (the same by name)"]


def test_a_held_out_domain_that_was_trained_on_is_said_with_its_version(store: Store) -> None:
    said = []
    for version in (CHAIRS, "0123456789ab"):
        arm = train(store, domains=["chairs", "bread"], domain_versions=[version, "1"])
        said += seen(store, arm)
    assert said == [
        "trained on chairs, which the design holds out",
        "trained on chairs (as chairs@0123456789ab, another version of it), which the design holds out",
    ]


def test_an_exclusion_that_was_broken_goes_to_the_log_once_and_is_told_every_time(store: Store) -> None:
    late = register(store, **NOT_BOULWARE)
    arm = train(store, buyers=["late", "logroller"], buyer_versions=[late, "0123456789ab"])
    found = lineup(store, "boulware")
    (broken,) = found.broken
    assert broken == (
        f"arm was trained against boulware (as late@{late}, the same strategy with other parameters), "
        "which the design excludes from training"
    )
    assert broken in found.notes
    assert seen(store, arm, "boulware") == [
        "trained against logroller (as logroller@0123456789ab, another version of it)"
    ]
    kept = [agent.spec for agent in found.agents.values()], found.domains.values()
    assert [departure.what for departure in pending(store, found.design)] == [broken]
    for logged in ([("analysis", broken)], []):
        assert list(freeze(store, found.design, *kept, "a finding").logged) == logged
    assert [(one.what, one.reason) for one in store.deviations(found.design.hash)] == [
        (broken, "a finding")
    ]
    assert lineup(store, "boulware").broken == [broken]
    assert not lineup(store).broken


def test_a_seller_that_is_nobodys_arm_is_looked_at_as_well(store: Store) -> None:
    lineage = {"buyers": ["boulware"], "buyer_versions": [BOULWARE]}
    alone = Registration(
        "arm", spec_of("micro"), "seller", Profile(lineage=lineage), Connection(), "2026-11-30T00:00:00"
    )
    store.add_registrations([alone])
    register(store, name="start", scripted="linear", set={"floor": 0.4})
    assert lineup(store, "boulware").broken == [
        "arm was trained against boulware, which the design excludes from training"
    ]


def test_a_tournament_begins_and_ends_with_it(store: Store, tmp_path: Path) -> None:
    train(store, buyers=["boulware"], buyer_versions=[BOULWARE])
    (tmp_path / "plan.yaml").write_text(
        "sellers: [arm, start]\nbuyers: [boulware]\ndomains: [bread]\nscenarios: 1\n"
        "analysis: {excluded: [boulware]}\n"
    )
    command = ["run-tournament", "--design", str(tmp_path / "plan.yaml"), "--db", store.address]
    done = CliRunner().invoke(app, command, env={"ARENA_DB": None})
    assert done.exit_code == 0, done.output
    broken = "arm was trained against boulware, which the design excludes from training"
    assert f"note: {broken}" in done.stderr
    assert f"Deviation logged (analysis): {broken}" in done.stderr
    assert f"Attention: {broken}." in done.stdout
