"""What a run is put together from: its record, the agents it makes, the base it starts from."""

import json
from dataclasses import replace
from functools import partial
from math import isnan, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.local.agent import local_spec
from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.entry import entry_from
from arena.opponents import met
from arena.registry import Registry
from arena.store import Registration, Store, StoreError
from tests.agents.local.untaught import untaught
from tests.trainers.small_run import OWN, SHAPE, prepared_for, recipe_for
from trainers import bases
from trainers.bases import Base, made
from trainers.checkpoints import Checkpoint
from trainers.recipe import TrainingBuyer
from trainers.registration import base_agent, checkpoint_agent, register
from trainers.sizes import SIZES

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")
RECIPE = recipe_for("google/gemma")
BASE = Base("gemma", "google/gemma", "a" * 12, "E-series", "gemma", 2.3e9)


def silent(line: str) -> None:
    """Tell nobody."""


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(str(tmp_path / "arena.db")) as opened:
        opened.add_training_run("run", RECIPE.content())
        yield opened


def log(recorder: Any, step: int, **logs: Any) -> None:
    """Let a recorder hear of a step as the trainer tells it."""
    state = SimpleNamespace(
        global_step=step, max_steps=9, log_history=[{"dialogue_tokens": 10.0}] * step
    )
    recorder.on_log(None, state, None, logs=logs)


def test_a_step_is_stored_under_known_names_and_what_has_no_value_is_nan(store: Store) -> None:
    from trainers.callbacks import Recorder

    recorder = Recorder("run", store, silent)
    log(recorder, 1, loss=0.1, kl=None, grad_norm=nan, step_time=3.0, epoch=0.5, num_tokens=7.0)
    log(recorder, 1, train_runtime=3.0, train_loss=0.1)
    ((step, values),) = store.training_steps("run")
    assert step == 1
    assert isnan(values.pop("kl"))
    assert isnan(values.pop("grad_norm"))
    assert values == {"loss": 0.1, "seconds": 3.0, "num_tokens": 10.0}


def test_a_step_that_is_repeated_replaces_the_one_before(store: Store) -> None:
    from trainers.callbacks import Recorder

    for loss in (0.1, 0.2):
        log(Recorder("run", store, silent), 3, loss=loss)
    assert store.training_steps("run") == [(3, {"loss": 0.2, "num_tokens": 30.0})]


def test_a_record_out_of_reach_is_written_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainers.callbacks import Recorder

    heard: list[str] = []
    recorder = Recorder("run", store, heard.append)

    def locked(*_: Any) -> None:
        raise StoreError("the database is locked")

    with monkeypatch.context() as broken:
        broken.setattr(store, "add_training_steps", locked)
        log(recorder, 1, loss=0.1)
        with pytest.raises(StoreError):
            recorder.flush()
    assert "tried again: the database is locked" in heard[-1]
    assert store.training_steps("run") == []
    log(recorder, 2, loss=0.2)
    assert [step for step, _ in store.training_steps("run")] == [1, 2]


def test_a_base_is_registered_once(store: Store) -> None:
    agent = base_agent(BASE, RECIPE, store.registrations())
    assert register([agent], store) == ["gemma"]
    again = base_agent(BASE, RECIPE, store.registrations())
    assert register([again], store) == []
    assert len(store.registrations()) == 1


def test_weights_that_play_under_a_name_are_known_by_it(store: Store) -> None:
    agent = base_agent(BASE, RECIPE, [])
    register([replace(agent, name="run-26")], store)
    assert (
        base_agent(replace(BASE, name="checkpoint-26"), RECIPE, store.registrations()).name == "run-26"
    )


def test_a_base_that_was_registered_by_hand_is_the_base(store: Store) -> None:
    weights = untaught("E-series")
    by_hand = {"prompt": RECIPE.prompt_version, "max_tokens": RECIPE.answer_tokens, "role": "seller"}
    entry = entry_from({"name": "mine", "weights": str(weights.folder), **by_hand})
    Registry(store).register([entry])
    base = replace(BASE, weights=str(weights.folder), revision=weights.revision)
    assert base_agent(base, RECIPE, store.registrations()).name == "mine"


def test_a_base_takes_nobodys_name(store: Store) -> None:
    taken = Registration("gemma", spec_of("linear"), "both", Profile(), Connection(), "2026-01-01")
    store.add_registrations([taken])
    agent = base_agent(BASE, RECIPE, store.registrations())
    assert agent.name == f"gemma-{agent.spec.version[:6]}"
    longer = RECIPE.model_copy(update={"answer_tokens": 99})
    register([agent], store)
    other = base_agent(BASE, longer, store.registrations())
    assert other.name not in ("gemma", agent.name)


def test_a_withdrawn_agent_stays_withdrawn(store: Store) -> None:
    agent = base_agent(BASE, RECIPE, [])
    register([agent], store)
    store.withdraw_agent("gemma", agent.spec.version, "a mistake")
    assert register([agent], store) == []
    assert store.registrations()[0].withdrawn_reason == "a mistake"


def saved_at(runs: Path, step: int, weights: str) -> Checkpoint:
    """Write down a checkpoint of these weights, by their hash."""
    folder = runs / f"checkpoint-{step}"
    folder.mkdir()
    (folder / "complete.json").write_text(json.dumps({"weights": weights, "files": {}}))
    (folder / "trainer_state.json").write_text(
        '{"log_history": [{"loss": 0.0, "dialogue_tokens": 1.0, "read_tokens": 1.0}]}'
    )
    return Checkpoint(step, folder)


def trained_before(lineage: dict[str, list[str]]) -> Registration:
    """Return the base as a checkpoint of another run, by its weights."""
    spec = local_spec("gemma", BASE.revision, {"max_tokens": 99}, "v1")
    return Registration("early-26", spec, "seller", Profile(lineage=lineage), Connection(), "2026-01-01")


def test_a_checkpoint_has_met_what_its_base_met_in_another_run(tmp_path: Path) -> None:
    """Whatever the base plays as now, and though it was withdrawn since. Its own come first."""
    four = saved_at(tmp_path, 4, "b" * 12)
    earlier = {
        **{"buyers": ["boulware", "sonnet"], "buyer_versions": [spec_of("boulware").version, "c" * 12]},
        **{"buyer_families": ["claude"], "domains": ["bread"], "domain_versions": ["d" * 12]},
    }
    before = replace(trained_before(earlier), withdrawn_at="2026-01-02")
    one = checkpoint_agent("run", RECIPE, BASE, "gemma", four, [before])
    lineage = one.profile.lineage
    assert lineage["buyers"] == ["linear", "boulware", "sonnet"]
    known = [spec_of(name).version for name in ("linear", "boulware")]
    assert lineage["buyer_versions"] == [*known, "c" * 12]
    assert lineage["buyer_families"] == ["claude"]
    own = [domain.name for domain in RECIPE.domains]
    assert lineage["domains"] == [*own, "bread"]
    assert lineage["domain_versions"] == [*(d.version for d in RECIPE.domains), "d" * 12]
    other = replace(before, spec=local_spec("gemma", "e" * 12, None, "v1"))
    alone = checkpoint_agent("run", RECIPE, BASE, "gemma", four, [other])
    assert alone.profile.lineage["buyers"] == ["linear", "boulware"]


def test_what_is_inherited_keeps_the_versions_that_are_known(tmp_path: Path) -> None:
    """The base's lineage tells names only; the checkpoint's own, and its checkpoint's, lose nothing."""
    own = [(buyer.name, buyer.version) for buyer in RECIPE.buyers]
    before = trained_before({"buyers": ["sonnet", "boulware"], "domains": ["bread"]})
    child = checkpoint_agent("run", RECIPE, BASE, "gemma", saved_at(tmp_path, 4, "b" * 12), [before])
    assert met(child, "buyer") == [*own, ("sonnet", None), ("boulware", None)]
    start = replace(BASE, revision="b" * 12)
    buyer = TrainingBuyer(name="late", version="f" * 12)
    recipe = RECIPE.model_copy(update={"buyers": (buyer,)})
    grandchild = checkpoint_agent(
        "again", recipe, start, "run-4", saved_at(tmp_path, 8, "e" * 12), [before, child]
    )
    assert met(grandchild, "buyer") == [(buyer.name, buyer.version), *met(child, "buyer")]
    assert met(grandchild, "domain")[-1] == ("bread", None)


@pytest.mark.parametrize("family", ["E-series", "conventional"])
def test_a_tiny_base_is_made_once_and_shared(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = SHAPE | OWN[family]
    short = partial(bases.warm_start, matches=12, steps=2, batch=4, shape=shape)
    monkeypatch.setattr(bases, "warm_start", short)
    size = SIZES["tiny" if family == "E-series" else "tiny-conventional"]
    prepared = prepared_for(recipe_for(size.name))
    heard: list[str] = []
    folder = made(prepared, size, tmp_path, heard.append)
    assert heard == [f"making the base {folder.name} once: some minutes on a CPU"]
    assert {"model.safetensors", "tokenizer.json"} <= {path.name for path in folder.iterdir()}

    def failing(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bases, "warm_start", failing)
    alike = prepared_for(recipe_for(size.name, learning_rate=1e-4, seed=7, steps=9, save_steps=3))
    assert made(alike, size, tmp_path, heard.append) == folder
    other = prepared_for(recipe_for(size.name, turns=3))
    with pytest.raises(KeyboardInterrupt):
        made(other, size, tmp_path, heard.append)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "module", ["trainers.tiny", "trainers.warm_start", "trainers.cells", "agents.local.tokens"]
)
def test_a_base_is_made_anew_when_what_makes_it_changed(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bases, "warm_start", failing)
    heard: list[str] = []
    source = bases._source
    for changed in ("", module):
        monkeypatch.setattr(
            bases, "_source", lambda m, changed=changed: source(m) + changed * (m == changed)
        )
        with pytest.raises(KeyboardInterrupt):
            made(prepared_for(recipe_for("tiny")), SIZES["tiny"], tmp_path, heard.append)
    assert len(set(heard)) == 2


def test_another_model_of_a_tiny_size_is_trained_and_none_is_made(tmp_path: Path) -> None:
    own = replace(prepared_for(recipe_for(str(tmp_path))), size=SIZES["tiny"])
    assert bases.located(own, tmp_path / "bases", silent, silent) == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
