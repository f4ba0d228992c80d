"""A real run of four short steps: what it keeps, what becomes of its checkpoints, how it goes on."""

import errno
import json
import os
import shutil
import signal
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from agents.local.weights import weights_hash
from agents.scripted import spec_of
from agents.spec import Connection, Profile
from arena.errors import UserError
from arena.run_lock import locked, under_way
from arena.store import Registration, RunStatus, Store
from scenarios.catalogue import bundled
from tests.trainers import watched
from tests.trainers.small_run import CPU, prepared_for, recipe_for, tiny_base
from tests.trainers.watched import Run
from trainers.run import Finished, train
from trainers.run import Run as Training
from trainers.run_folder import kept_command, resumed

__all__ = ["tiny_base"]
STEPS = 3


@pytest.fixture(scope="module")
def ended(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Finished]:
    """A run that nothing disturbed, and how it ended."""
    out = tmp_path_factory.mktemp("runs")
    finished = watched.run(out, "whole", prepared_for(recipe_for(tiny_base, steps=STEPS, save_steps=5)))
    return Run(out, "whole"), finished


@pytest.fixture(scope="module")
def whole(ended: tuple[Run, Finished]) -> Run:
    """A run that nothing disturbed."""
    return ended[0]


def interrupt_after(step: int) -> Callable[[str], None]:
    """Return a listener that presses Ctrl-C when it hears that a step is over."""

    def heard(line: str) -> None:
        if line.startswith(f"step {step} "):
            os.kill(os.getpid(), signal.SIGINT)

    return heard


def test_a_run_ends_and_says_what_it_made(ended: tuple[Run, Finished], tiny_base: Path) -> None:
    whole, finished = ended
    assert finished == Finished(RunStatus.DONE, "", "", STEPS, ["whole-3"], tiny_base.name)
    assert whole.record.status == RunStatus.DONE
    assert whole.record.ended_at is not None
    assert whole.record.recipe == json.loads((whole.folder / "recipe.json").read_text())


def test_no_card_names_another_base(whole: Run) -> None:
    """TRL's says "a fine-tuned version of None" where the base lies in a folder."""
    assert not list(whole.folder.rglob("README.md"))


def test_every_step_is_stored_with_all_that_is_watched(whole: Run) -> None:
    assert [step for step, _ in whole.steps] == [1, 2, 3]
    for _, values in whole.steps:
        assert {"reward", "kl", "entropy", "fault_rate", "zero_variance_share"} <= values.keys()
        assert {"deal_rate", "leak_rate", "opener_concentration", "grad_norm"} <= values.keys()
        assert {"clip_ratio/region_mean", "completions/mean_length", "learning_rate"} <= values.keys()
        assert {"buyer/linear", "buyer/boulware"} & values.keys()
        assert values["seconds"] > 0
        assert isnan(values["reward"]) or 0 <= values["reward"] <= 1
    tokens = [values["dialogue_tokens"] for _, values in whole.steps]
    assert [values["num_tokens"] for _, values in whole.steps] == [
        sum(tokens[: place + 1]) for place in range(STEPS)
    ]
    assert whole.steps[0][1]["kl"] == 0
    assert whole.steps[-1][1]["kl"] > 0


def test_cells_are_taken_in_order_and_a_group_shares_one(whole: Run) -> None:
    played = [number for line in whole.trace() for number in line["cells"]]
    assert played == [cell for cell in range(STEPS * 2) for _ in range(4)]


def test_a_checkpoint_is_an_agent_with_its_lineage(whole: Run, tiny_base: Path) -> None:
    base, last = whole.agents
    assert (base.name, last.name) == (tiny_base.name, "whole-3")
    for agent in whole.agents:
        assert agent.spec.kind == "local"
        assert agent.role == "seller"
        assert agent.spec.prompt_version == "brief1"
        assert agent.spec.sampling == {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 48}
        assert agent.spec.revision == weights_hash(agent.connection.weights or "")
        assert agent.profile.family == "gemma"
    assert base.connection.weights == str(tiny_base)
    assert last.connection.weights == str(whole.folder / "checkpoint-3")
    assert last.profile.base == base.name
    lineage = last.profile.lineage
    assert (lineage["run"], lineage["step"], lineage["steps"]) == ("whole", STEPS, STEPS)
    assert lineage["base_weights"] == base.spec.revision == weights_hash(tiny_base)
    assert lineage["weights"] == last.spec.revision != base.spec.revision
    assert lineage["architecture"] == "E-series"
    assert (lineage["learning_rate"], lineage["seed"], lineage["beta"]) == (1e-3, 0, 0.05)
    assert (lineage["group_size"], lineage["groups_per_step"]) == (4, 2)
    assert (lineage["buyers"], lineage["domains"]) == (["linear", "boulware"], ["lamps", "chairs"])
    small = bundled("small")
    assert lineage["buyer_versions"] == [spec_of(name).version for name in lineage["buyers"]]
    assert lineage["domain_versions"] == [small[name].version for name in lineage["domains"]]
    assert (lineage["prompt_version"], lineage["loss_type"]) == ("brief1", "dapo")
    assert (lineage["vary_buyers"], lineage["shuffled_rewards"]) == (True, False)
    assert lineage["kl"] == whole.steps[-1][1]["kl"]
    assert lineage["tokens"] == whole.steps[-1][1]["num_tokens"]
    # 6 N a token learned from, 2 N scored by the reference, and more than 2 N to sample: every turn
    # reads the conversation anew.
    assert 11 < lineage["flops"] / (last.profile.params * lineage["tokens"]) < 20
    assert lineage["code"]["trl"].startswith("1.")


def test_parameters_are_counted_without_embeddings_of_each_layer(whole: Run, tiny_base: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny_base)
    counted = {name: p.numel() for name, p in model.named_parameters()}
    (table,) = [n for name, n in counted.items() if "embed_tokens_per_layer" in name]
    assert whole.agents[0].profile.params == pytest.approx(sum(counted.values()) - table, rel=1e-3)


def test_ctrl_c_saves_at_the_end_of_a_step_and_the_run_goes_on_as_if_nothing_was(
    whole: Run, tmp_path: Path
) -> None:
    prepared = prepared_for(resumed(whole.folder).recipe)
    heard = signal.getsignal(signal.SIGINT)
    stopped = watched.run(tmp_path, "whole", prepared, interrupt_after(1))
    assert signal.getsignal(signal.SIGINT) is heard
    assert (stopped.status, stopped.step) == (RunStatus.INTERRUPTED, 2)
    assert stopped.advice == (
        f"It is saved up to step 2; to go on: arena train --resume whole --out {tmp_path}"
    )
    record = Run(tmp_path, "whole").record
    assert (record.status, record.why, stopped.why) == (RunStatus.INTERRUPTED, None, "")
    finished = watched.run(tmp_path, "whole")
    again = Run(tmp_path, "whole")
    assert finished.status == again.record.status == RunStatus.DONE
    assert finished.checkpoints == ["whole-2", "whole-3"]
    assert again.trace() == whole.trace()
    assert again.measured() == whole.measured()
    assert [agent.name for agent in again.agents] == [finished.base, "whole-2", "whole-3"]
    assert again.agent("whole-3").spec == whole.agent("whole-3").spec
    assert again.agent("whole-3").profile == whole.agent("whole-3").profile
    early, last = (again.agent(name).profile.lineage for name in finished.checkpoints)
    assert early["tokens"] == whole.steps[1][1]["num_tokens"] < last["tokens"]
    assert early["kl"] == whole.steps[1][1]["kl"] != last["kl"]


def test_a_run_that_is_done_is_done(whole: Run) -> None:
    finished = watched.run(whole.out, "whole")
    again = Run(whole.out, "whole")
    assert finished.status == again.record.status == RunStatus.DONE
    assert finished.step == STEPS
    assert again.agents == whole.agents
    assert again.trace() == whole.trace()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_for_the_end_of_a_step_and_the_second_ends_it_at_once(number: int) -> None:
    from trainers.callbacks import Interruption

    before = signal.getsignal(number)
    told: list[str] = []
    interruption = Interruption(told.append)
    with interruption.listening():
        os.kill(os.getpid(), number)
        assert interruption.asked
        assert told == ["stopping after this step, which is saved; once more to stop at once"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def started(out: Path, prepared: Any, name: str, *, resume: bool = False) -> Finished:
    with Store.open(str(out / watched.DATABASE)) as store:
        return train(Training(prepared, CPU, out, name, store), resume=resume)


def test_an_existing_run_is_not_begun_again(whole: Run) -> None:
    with pytest.raises(UserError, match=r"holds a run already.*arena train --resume whole"):
        started(whole.out, resumed(whole.folder), "whole")


def test_a_folder_of_something_else_is_left_alone(whole: Run, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    with pytest.raises(UserError, match=r"photos exists and holds no run"):
        started(tmp_path, resumed(whole.folder), "photos")


def test_dialogues_longer_than_the_base_takes_are_not_trained_on(
    tiny_base: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"tiny-test takes dialogues of up to 2,048 tokens"):
        started(tmp_path, prepared_for(recipe_for(tiny_base, context_tokens=2049)), "long")


def test_a_name_of_another_recipe_is_refused(whole: Run, tiny_base: Path) -> None:
    elsewhere = whole.out / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    shutil.copy(whole.out / watched.DATABASE, elsewhere)
    with pytest.raises(UserError, match=r"training run 'whole' with another recipe.*another --name"):
        started(elsewhere, prepared_for(recipe_for(tiny_base, steps=9)), "whole")
    assert not (elsewhere / "whole").exists()


def test_what_cannot_be_written_at_the_start_is_a_run_that_failed(
    whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("trainers.run_folder.write_json", full)
    with pytest.raises(UserError, match=r"could not be saved .*No space left.*to go on: begin it again"):
        started(tmp_path, resumed(whole.folder), "full")
    record = Run(tmp_path, "full").record
    assert record.status == RunStatus.FAILED
    assert "No space left" in (record.why or "")


@pytest.mark.parametrize("name", ["resolved.json", "recipe.json"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-9],
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"name"', '"nom"'),
        lambda text: text.replace('"kind"', '"sort"').replace('"seed"', '"root"'),
    ],
)
def test_a_run_of_another_release_is_not_gone_on_with(
    name: str, change: Callable[[str], str], whole: Run, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(whole.folder, tmp_path / "whole"))
    (copy / name).write_text(change((copy / name).read_text()))
    with pytest.raises(UserError, match=r"begun by another release, or changed since.*another run"):
        resumed(copy)


@pytest.mark.parametrize("text", ['{"vllm": "of', "[1]"])
def test_kept_options_that_cannot_be_read_are_the_users_to_mend(text: str, tmp_path: Path) -> None:
    assert kept_command(tmp_path) == {}
    (tmp_path / ".command.json").write_text(text)
    with pytest.raises(UserError, match=r"command\.json is not as it was written.*delete it"):
        kept_command(tmp_path)


def test_a_run_that_is_not_there_is_not_gone_on_with(whole: Run) -> None:
    with pytest.raises(UserError, match=r"no run in .*whale.*there are whole"):
        resumed(whole.out / "whale")


@pytest.mark.parametrize("name", ["", "a/b", "../up", ".hidden", "a,b", "x@1", "y" * 81])
def test_names_that_will_not_do(whole: Run, name: str) -> None:
    with pytest.raises(UserError, match="a run is named by"):
        started(whole.out, resumed(whole.folder), name)


def test_a_name_that_would_take_an_agents_name_is_refused(whole: Run, tmp_path: Path) -> None:
    with Store.open(str(tmp_path / watched.DATABASE)) as store:
        store.add_registrations(
            [Registration("mine-26", spec_of("linear"), "seller", Profile(), Connection(), "2026-01-01")]
        )
    with pytest.raises(UserError, match="another origin is called mine-26"):
        started(tmp_path, resumed(whole.folder), "mine")


def test_two_processes_do_not_train_one_run(whole: Run) -> None:
    database = str(whole.out / watched.DATABASE)
    assert under_way(whole.folder, database) is False
    held = locked(whole.folder, database)
    with held, pytest.raises(UserError, match="under way in another process"):
        started(whole.out, resumed(whole.folder), "whole", resume=True)


def test_a_base_that_was_exchanged_is_noticed(whole: Run, tiny_base: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(whole.folder, tmp_path / "whole"))
    base = json.loads((copy / "base.json").read_text())
    (copy / "base.json").write_text(json.dumps(base | {"revision": "0" * 12}))
    with pytest.raises(UserError, match="its KL penalty would lose its anchor") as raised:
        started(tmp_path, resumed(copy), "whole", resume=True)
    record = Run(tmp_path, "whole").record
    assert (record.status, record.why) == (RunStatus.FAILED, str(raised.value))


def test_the_base_is_the_one_that_is_written_down(whole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one that another release would make, or find, under the same name."""

    def elsewhere(*_: object) -> str:
        raise AssertionError("nobody looks for a base that is known")

    monkeypatch.setattr("trainers.run.located", elsewhere)
    assert started(whole.out, resumed(whole.folder), "whole", resume=True).status == RunStatus.DONE


def test_the_domains_and_buyers_are_those_of_the_start(whole: Run) -> None:
    prepared = prepared_for(resumed(whole.folder).recipe)
    again = resumed(whole.folder)
    assert again.recipe == prepared.recipe
    assert again.domains == prepared.domains
    assert again.pool == prepared.pool
