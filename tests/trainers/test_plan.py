"""Plans: memory against published arithmetic, layouts, work, commands, and what is missing."""

import json
import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.spec import AgentSpec, Connection
from arena.commands.train_lines import plan_lines
from arena.errors import UserError
from arena.store import Store
from trainers import launch, work
from trainers.gpus import Gpu
from trainers.grpo import Machine, settings
from trainers.layout import Layout, on_cpu
from trainers.memory import memory_of, served_gb
from trainers.plan import Plan, plan_of
from trainers.prepare import Prepared, prepare
from trainers.recipe import TrainingBuyer
from trainers.sizes import SIZES

H100, H200 = Gpu("H100", 80.0), Gpu("H200", 141.0)
STUDIED = ("2.3b", "4.5b", "12b", "31b")


@pytest.fixture(scope="module")
def store() -> Store:
    return Store.open("sqlite://")


def prepared(store: Store, size: str = "4.5b", **asked: Any) -> Prepared:
    return prepare({"size": size, "dry_run": True} | asked, store)


def machine(size: str, **changes: Any) -> Machine:
    found = SIZES[size]
    served = found.vllm_tensor_parallel if found.vllm != "off" else 1
    return replace(Machine(micro_batch=1, vllm=found.vllm, vllm_tensor_parallel=served), **changes)


def plan(store: Store, size: str, gpus: list[Gpu], **asked: Any) -> Plan:
    return plan_of(prepared(store, size, **asked), machine(size), gpus)


@pytest.mark.parametrize(("size", "gb"), [("2.3b", 92), ("4.5b", 144), ("12b", 216), ("31b", 558)])
def test_eighteen_bytes_a_parameter(size: str, gb: float) -> None:
    """GB for full-parameter GRPO of the published models with a bf16 reference, worked out by hand: 18
    bytes a parameter. Encoders are frozen, which saves 12 bytes of each of theirs."""
    model = SIZES[size]
    need = memory_of(model, 1, tokens=0, micro_batch=1, beta=0.01)
    states = need.weights + need.gradients + need.optimiser + need.reference
    saved = 12 * (model.total_params - model.trainable_params) / 1e9
    assert states + saved == pytest.approx(gb, rel=0.012)
    assert states <= gb * 1.012


@given(gpus=st.sampled_from([2, 4, 8, 16, 64]), size=st.sampled_from(STUDIED))
def test_states_are_spread_evenly_and_the_rest_is_not(gpus: int, size: str) -> None:
    few, many = (
        memory_of(SIZES[size], n, tokens=1000, micro_batch=1, beta=0.1) for n in (gpus, 2 * gpus)
    )
    for part in ("weights", "gradients", "optimiser", "reference"):
        assert getattr(many, part) == pytest.approx(getattr(few, part) / 2)
    assert many.activations == few.activations
    assert many.working == few.working
    assert many.total < few.total
    # Twelve bytes of trained states a parameter, at least.
    assert few.total * gpus > 12 * SIZES[size].trainable_params / 1e9


def test_no_reference_without_a_penalty_and_twice_the_dialogues_twice_the_logits() -> None:
    size = SIZES["12b"]
    none = memory_of(size, 8, tokens=1000, micro_batch=1, beta=0)
    assert none.reference == 0
    two = memory_of(size, 8, tokens=1000, micro_batch=2, beta=0)
    assert two.activations == pytest.approx(2 * none.activations)
    # A logit each of 1,000 tokens for 262,144 words takes 4 GB at 16 bytes.
    assert none.activations == pytest.approx(4.2, abs=0.5)
    assert sum(v for k, v in none.to_json().items() if k != "total") == pytest.approx(
        none.to_json()["total"], abs=0.05
    )


def test_vllm_holds_its_share_of_the_weights() -> None:
    """The study served its 4.5B and 12B sellers on one 48 GB accelerator, its 31B one on four."""
    assert served_gb(SIZES["4.5b"], 1) < 48
    assert served_gb(SIZES["12b"], 1) < 48
    assert served_gb(SIZES["31b"], 1) > 48
    assert served_gb(SIZES["31b"], 4) < 48


@pytest.mark.parametrize(
    ("size", "gpu", "needed"),
    [
        ("2.3b", H100, 4),
        ("4.5b", H100, 8),
        ("12b", H100, 8),
        ("31b", H100, 16),
        ("31b", H200, 8),
    ],
)
def test_gpus_needed(store: Store, size: str, gpu: Gpu, needed: int) -> None:
    """4 to 8 of 80 GB for the small two, 8 for 12B with vLLM over two, and for 31B 8 of 141 GB or 16 of
    80, beside a server: as worked out before this was written."""
    found = plan(store, size, [gpu])
    assert found.layout.needed == needed
    assert found.layout.server_gpus == (4 if size == "31b" else 0)
    assert any(f"{needed} GPUs of {gpu.gb:.0f} GB needed" in sentence for sentence in found.missing)
    enough = plan(store, size, [gpu] * (needed + 4))
    assert not [sentence for sentence in enough.missing if "GPU" in sentence]


def test_as_many_gpus_as_are_here_are_used_once_there_are_enough(store: Store) -> None:
    assert plan(store, "2.3b", [H100] * 8).layout.processes == 8
    assert plan(store, "2.3b", [H100] * 7).layout.processes == 4
    assert plan(store, "2.3b", []).layout.processes == 4


def test_a_step_must_spread_evenly(store: Store) -> None:
    """3 groups of 2 dialogues cannot be spread over four GPUs or more."""
    found = plan(store, "12b", [H100] * 8, group_size=2, groups_per_step=3)
    assert found.layout.fitting == []
    assert any("spread evenly" in sentence for sentence in found.missing)


def test_colocated_vllm_that_does_not_fit_is_said(store: Store) -> None:
    crowded = machine("31b", vllm="colocate", vllm_tensor_parallel=1)
    found = plan_of(prepared(store, "31b"), crowded, [H100] * 16)
    assert any("--vllm server URL" in sentence for sentence in found.missing)


def test_a_colocated_vllm_takes_what_the_plan_counts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trl")
    monkeypatch.setattr("trainers.memory.COLOCATED", 0.4)
    recipe = prepared(store, "tiny").recipe
    args = settings(recipe, Machine(cpu=True, vllm="colocate"), tmp_path)
    assert args.vllm_gpu_memory_utilization == 0.4


def test_a_server_elsewhere_takes_no_gpu_here(store: Store) -> None:
    away = machine("31b", vllm_url="http://other:8000")
    here = machine("31b", vllm_url="http://localhost:8000")
    asked = prepared(store, "31b")
    assert plan_of(asked, away, [H100] * 16).layout.free == 16
    assert plan_of(asked, here, [H100] * 16).layout.free == 12


def test_what_runs_on_a_cpu(store: Store, tmp_path: Path) -> None:
    tiny, big = prepared(store, "tiny"), prepared(store, "4.5b")
    assert on_cpu(tiny, "off", [])
    assert on_cpu(tiny, "off", [H100])
    assert not on_cpu(tiny, "colocate", [H100])
    assert not on_cpu(big, "off", [])
    other = prepare({"model": "someone/unknown", "dry_run": True}, store)
    assert on_cpu(other, "off", [])
    assert not on_cpu(other, "off", [H100])


def test_commands(store: Store) -> None:
    options = ["--size", "31b", "--name", "x"]
    server, trainer = plan_of(prepared(store, "31b"), machine("31b"), [], options).commands
    assert server[:2] == ("trl", "vllm-serve")
    assert server[server.index("--model") + 1] == "google/gemma-4-31B-it"
    assert server[server.index("--tensor-parallel-size") + 1] == "4"
    assert server[server.index("--max-model-len") + 1] == "16384"
    assert trainer[:2] == ("accelerate", "launch")
    assert trainer[trainer.index("--num_processes") + 1] == "16"
    assert trainer[trainer.index("--num_machines") + 1] == "2"
    assert trainer[-7:] == ("--module", "arena.cli", "train", *options)
    one = plan_of(prepared(store, "tiny"), Machine(cpu=True), [], ["--size", "tiny"])
    assert one.commands == (("arena", "train", "--size", "tiny"),)
    eight = plan_of(prepared(store, "12b"), machine("12b"), [H100] * 8).commands[-1]
    assert "--num_machines" not in eight


def test_what_is_not_spread_needs_no_configuration() -> None:
    assert launch.launched("none", 2, 1, ["--size", "tiny"]) == [
        *("accelerate", "launch", "--num_processes", "2"),
        *("--module", "arena.cli", "train", "--size", "tiny"),
    ]


def test_the_launchers_configurations_are_there_and_understood() -> None:
    pytest.importorskip("trl")
    config = pytest.importorskip("accelerate.commands.config.config_args")
    kinds = {"fsdp2": "FSDP", "zero3": "DEEPSPEED"}
    for name, kind in kinds.items():
        loaded = config.load_config_from_file(str(launch.configuration(name)))  # type: ignore[arg-type]
        assert loaded.distributed_type == kind
    assert {size.launcher for size in SIZES.values()} <= {"none", *kinds}


def test_the_server_s_options_are_understood() -> None:
    pytest.importorskip("trl")
    from trl.scripts.vllm_serve import make_parser

    command = launch.served("some/model", 2, "http://localhost:9001", 4096)
    (read,) = make_parser(prog="serve").parse_args_into_dataclasses(command[2:])
    assert (read.model, read.tensor_parallel_size) == ("some/model", 2)
    assert (read.max_model_len, read.port) == (4096, 9001)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "size": st.sampled_from(sorted(SIZES)),
            "lr": st.floats(1e-8, 1),
            "steps": st.integers(1, 999),
            "buyers": st.lists(st.sampled_from(["a", "b c", "d'e"]), min_size=1),
            "yes": st.booleans(),
            "model": st.none(),
        },
    )
)
def test_options_are_said_again(options: dict[str, Any]) -> None:
    words = shlex.split(launch.shown(launch.arguments(options)))
    said = {name: value for name, value in options.items() if value not in (None, False)}
    assert sum(word.startswith("--") for word in words) == len(said)
    for name, value in said.items():
        if value is True:
            continue
        text = words[words.index(f"--{name}") + 1]
        assert text == ",".join(value) if isinstance(value, list) else type(value)(text) == value


def test_an_address_follows_server() -> None:
    said = launch.arguments({"vllm": "server", "url": "http://x:1", "name": "n"})
    assert said == ["--vllm", "server", "http://x:1", "--name", "n"]


def test_flops_grow_as_the_study_reports(store: Store) -> None:
    """At 104 steps the 31B arm used 6 to 13 times the 2.3B arm's training FLOPs."""
    small, large = (plan(store, size, []).work.flops for size in ("2.3b", "31b"))
    assert 6 <= large / small <= 13.5


def test_flops_by_hand() -> None:
    assert work.training_flops(1e9, learned=10, read=30) == (6 * 10 + 2 * 30) * 1e9


def test_work(store: Store) -> None:
    asked = prepared(store, "4.5b", steps=10, group_size=4, groups_per_step=2)
    found = plan_of(asked, machine("4.5b"), []).work
    assert found.dialogues == 80
    assert found.tokens == pytest.approx(80 * found.lengths.tokens)
    assert found.seller_tokens < found.tokens
    # With vLLM each token is learned from, sampled or prefilled once, scored by reference and trainer.
    assert found.flops == pytest.approx(4.5e9 * found.tokens * (6 + 2 + 2 + 2))
    free = prepared(store, "4.5b", steps=10, group_size=4, groups_per_step=2, beta=0)
    assert plan_of(free, machine("4.5b"), []).work.flops == pytest.approx(4.5e9 * found.tokens * 10)


def test_dialogues_that_are_read_anew_on_every_turn() -> None:
    lengths = work.Lengths(prompt=100, heard=10, answer=5, turns=3)
    assert lengths.tokens == 145
    assert lengths.sampled == 15
    assert lengths.read_anew == 115 + 130 + 145
    assert work.Lengths(prompt=100, heard=10, answer=5, turns=1).read_anew == 115


def test_lengths_follow_the_recipe(store: Store) -> None:
    full = prepared(store, "4.5b")
    lengths = work.lengths_of(full.recipe, full.domains, tiny=False)
    assert 500 < lengths.prompt < 1500
    two = prepared(store, "4.5b", turns=2, answer_tokens=20)
    short = work.lengths_of(two.recipe, two.domains, tiny=False)
    assert (short.turns, short.answer) == (2, 20)
    assert work.longest(two.recipe, short) == round(short.tokens)
    cut = prepared(store, "4.5b", context_tokens=900)
    assert work.longest(cut.recipe, lengths) == 900
    brief = prepared(store, "4.5b", prompt="brief1")
    assert work.lengths_of(brief.recipe, brief.domains, tiny=False).tokens < lengths.tokens


def with_buyer(base: Prepared, spec: AgentSpec, connection: Connection) -> Prepared:
    buyer = TrainingBuyer(name="llm", version=spec.version)
    recipe = base.recipe.model_copy(update={"buyers": (*base.recipe.buyers, buyer)})
    pool = base.pool | {spec.version: (spec, connection)}
    return Prepared(recipe, base.domains, pool, base.size, [], [])


@pytest.mark.parametrize(
    ("connection", "priced"),
    [
        (Connection(input_usd_per_million=2, output_usd_per_million=10), True),
        (Connection(api_base="http://127.0.0.1:1"), False),
    ],
)
def test_money(store: Store, connection: Connection, priced: bool) -> None:
    spec = AgentSpec(kind="model", model="openai/nobody-knows")
    asked = with_buyer(prepared(store, "4.5b"), spec, connection)
    (bill,) = plan_of(asked, machine("4.5b"), []).work.bills
    # Of four buyers, in 104 x 128 dialogues and in 64 matches of the base and each of 4 checkpoints.
    assert bill.calls == pytest.approx((13312 + 64 * 5) / 4 * 7)
    expected = (2 * bill.tokens_in + 10 * bill.tokens_out) / 1e6 if priced else 0
    assert bill.usd == pytest.approx(expected, rel=0.01)


def test_a_known_and_an_unknown_price(store: Store) -> None:
    """The bundled map prices claude-sonnet-5; a model that nobody prices is unknown, never free."""
    known = AgentSpec(kind="model", model="anthropic/claude-sonnet-5")
    found = plan_of(with_buyer(prepared(store), known, Connection()), machine("4.5b"), []).work
    assert found.usd is not None
    assert found.usd > 1
    stranger = AgentSpec(kind="model", model="openai/nobody-knows")
    asked = with_buyer(prepared(store), stranger, Connection())
    plan = plan_of(asked, machine("4.5b"), [])
    assert plan.work.usd is None
    assert plan.to_json()["usd"] is None
    assert plan.to_json()["buyers"][0]["usd"] is None


def test_scripted_buyers_cost_nothing(store: Store) -> None:
    assert plan(store, "tiny", []).work.usd == 0


@pytest.mark.parametrize("size", SIZES)
def test_json_says_all(store: Store, size: str) -> None:
    said = json.loads(json.dumps(plan(store, size, []).to_json(), allow_nan=False))
    assert said["model"] == SIZES[size].model
    assert said["model_class"] == SIZES[size].model_class
    assert said["trainable_parameters"] == SIZES[size].trainable_params
    assert set(said["memory_gb_per_process"]) == {
        "weights",
        "gradients",
        "optimiser",
        "reference",
        "working",
        "activations",
        "vllm",
        "total",
    }
    assert {"needed", "found", "of_gb", "processes", "for_vllm_server"} == said["gpus"].keys()
    for key in ("commands", "tokens", "training_flops", "usd", "missing", "settings", "frozen"):
        assert said[key] is not None


def test_memory_is_printed_in_a_unit_that_shows_it(store: Store) -> None:
    small, large = (" ".join(plan_lines(plan(store, size, []), "x")) for size in ("tiny", "4.5b"))
    assert "MB a process: weights 0.91, gradients 0.91, optimiser 1.82" in small
    assert "GB a process: weights 4, gradients 3.73, optimiser 7.46" in large


def test_a_model_that_is_not_here_is_unknown(store: Store) -> None:
    asked = prepare({"model": "someone/unknown", "dry_run": True}, store)
    found = plan_of(asked, Machine(cpu=True), [])
    assert found.layout.memory(1) is None
    assert math.isnan(found.work.flops)
    said = found.to_json()
    assert said["training_flops"] is None
    assert said["memory_gb_per_process"] is None
    assert said["trainable_parameters"] is None


def test_what_is_offline_and_not_here(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = plan(store, "2.3b", [H100] * 8)
    assert any("hf download google/gemma-4-E2B-it" in sentence for sentence in found.missing)
    assert not any("hf download" in sentence for sentence in plan(store, "tiny", []).missing)


def test_reports_name_what_to_install(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.missing.find_spec", lambda name: None)
    asked = prepared(store, "tiny")
    for name in ("tensorboard", "trackio", "wandb"):
        found = plan_of(asked, Machine(cpu=True, report_to=name), [])
        assert any(f"pip install {name}" in sentence for sentence in found.missing)
    assert any("bargaining-arena[train]" in sentence for sentence in found.missing)


def test_where_defaults_come_from(store: Store) -> None:
    said = " ".join(plan(store, "4.5b", []).to_json()["settings"])
    assert "Reported by the study: learning_rate 1e-06, steps 104." in said
    assert "scripted strategies until you name others" in said
    given = " ".join(plan(store, "4.5b", [], lr=3e-6).to_json()["settings"])
    assert "Given: learning_rate 3e-06" in given


def test_a_launched_process_plans_with_the_processes_there_are(store: Store) -> None:
    asked = prepared(store, "2.3b")
    layout = Layout(asked.recipe, asked.size, machine("2.3b", processes=2), [H100] * 4, 4000)
    assert layout.processes == 2
    assert layout.needed == 4


def test_an_unknown_size_is_refused(store: Store) -> None:
    with pytest.raises(UserError, match=r"2\.3b, 4\.5b, 12b, 31b"):
        prepared(store, "7b")
