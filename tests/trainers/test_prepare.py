"""What may be trained, on what, against whom: defaults and whose they are, and all that is refused."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.scripted import spec_of
from agents.spec import AgentSpec, Connection, Profile
from arena.analysis import Analysis
from arena.declaration import Declaration
from arena.entry import Entry
from arena.errors import UserError
from arena.lineup import request_from, resolve
from arena.registry import Registry
from arena.store import Registration, Store
from scenarios import catalogue
from scenarios.draw import draw
from scenarios.scenario import Split
from tests.arena.running import ROOT, environment
from trainers.cells import Cells
from trainers.pool import DEFAULT_BUYERS
from trainers.prepare import Prepared, checked, prepare
from trainers.recipe import TrainingBuyer


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "arena.db")) as opened:
        yield opened


def register(store: Store, **fields: Any) -> None:
    Registry(store).register([Entry(**fields)])


def design(store: Store, excluded: tuple[str, ...] = (), **fields: Any) -> str:
    """Store a design and return its hash."""
    asked = {"sellers": ["random"], "domains": ["bread", "chairs"], **fields}
    asked["analysis"] = Declaration(excluded=list(excluded))
    lineup = resolve(request_from(asked), store)
    specs = [agent.spec for agent in lineup.agents.values()]
    store.add_design(lineup.design, specs, lineup.domains.values())
    assert isinstance(lineup.design.analysis, Analysis)
    return lineup.design.hash


OPEN = [domain.name for domain in catalogue.bundled("small").values() if not domain.held_out]
"""The open domains of the suite that the tiny sizes train on."""


def names(prepared: Prepared) -> list[str]:
    return [domain.name for domain in prepared.recipe.domains]


def test_a_size_of_the_studys_trains_at_its_shared_rate(store: Store) -> None:
    """arXiv 2610.06204: 1e-6 for 104 steps; E4B is the model of 4.5B effective parameters."""
    prepared = prepare({"size": "4.5b", "dry_run": True}, store)
    recipe = prepared.recipe
    assert (recipe.model, recipe.learning_rate, recipe.steps) == ("google/gemma-4-E4B-it", 1e-6, 104)
    assert recipe.prompt_version == "v1"
    assert "Reported by the study: learning_rate 1e-06, steps 104." in prepared.ours
    ours = next(line for line in prepared.ours if line.startswith("This project's choice"))
    for name in ("beta", "group_size", "buyers", "domains", "loss_type"):
        assert f"{name} " in ours
    assert any("scripted strategies until you name others" in line for line in prepared.ours)
    assert prepared.warnings == []


def test_what_the_study_did_not_report_is_not_called_its(store: Store) -> None:
    tiny = prepare({"size": "tiny"}, store)
    assert not any(line.startswith("Reported by the study") for line in tiny.ours)
    given = prepare(
        {"size": "4.5b", "lr": 3e-6, "steps": 56, "buyers": ["linear", "micro_quantile"]}, store
    )
    assert not any(line.startswith("Reported by the study") for line in given.ours)
    assert "Given: learning_rate 3e-06, steps 56, buyers linear,micro_quantile." in given.ours
    assert not any("until you name others" in line for line in given.ours)


def test_defaults_are_open_domains_and_scripted_buyers(store: Store) -> None:
    tiny = prepare({"size": "tiny-conventional"}, store)
    assert names(tiny) == OPEN
    assert "chairs" not in OPEN
    assert tiny.recipe.prompt_version == "brief1"
    large = prepare({"size": "12b"}, store)
    assert len(names(large)) == 8
    assert "car_sale" not in names(large)
    assert tuple(buyer.name for buyer in large.recipe.buyers) == DEFAULT_BUYERS
    assert set(large.pool) == {spec_of(name).version for name in DEFAULT_BUYERS}
    assert set(large.domains) == {domain.version for domain in large.recipe.domains}


def test_only_the_train_split_reaches_a_learner(store: Store) -> None:
    prepared = prepare({"size": "tiny", "scenarios": 4}, store)
    cells = Cells(prepared.recipe, prepared.domains, prepared.pool)
    drawn = [cells.at(number).scenario for number in range(40)]
    assert {scenario.split for scenario in drawn} == {Split.TRAIN}
    evaluated = {
        draw(domain, split, index).key
        for domain in prepared.domains.values()
        for split in (Split.DEV, Split.EVAL)
        for index in range(40)
    }
    assert evaluated.isdisjoint(scenario.key for scenario in drawn)


@pytest.mark.parametrize("name", ["car_sale", "chairs"])
def test_a_domain_that_is_held_out_is_refused(store: Store, name: str) -> None:
    with pytest.raises(UserError, match=rf"{name} is held out \(its file says so\)"):
        prepare({"size": "tiny", "domains": ["lamps", name]}, store)


def test_nor_under_its_name_in_another_file(store: Store, tmp_path: Path) -> None:
    """Whoever takes the line out of a copy has not taken it out of the evaluation."""
    text = (ROOT / "scenarios" / "small" / "chairs.yaml").read_text().replace("held_out: true\n", "")
    (tmp_path / "mine.yaml").write_text(text)
    assert not catalogue.load(tmp_path / "mine.yaml").held_out
    with pytest.raises(UserError, match=r"chairs is held out .*bundled domain of that name is"):
        prepare({"size": "tiny", "domains": [str(tmp_path / "mine.yaml")]}, store)


def test_a_suite_stands_for_its_open_domains(store: Store) -> None:
    both = prepare({"model": "a/b", "domains": ["small", "trade"], "dry_run": True}, store)
    assert len(names(both)) == len(OPEN) + 8
    assert {"chairs", "car_sale"}.isdisjoint(names(both))


def test_a_design_has_the_word_on_the_domains_that_it_plays(store: Store) -> None:
    """It holds bread out, which is open, and not chairs, which is not."""
    asked = design(
        store,
        domains=[{"name": "bread", "held_out": True}, {"name": "chairs", "held_out": False}],
        buyers=["micro_quantile"],
    )
    with pytest.raises(UserError, match=r"bread is held out \(the design of --evaluate says so\)"):
        prepare({"size": "tiny", "domains": ["bread"], "evaluate": asked}, store)
    trained = names(prepare({"size": "tiny", "evaluate": asked}, store))
    assert set(trained) == {*OPEN, "chairs"} - {"bread"}


def test_a_buyer_that_the_design_excludes_is_refused_in_every_guise(store: Store) -> None:
    register(store, name="late", scripted="boulware", set={"exponent": 0.4})
    register(store, name="sonnet", model="anthropic/claude", api_base="http://localhost:1/v1")
    register(
        store,
        name="sonnet-hot",
        model="anthropic/claude",
        temperature=1.5,
        api_base="http://localhost:1/v1",
    )
    asked = design(store, ("boulware", "sonnet"), buyers=["boulware", "sonnet", "micro_quantile"])
    for name, why in (
        ("boulware", "the same"),
        ("late", "the same strategy with other parameters"),
        ("sonnet", "the same"),
        ("sonnet-hot", "the same model with other settings"),
    ):
        with pytest.raises(UserError, match=f"must not be trained against: .* this is {why};"):
            prepare({"size": "tiny", "buyers": ["tit_for_tat", name], "evaluate": asked}, store)
    register(store, name="sonnet", model="other/model", api_base="http://localhost:1/v1")
    with pytest.raises(UserError, match="this is another version of it"):
        prepare({"size": "tiny", "buyers": ["tit_for_tat", "sonnet"], "evaluate": asked}, store)
    prepare({"size": "tiny", "buyers": ["tit_for_tat", "logroller"], "evaluate": asked}, store)


def test_a_buyer_of_the_evaluation_in_the_pool_is_warned_of(store: Store) -> None:
    asked = design(store, buyers=["boulware", "logroller"])
    said = prepare({"size": "tiny", "buyers": ["boulware", "tit_for_tat"], "evaluate": asked}, store)
    assert len(said.warnings) == 1
    assert "no gain against an unseen buyer" in said.warnings[0]


def test_a_shared_family_is_warned_of(store: Store) -> None:
    """As the study has it: one of its two evaluation buyers is of a family of the training pool."""
    for name, family in (("sonnet", "Claude"), ("haiku", "Claude"), ("terra", "GPT")):
        model = {"model": f"lab/{name}", "family": family, "api_base": "http://localhost:1/v1"}
        register(store, name=name, **model)
    asked = design(store, buyers=["sonnet", "terra"])
    said = prepare({"size": "tiny", "buyers": ["haiku", "tit_for_tat"], "evaluate": asked}, store)
    assert [buyer.family for buyer in said.recipe.buyers] == ["Claude", None]
    assert len(said.warnings) == 1
    assert "sonnet and haiku of the pool are both of the family Claude" in said.warnings[0]


def test_strategies_of_one_formula_are_a_family(store: Store) -> None:
    asked = design(store, buyers=["linear"])
    (said,) = prepare(
        {"size": "tiny", "buyers": ["boulware", "tit_for_tat"], "evaluate": asked}, store
    ).warnings
    assert "linear and boulware of the pool are both of the family" in said


def test_a_design_in_a_file_may_name_sellers_that_do_not_exist_yet(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "sellers: [mine-50, mine-100]\nbuyers: [logroller, boulware]\ndomains: [bread]\n"
        "analysis:\n  contrasts: [mine-100 - mine-50]\n  excluded: [boulware]\n"
    )
    with pytest.raises(UserError, match="the design excludes the buyer boulware"):
        prepare({"size": "tiny", "evaluate": str(path)}, store)
    prepare({"size": "tiny", "buyers": ["tit_for_tat", "linear"], "evaluate": str(path)}, store)


def test_exploitable_buyers_and_a_single_one_are_warned_of(store: Store) -> None:
    register(store, name="soft", scripted="conceder", set={"floor": 0.0})
    version = Registry(store).find("soft").spec.version
    (unaudited, single) = prepare({"size": "tiny", "buyers": ["soft"]}, store).warnings
    assert "arena scenarios audit --buyers soft" in unaudited
    assert "soft is the only buyer" in single
    store.add_audit(version, {"exploitable": True, "best": "stall"})
    (said,) = prepare({"size": "tiny", "buyers": ["soft", "linear"]}, store).warnings
    assert "soft is exploitable: the fixed policy stall" in said


def test_a_key_that_is_not_there_is_said_before_anything_starts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(store, name="terra", model="openai/terra", api_key_env="MY_TERRA_KEY")
    asked = {"size": "tiny", "buyers": ["terra", "linear"]}
    monkeypatch.delenv("MY_TERRA_KEY", raising=False)
    with pytest.raises(UserError, match="terra needs its key in the environment variable MY_TERRA_KEY"):
        prepare(asked, store)
    assert prepare({**asked, "dry_run": True}, store).recipe.buyers[0].name == "terra"
    monkeypatch.setenv("MY_TERRA_KEY", "not a real one")
    assert prepare(asked, store).recipe.buyers[0].name == "terra"


def test_a_providers_usual_variable_is_looked_for_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(store, name="sonnet", model="anthropic/claude-sonnet-5")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UserError, match="environment variable ANTHROPIC_API_KEY"):
        prepare({"size": "tiny", "buyers": ["sonnet"]}, store)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "say what to train: --size tiny"),
        ({"size": "3b"}, "there is no size 3b; there are tiny, "),
        ({"size": "tiny", "buyers": ["bolware"]}, "did you mean boulware"),
        ({"size": "tiny", "buyers": []}, "name at least one buyer"),
        ({"size": "tiny", "buyers": ["linear", "linear"]}, "are the same buyer: name it once"),
        ({"size": "4.5b", "buyers": ["micro"]}, "micro cannot play this: micro plays domains of up to"),
        ({"size": "tiny", "domains": ["moon"]}, "no domain is called 'moon'"),
        ({"size": "tiny", "domains": []}, "no domain is left to train on"),
        ({"size": "tiny", "prompt": "v9"}, "there is no prompt v9; there are brief1, v1"),
        ({"size": "tiny", "lr": 0.0}, "--lr: Input should be "),
        ({"size": "tiny", "lr": float("nan")}, "--lr: Input should be "),
        ({"size": "tiny", "lr": float("inf")}, "--lr: Input should be "),
        ({"size": "tiny", "group_size": 1}, "--group-size: Input should be "),
        ({"size": "tiny", "loss_type": "ppo"}, "--loss-type: Input should be "),
        ({"size": "tiny", "context_tokens": 64}, "room for more than one answer"),
        ({"model": "./nowhere"}, "there is no folder './nowhere'"),
        ({"model": "runs/a/checkpoint-5"}, "there is no folder 'runs/a/checkpoint-5'"),
        ({"size": "tiny", "evaluate": "abcdef"}, "holds no design yet"),
        ({"size": "tiny", "evaluate": "plan.yaml"}, "plan.yaml"),
    ],
)
def test_mistakes_are_said_in_words(store: Store, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        prepare(asked, store)
    assert message in str(error.value)


def test_a_folder_is_kept_by_its_full_path(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert prepare({"model": "mine"}, store).recipe.model == str(tmp_path / "mine")
    assert prepare({"model": "google/gemma-4-E2B-it"}, store).recipe.model == "google/gemma-4-E2B-it"


def configured(folder: Path, config: dict[str, Any]) -> Path:
    """Write what of a model a plan reads of its dialogues; return the folder."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text('{"chat_template": ""}')
    (folder / "model.safetensors").touch()
    return folder


@pytest.mark.parametrize(
    ("config", "asked", "limits", "fitted"),
    [
        ({"max_position_embeddings": 2048}, {}, (2048, 256), "answer_tokens 256, context_tokens 2048"),
        ({"text_config": {"max_position_embeddings": 8192}}, {}, (8192, 512), "context_tokens 8192"),
        ({"max_position_embeddings": 131072}, {}, (16384, 512), None),
        ({}, {}, (16384, 512), None),
        ({"max_position_embeddings": 1024}, {"size": "tiny"}, (1024, 64), "context_tokens 1024"),
        ({"max_position_embeddings": 2048}, {"answer_tokens": 90}, (2048, 90), "context_tokens 2048"),
    ],
)
def test_dialogues_in_training_are_no_longer_than_the_model_takes_at_play(
    store: Store,
    tmp_path: Path,
    config: dict[str, Any],
    asked: dict[str, Any],
    limits: tuple[int, int],
    fitted: str | None,
) -> None:
    folder = configured(tmp_path / "model", config)
    prepared = prepare({"model": str(folder), **asked}, store)
    recipe = prepared.recipe
    assert (recipe.context_tokens, recipe.answer_tokens) == limits
    said = [line for line in prepared.ours if "the model's context" in line]
    assert said == ([f"As the model's context allows: {fitted}."] if fitted else [])


def checkpoint(store: Store, folder: Path, **lineage: Any) -> Path:
    """Return the folder of another run's checkpoint, an agent that was trained as its lineage says."""
    folder.mkdir()
    (folder / "complete.json").write_text(json.dumps({"weights": "a" * 12, "files": {}}))
    spec = AgentSpec(kind="local", model="gemma", revision="a" * 12, prompt_version="v1")
    profile = Profile(lineage=lineage)
    store.add_registrations(
        [Registration("early-26", spec, "seller", profile, Connection(), "2026-01-01")]
    )
    return folder


def test_what_the_base_met_before_is_judged_like_what_the_run_will_meet(
    store: Store, tmp_path: Path
) -> None:
    met = {"buyers": ["tough"], "buyer_versions": [spec_of("boulware").version]}
    trained = {"domains": ["bread"], "domain_versions": [catalogue.bundled("small")["bread"].version]}
    base = checkpoint(store, tmp_path / "checkpoint-26", **met, **trained)
    asked = {"model": str(base), "buyers": ["tit_for_tat", "linear"], "domains": ["lamps"]}
    plain = prepare(asked, store)
    assert plain.warnings == []

    fine = {**asked, "evaluate": design(store, buyers=["boulware", "micro_quantile"])}
    said = prepare(fine, store).warnings[-1]
    assert said.startswith("the base early-26 was trained against boulware (as tough@")

    strict = design(store, ("boulware",), buyers=["boulware", "micro_quantile"])
    refused = r"the base early-26 was trained against boulware .*, which the design excludes"
    with pytest.raises(UserError, match=refused):
        prepare({**asked, "evaluate": strict}, store)
    with pytest.raises(UserError, match=refused):
        checked(plain, strict, store, planning=True)

    shut = design(store, domains=[{"name": "bread", "held_out": True}], buyers=["micro_quantile"])
    with pytest.raises(UserError, match="early-26 was trained on bread, which the design holds out"):
        prepare({**asked, "evaluate": shut}, store)


def test_the_same_request_is_the_same_recipe(store: Store) -> None:
    asked = {"size": "tiny", "seed": 3, "out": "elsewhere", "report_to": "tensorboard"}
    assert prepare(asked, store).recipe == prepare({"size": "tiny", "seed": 3}, store).recipe
    assert prepare(asked, store).recipe.hash != prepare({"size": "tiny"}, store).recipe.hash


def test_a_plan_needs_no_torch(tmp_path: Path) -> None:
    """Nor transformers: neither is imported, and neither could be."""
    code = (
        "import sys\n"
        "for name in ('torch', 'transformers', 'trl', 'datasets', 'litellm'): sys.modules[name] = None\n"
        "from arena.store import Store\n"
        "from trainers.prepare import prepare\n"
        f"with Store.open({str(tmp_path / 'a.db')!r}) as store:\n"
        "    print(prepare({'size': '31b', 'dry_run': True}, store).recipe.model)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), timeout=120
    )
    assert done.stdout == "google/gemma-4-31B-it\n", done.stderr


def test_a_run_that_goes_on_is_checked_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "x")
    register(store, name="paid", model="openai/x", api_key_env="A_KEY")
    begun = prepare({"size": "tiny", "buyers": ["paid", "linear"], "domains": ["bread"]}, store)
    again = checked(begun, None, store, planning=False)
    assert (again.recipe, again.pool) == (begun.recipe, begun.pool)
    monkeypatch.delenv("A_KEY")
    with pytest.raises(UserError, match="paid needs its key in the environment variable A_KEY"):
        checked(begun, None, store, planning=False)
    assert checked(begun, None, store, planning=True).recipe == begun.recipe
    shut = design(store, domains=[{"name": "bread", "held_out": True}], buyers=["micro_quantile"])
    with pytest.raises(UserError, match=r"trains on bread, which is held out .*by another design"):
        checked(begun, shut, store, planning=True)
    strict = design(store, ("linear",), buyers=["linear", "boulware"])
    with pytest.raises(UserError, match=r"linear.* must not be trained against"):
        checked(begun, strict, store, planning=True)
    fine = design(store, buyers=["micro_quantile"])
    assert checked(begun, fine, store, planning=True).recipe == begun.recipe


def test_buyers_weights_and_the_base_must_still_be_there(store: Store, tmp_path: Path) -> None:
    begun = prepare({"size": "tiny", "buyers": ["linear"]}, store)
    spec = AgentSpec(kind="local", model="gone", revision="0" * 12, prompt_version="brief1")
    connection = Connection(weights=str(tmp_path / "gone"))
    buyer = TrainingBuyer(name="gone", version=spec.version)
    recipe = begun.recipe.model_copy(update={"buyers": (buyer,)})
    away = replace(begun, recipe=recipe, pool={spec.version: (spec, connection)})
    with pytest.raises(UserError, match=r"the buyer gone cannot play: .*moved or deleted"):
        checked(away, None, store, planning=False)
    model = str(tmp_path / "base")
    lost = replace(begun, recipe=begun.recipe.model_copy(update={"model": model}))
    with pytest.raises(UserError, match=f"the base {model} is gone"):
        checked(lost, None, store, planning=False)
