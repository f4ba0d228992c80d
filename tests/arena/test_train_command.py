"""`arena train`: plans without torch or network, options, exit codes, and one real run."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner, Result

from arena.cli import app
from arena.errors import UserError
from arena.registry import Registry
from arena.store import Store
from tests.trainers.small_run import tiny_base  # noqa: F401
from trainers.recipe import LossType


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder without a database and without a launcher."""
    monkeypatch.chdir(tmp_path)
    for name in ("ARENA_DB", "WORLD_SIZE", "RANK", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("trainers.gpus.shutil.which", lambda name: None)
    return tmp_path


def arena(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def planned(*words: str) -> dict[str, Any]:
    """Return a plan as JSON; nothing else is printed, and nothing is left behind."""
    called = arena("train", "--dry-run", "--json", *words)
    assert called.exit_code == 0, called.output
    assert os.listdir() == []
    return dict(json.loads(called.stdout))


BLOCKED = """
import socket, sys
for name in ("torch", "transformers", "trl", "accelerate", "datasets", "vllm", "peft"):
    sys.modules[name] = None
def refuse(*_, **__):
    raise AssertionError("the network was asked")
socket.socket.connect = socket.getaddrinfo = refuse
from arena.cli import app
app(["train", "--dry-run", *sys.argv[1:]])
"""


@pytest.mark.parametrize("size", ["tiny", "31b", "other"])
def test_a_plan_needs_neither_torch_nor_a_network(size: str, here: Path) -> None:
    asked = ["--model", "someone/else"] if size == "other" else ["--size", size]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *asked, "--json"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert any("bargaining-arena[train]" in sentence for sentence in plan["missing"])
    assert list(here.iterdir()) == []


def test_help_imports_nothing_heavy() -> None:
    heavy = ("torch", "transformers", "trl", "litellm", "pandas", "sqlalchemy", "trainers.plan")
    probe = (
        "import sys\nfrom arena.cli import app\n"
        "try:\n    app(['train', '--help'])\nexcept SystemExit as done:\n    assert not done.code\n"
        f"found = [name for name in {heavy} if name in sys.modules]\nassert not found, found"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--lr", "3e-6"], "learning_rate", 3e-6),
        (["--steps", "56"], "steps", 56),
        (["--group-size", "4"], "group_size", 4),
        (["--groups-per-step", "32"], "groups_per_step", 32),
        (["--beta", "0"], "beta", 0.0),
        (["--loss-type", "grpo"], "loss_type", "grpo"),
        (["--scenarios", "7"], "scenarios", 7),
        (["--save-steps", "13"], "save_steps", 13),
        (["--seed", "5"], "seed", 5),
        (["--prompt", "brief1"], "prompt_version", "brief1"),
        (["--turns", "3"], "turns", 3),
        (["--shuffled-rewards"], "shuffled_rewards", True),
    ],
)
def test_options_reach_the_recipe(words: list[str], field: str, value: Any) -> None:
    usual, asked = planned("--size", "4.5b"), planned("--size", "4.5b", *words)
    assert asked["recipe"][field] == value
    assert usual["recipe"].get(field) != value
    assert {key for key in asked["recipe"] if asked["recipe"][key] != usual["recipe"].get(key)} == {
        field,
        "hash",
    }
    again = shlex.split(asked["commands"][-1])
    place = again.index(words[0])
    assert [float_or_text(word) for word in again[place : place + len(words)]] == [
        float_or_text(word) for word in words
    ]


def float_or_text(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


def test_a_control_is_called_one() -> None:
    asked = ("train", "--dry-run", "--size", "tiny")
    assert "negative control" not in arena(*asked).stdout
    assert "A negative control: within a group" in arena(*asked, "--shuffled-rewards").stdout


@pytest.mark.parametrize(("micro", "fits"), [("7", "6"), ("20", "16"), ("50", "48")])
def test_a_step_spreads_evenly_on_a_cpu_too(micro: str, fits: str, here: Path) -> None:
    """48 dialogues a step, which TRL would cut to 42, 40 and none."""
    words = ("--size", "tiny", "--micro-batch", micro)
    (said,) = planned(*words)["missing"]
    assert f"--micro-batch {micro} does not divide the 48 dialogues" in said
    assert said.endswith(f"--micro-batch {fits} does")
    assert arena("train", *words).exit_code == 2
    assert list(here.iterdir()) == []
    assert planned("--size", "tiny", "--micro-batch", fits)["missing"] == []


def test_a_launchers_processes_share_a_step_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "5")
    (said,) = planned("--size", "tiny", "--name", "x")["missing"]
    assert "48 dialogues of a step do not spread evenly over 5 processes" in said


def test_names_reach_the_recipe() -> None:
    plan = planned("--size", "2.3b", "--buyers", "linear,logroller", "--domains", "road_freight")
    assert [buyer["name"] for buyer in plan["recipe"]["buyers"]] == ["linear", "logroller"]
    assert [domain["name"] for domain in plan["recipe"]["domains"]] == ["road_freight"]
    assert "--buyers linear,logroller --domains road_freight" in plan["commands"][-1]
    assert not any("until you name others" in sentence for sentence in plan["settings"])


def test_another_model_of_a_tiny_size_is_not_made_here(here: Path) -> None:
    (here / "own").mkdir()
    asked = ("train", "--dry-run", "--size", "tiny")
    assert "model:   tiny (made here, once)" in arena(*asked).stdout
    words = arena(*asked, "--model", "own").stdout.split()  # a long path has a line of its own
    assert f"model: {here / 'own'} (Gemma4ForCausalLM)" in " ".join(words)


def test_where_it_is_computed_is_no_part_of_the_recipe() -> None:
    usual = planned("--size", "2.3b")
    assert usual["vllm"]["mode"] == "colocate"
    off = planned("--size", "2.3b", "--vllm", "off", "--micro-batch", "2", "--report-to", "wandb")
    assert off["recipe"] == usual["recipe"]
    assert (off["vllm"]["mode"], off["micro_batch"]) == ("off", 2)
    assert off["memory_gb_per_process"]["vllm"] == 0
    assert any("wandb" in sentence for sentence in off["missing"])
    assert not any("vllm" in sentence for sentence in off["missing"])


def test_a_server_and_its_address() -> None:
    plan = planned("--size", "2.3b", "--vllm", "server", "http://gpus:9000", "--name", "x")
    assert plan["vllm"] == {"mode": "server", "url": "http://gpus:9000", "tensor_parallel": 1}
    assert "--port 9000" in plan["commands"][0]
    assert "--vllm server http://gpus:9000" in plan["commands"][1]
    assert plan["gpus"]["for_vllm_server"] == 1


def test_a_server_that_is_not_named_yet_is_asked_for(here: Path) -> None:
    plan = planned("--size", "31b")
    assert plan["vllm"] == {"mode": "server", "url": None, "tensor_parallel": 4}
    server, trainer = plan["commands"]
    assert server.startswith("trl vllm-serve --model google/gemma-4-31B-it")
    assert server.endswith("--port 8000")
    assert trainer.endswith("train --size 31b --vllm server http://HOST:8000 --name 31b-1")
    unnamed = [sentence for sentence in plan["missing"] if "no vLLM server is named" in sentence]
    assert unnamed == [
        "no vLLM server is named: once one runs, give its address, --vllm server http://HOST:8000"
    ]
    named = planned("--size", "31b", "--vllm", "server", "http://gpu-9:8000")
    assert not any("no vLLM server is named" in sentence for sentence in named["missing"])


def test_the_name_is_the_next_that_is_free(here: Path) -> None:
    assert planned("--size", "tiny")["run"] == "tiny-1"
    assert planned("--size", "tiny", "--name", "mine")["run"] == "mine"
    (here / "runs" / "tiny-1").mkdir(parents=True)
    with Store.open(str(here / "arena.db"), create=True) as store:
        store.add_training_run("tiny-2", {})
    called = arena("train", "--dry-run", "--json", "--size", "tiny")
    assert json.loads(called.stdout)["run"] == "tiny-3"


def test_a_plan_for_people() -> None:
    called = arena("train", "--size", "31b", "--dry-run")
    assert called.exit_code == 0
    assert called.stderr == ""
    for said in (
        "google/gemma-4-31B-it (Gemma4ForConditionalGeneration), conventional",
        "30.7B parameters trained",
        "16 GPUs of 80 GB needed to train and 4 for a vLLM server; found: none",
        "Reported by the study: learning_rate 1e-06, steps 104.",
        "scripted strategies until you name others",
        "trl vllm-serve --model google/gemma-4-31B-it --tensor-parallel-size 4",
        "accelerate launch --config_file",
        "money:   none",
        "Missing here:",
    ):
        assert said in called.stdout, said


@pytest.mark.parametrize("size", ["4.5b", "12b", "31b"])
def test_what_cannot_start_here_says_why_and_exits_with_2(size: str, here: Path) -> None:
    called = arena("train", "--size", size)
    assert called.exit_code == 2
    assert "GPUs of 80 GB needed" in called.stderr
    assert "Missing here:" in called.stderr
    assert called.stdout == ""
    assert not isinstance(called.exception, RuntimeError)
    assert list(here.iterdir()) == []
    as_json = arena("train", "--size", size, "--json")
    assert as_json.exit_code == 2
    assert json.loads(as_json.stdout)["missing"]


@pytest.mark.parametrize("report", ["trackio", "wandb"])
def test_a_report_that_is_not_installed(report: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, report, None)
    called = arena("train", "--size", "tiny", "--report-to", report)
    assert called.exit_code == 2
    assert f"pip install {report}" in called.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--size"),
        (["--size", "7b"], "there is no size 7b"),
        (["--size", "tiny", "http://x"], "after --vllm server only"),
        (["--size", "tiny", "--vllm", "server"], "made here as its run begins"),
        (["--size", "tiny", "--vllm", "server", "http://x", "--dry-run"], "leave --vllm out"),
        (["--size", "tiny", "--buyers", "nobody"], "no agent is called nobody"),
        (["--size", "tiny", "--domains", "car_sale"], "held out"),
        (["--size", "tiny", "--prompt", "v99"], "v99"),
        (["--size", "tiny", "--lr", "-1"], "Error: --lr: Input should be greater than 0"),
        (["--size", "tiny", "--beta", "inf"], "Error: --beta: Input should be a finite number"),
        (["--size", "tiny", "--name", "../x/y"], "a run is named by"),
        (["--size", "tiny", "--name", "../x/y", "--dry-run"], "a run is named by"),
        (["--resume", "../x"], "a run is named by"),
        (["--model", "./nowhere"], "no folder"),
        (["--resume", "nothing"], "no run"),
    ],
)
def test_mistakes_exit_with_2_and_leave_nothing(words: list[str], said: str, here: Path) -> None:
    called = arena("train", *words)
    assert called.exit_code == 2, called.output
    assert said in called.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--size", "tiny", "--name", "x"), "written to file/x (Not a directory): choose another --out"),
        (("--size", "tiny", "--dry-run"), "written to file/tiny-1 (Not a directory): choose another"),
        (("--resume", "x"), "there is no run in file/x"),
    ],
)
def test_a_file_is_no_place_for_runs(words: tuple[str, ...], said: str, here: Path) -> None:
    (here / "file").write_text("something else")
    called = arena("train", *words, "--out", "file")
    assert called.exit_code == 2, called.output
    assert said in called.stderr
    assert (here / "file").read_text() == "something else"


def test_processes_of_one_run_need_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    called = arena("train", "--size", "2.3b", "--dry-run")
    assert called.exit_code == 2
    assert "--name" in called.stderr


def test_paid_buyers_need_a_yes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_KEY", "x")
    registered = arena(
        *("register", "paid", "--model", "openai/x", "--api-key-env", "ANY_KEY"),
        *("--price-in", "2", "--price-out", "10"),
    )
    assert registered.exit_code == 0
    called = arena("train", "--size", "tiny", "--buyers", "paid,linear")
    assert called.exit_code == 2
    assert "may cost money (the plan says how much): add --yes" in called.stderr
    assert "$" in called.stderr
    assert arena("register", "dear", "--model", "openai/y", "--api-key-env", "ANY_KEY").exit_code == 0
    called = arena("train", "--size", "tiny", "--buyers", "paid,dear")
    assert "paid, dear may cost money (the price of dear is not known): add --yes" in called.stderr
    assert not (here / "runs").exists()
    plan = json.loads(arena("train", "--size", "tiny", "--buyers", "paid", "--dry-run", "--json").stdout)
    (bill,) = plan["buyers"]
    assert plan["usd"] == bill["usd"]
    assert bill["usd"] == pytest.approx(
        (2 * bill["tokens_in"] + 10 * bill["tokens_out"]) / 1e6, rel=0.05
    )


def test_several_gpus_are_started_through_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    from trainers.gpus import Gpu

    monkeypatch.setattr("trainers.gpus.gpus_found", lambda: [Gpu("H100", 85.0)] * 8)
    monkeypatch.setattr("trainers.missing.find_spec", lambda name: object())
    ran: list[list[str]] = []

    def become(program: str, words: list[str]) -> None:
        ran.append(words)
        raise SystemExit(0)

    monkeypatch.setattr("os.execv", become)
    called = arena("train", "--size", "4.5b", "--db", "own.db")
    assert called.exit_code == 0, called.output
    assert os.environ.pop("ARENA_DB") == "own.db"
    (words,) = ran
    assert words[:3] == [sys.executable, "-m", "accelerate.commands.launch"]
    assert words[words.index("--num_processes") + 1] == "8"
    assert words[-9:] == [
        *("--module", "arena.cli", "train", "--size", "4.5b", "--name", "4.5b-1", "--db", "own.db"),
    ]


def test_the_module_that_launchers_start_is_the_command(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arena.cli", "train", "--size", "tiny", "--dry-run", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["size"] == "tiny"


def test_loss_types_are_those_of_a_recipe() -> None:
    from arena.commands.train import LossType as option

    (choices, _) = get_args(get_args(option)[0])
    assert set(get_args(choices)) == set(get_args(LossType))


SHORT = (
    *("--domains", "lamps,boats", "--buyers", "linear,boulware", "--prompt", "brief1", "--turns", "4"),
    *("--lr", "1e-3", "--group-size", "4", "--groups-per-step", "2", "--scenarios", "8"),
)
DESIGN = """
sellers: [walk_away]
buyers: [conceder]
domains: [lamps]
scenarios: 2
turns: 2
"""
RUN = ("--name", "demo", "--out", "mine", "--db", "own.db")


RESUME = ("train", "--resume", "demo", "--out", "mine")


@pytest.fixture
def run(tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> Result:  # noqa: F811
    """A run of two steps, as the command line ends it."""
    monkeypatch.setattr("trainers.choice.MATCHES", 8)
    asked = ("--model", str(tiny_base), *SHORT, "--steps", "2", "--save-steps", "1")
    return arena("train", *asked, *RUN, "--json")


def test_a_run_from_the_command_line(run: Result, here: Path) -> None:
    assert run.exit_code == 0, run.output
    said = json.loads(run.stdout)
    assert said["status"] == "done"
    assert (said["run"], said["step"]) == ("demo", 2)
    assert said["checkpoints"] == ["demo-1", "demo-2"]
    assert "step 2 of 2" in run.stderr
    assert "training: 0 of 2\n" in run.stderr
    assert "Warning" not in run.stderr
    assert "it/s" not in run.stderr
    assert (here / "mine" / "demo" / "checkpoint-2").is_dir()
    with Store.open(str(here / "own.db")) as store:
        names = {agent.name: agent for agent in store.registrations()}
        assert {"demo-1", "demo-2", said["base"]} <= names.keys()
        assert names["demo-2"].profile.base == said["base"]
        assert [run.name for run in store.training_runs()] == ["demo"]

    choice = said["choice"]
    assert list(choice["scores"]) == [said["base"], "demo-1", "demo-2"]
    assert (choice["split"], choice["matches"], choice["compared"]) == ("dev", 8, 8)
    means = {name: score["mean"] for name, score in choice["scores"].items()}
    assert means[choice["best"]] == max(means.values())
    assert (said["final"], "evaluation" in said) == (True, False)
    best = "the base itself" if choice["best"] == said["base"] else choice["best"]
    assert f"best on the dev split: {best}" in run.stderr

    # Everything comes from the run's folder: the database, too.
    plan = json.loads(arena(*RESUME, "--dry-run", "--json").stdout)
    assert plan["recipe"]["steps"] == 2
    assert plan["commands"] == ["arena train --resume demo --out mine --db own.db"]
    assert not (here / "arena.db").exists()


def test_ctrl_c_during_the_choice_leaves_a_run_that_is_chosen_from_later(
    tiny_base: Path,  # noqa: F811
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trainers.choice.MATCHES", 8)
    asked = ("--model", str(tiny_base), *SHORT, "--steps", "1", *RUN)
    with monkeypatch.context() as patched:
        patched.setattr("trainers.choice.seller_scores", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        called = arena("train", *asked)
    assert called.exit_code == 1
    assert called.stderr.endswith("demo: interrupted; to go on: arena train --resume demo --out mine\n")
    assert recorded() == ("done", None)
    again = arena(*RESUME)
    assert again.exit_code == 0, again.output
    assert "best on the dev split: " in again.stdout


def test_sigterm_before_the_first_step_is_taken_as_ctrl_c(
    tiny_base: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unheard(number: int, frame: object) -> None:
        raise AssertionError("it would have ended the process")

    before = signal.signal(signal.SIGTERM, unheard)
    monkeypatch.setattr("trainers.run.located", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        called = arena("train", "--model", str(tiny_base), *SHORT, "--steps", "1", *RUN)
        assert signal.getsignal(signal.SIGTERM) is unheard
    finally:
        signal.signal(signal.SIGTERM, before)
    assert called.exit_code == 1
    assert "demo: interrupted; to go on: arena train --resume demo --out mine" in called.stderr
    assert recorded() == ("interrupted", None)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The checkpoints of every evaluation that is begun; none is played."""
    begun: list[list[str]] = []

    def evaluate(store: Store, base: str, checkpoints: list[str], *_: Any, **__: Any) -> Any:
        begun.append([name.partition("@")[0] for name in checkpoints])
        return True, {"base": base}

    monkeypatch.setattr("arena.commands.evaluate.evaluate", evaluate)
    monkeypatch.setattr("trainers.choice.MATCHES", 2)
    Path("design.yaml").write_text(DESIGN)
    return begun


@pytest.mark.parametrize(
    ("number", "steps", "status"), [(signal.SIGINT, 3, "interrupted"), (signal.SIGTERM, 2, "done")]
)
def test_an_interrupted_run_is_neither_chosen_from_nor_judged_until_it_goes_on(
    number: int,
    steps: int,
    status: str,
    judged: list[list[str]],
    tiny_base: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A checkpoint that was judged at once would have met its cells before the final design is frozen.
    In its last step, too, whoever stops a run does not want an evaluation."""
    from arena.commands import train_run

    def heard(line: str) -> None:
        if line.startswith("step 1 "):
            os.kill(os.getpid(), number)

    asked = ("--model", str(tiny_base), *SHORT, "--steps", str(steps), *RUN)
    with monkeypatch.context() as patched:
        patched.setattr(train_run, "_tell", heard)
        called = arena("train", *asked, "--evaluate", "design.yaml", "--json")
    assert called.exit_code == 1, called.output
    said = json.loads(called.stdout)
    assert (said["status"], said["step"], said["final"]) == (status, 2, False)
    assert (said["choice"], said["evaluation"], judged) == (None, None, [])
    assert "to go on: arena train --resume demo --out mine\n" in called.stderr
    assert "neither chosen from nor evaluated before it has gone on" in called.stderr
    assert "arena evaluate" not in called.stderr
    again = arena(*RESUME, "--json")
    assert again.exit_code == 0, again.output
    assert judged == [[f"demo-{step}" for step in range(2, steps + 1)]]
    assert json.loads(again.stdout)["evaluation"]["base"].startswith(said["base"])


def test_a_run_goes_on_in_its_own_database_only(run: Result, here: Path) -> None:
    assert run.exit_code == 0, run.output
    (here / "own.db").rename(here / "elsewhere.db")
    again = arena(*RESUME)
    assert again.exit_code == 2, again.output
    assert "name it with --db" in again.stderr
    assert not (here / "own.db").exists()


def test_a_run_that_is_done_stays_so_where_its_last_checkpoint_is_damaged(
    run: Result, here: Path
) -> None:
    assert run.exit_code == 0, run.output
    weights = here / "mine" / "demo" / "checkpoint-2" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    again = arena(*RESUME)
    assert again.exit_code == 2, again.output
    assert "checkpoint-2 is not as it was saved" in again.stderr
    assert recorded() == ("done", None)


def test_without_its_base_no_checkpoint_is_chosen_or_judged(
    judged: list[list[str]], run: Result
) -> None:
    assert run.exit_code == 0, run.output
    with Store.open("own.db") as store:
        base = Registry(store).find(json.loads(run.stdout)["base"])
        store.withdraw_agent(base.name, base.spec.version, "a mistake")
    again = arena(*RESUME, "--evaluate", "design.yaml", "--json")
    assert again.exit_code == 1, again.output
    assert f"the base {base.name} is withdrawn" in again.stderr
    said = json.loads(again.stdout)
    assert (said["choice"], said["evaluation"], judged) == (None, None, [])


@pytest.mark.parametrize("score", [None, 0.5])
def test_a_run_that_stopped_is_judged_where_its_policy_collapsed_and_not_where_its_buyers_failed(
    score: float | None,
    judged: list[list[str]],
    tiny_base: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from arena.play import Outcome
    from arena.protocol import Ending
    from trainers import grpo
    from trainers.rollout import Episode

    def same(cells: Any, chat: Any, *_: Any) -> list[Episode]:
        ending = Ending.PROVIDER_ERROR if score is None else Ending.WALK_AWAY
        outcome = Outcome(ending, None, None, score, None, [], "down")
        own = int(score is not None)
        return [Episode(cell, [chat.close], [chat.close], [own], [0.0], outcome) for cell in cells]

    monkeypatch.setattr(grpo, "roll_out", same)
    asked = ("--model", str(tiny_base), *SHORT, "--steps", "9", *RUN, "--evaluate", "design.yaml")
    called = arena("train", *asked, "--json")
    assert called.exit_code == 1, called.output
    said = json.loads(called.stdout)
    assert (said["status"], said["step"], said["final"]) == ("stopped", 5, score is not None)
    assert judged == ([] if score is None else [["demo-5"]])
    assert (said["choice"] is None) is (said["evaluation"] is None) is (score is None)
    goes_on = "Once its buyers answer again, to go on: arena train --resume demo --out mine\n"
    assert (goes_on in called.stderr) is (score is None)
    assert ("a lower --lr" in called.stderr) is (score is not None)


def test_an_evaluation_that_cannot_be_played_leaves_the_runs_own_result(
    judged: list[list[str]],
    tiny_base: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UserError("a buyer has no key")

    monkeypatch.setattr("arena.commands.evaluate.evaluate", refuse)
    asked = ("--model", str(tiny_base), *SHORT, "--steps", "1", *RUN, "--evaluate", "design.yaml")
    called = arena("train", *asked, "--json")
    assert called.exit_code == 2
    assert called.stderr.endswith("Error: a buyer has no key\n")
    said = json.loads(called.stdout)
    assert (said["status"], said["checkpoints"]) == ("done", ["demo-1"])
    assert (said["evaluation"], said["error"]) == (None, "a buyer has no key")


def recorded() -> tuple[str, str | None]:
    """Return how the one run of the record stands, and why."""
    with Store.open("own.db") as store:
        (found,) = store.training_runs()
        return found.status, found.why


def refused(*words: str) -> str:
    """Return what is said where a run is not gone on with; nothing has started."""
    called = arena(*words)
    assert called.exit_code == 2, called.output
    assert "step " not in called.stderr.splitlines()[-1]
    return called.stderr


def test_what_is_wrong_with_going_on_is_found_first(run: Result, tiny_base: Path, here: Path) -> None:  # noqa: F811
    assert run.exit_code == 0, run.output
    again = refused("train", "--model", str(tiny_base), *SHORT, *RUN)
    assert "arena train --resume demo --out mine" in again
    assert "leave out --steps" in refused(*RESUME, "--steps", "9")
    Path("strict.yaml").write_text(
        DESIGN.replace("[conceder]", "[boulware]") + "analysis: {excluded: [boulware]}\n"
    )
    assert "must not be trained against" in refused(*RESUME, "--evaluate", "strict.yaml")
    moved = tiny_base.rename(here / "moved")
    try:
        assert f"the base {tiny_base} is gone: put it back" in refused(*RESUME)
    finally:
        moved.rename(tiny_base)


@pytest.mark.slow
def test_a_run_that_is_done_is_chosen_from_and_judged(run: Result) -> None:
    Path("design.yaml").write_text(DESIGN)
    judged = arena(*RESUME, "--evaluate", "design.yaml", "--json")
    assert judged.exit_code == 0, judged.output
    found, said = json.loads(judged.stdout), json.loads(run.stdout)
    evaluation = found.pop("evaluation")
    assert evaluation["base"].startswith(found["base"])
    assert len(evaluation["checkpoints"]) == 2
    assert found.pop("choice")["scores"].keys() == said.pop("choice")["scores"].keys()
    assert found == said
    assert "judged below, on scenarios of the eval split" in judged.stderr
