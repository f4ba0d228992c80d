"""A real small language model is trained: SmolLM2-135M sells to itself, served over HTTP.

Plumbing, not learning: two GRPO steps, Ctrl-C, and a third after it. Minutes, and about 5 GB.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")
pytest.importorskip("gguf", reason="reading the weights needs pip install gguf")

from agents.language_model.agent import model_spec
from agents.local.weights import weights_hash
from agents.spec import Connection
from arena.store import RunStatus
from scenarios.scenario import Role
from tests.served import MODEL, smollm2, weights
from tests.trainers import watched
from tests.trainers.small_run import domains_of, recipe_for
from trainers.collapse import CollapseStop
from trainers.loading import load
from trainers.prepare import Prepared
from trainers.rollout import Episode

__all__ = ["smollm2"]
pytestmark = [pytest.mark.slow, pytest.mark.llm, pytest.mark.timeout(1800)]
STEPS = 3


def from_gguf(file: Path, folder: Path) -> Path:
    """Write the weights of a GGUF as a folder that anyone can load; return it.

    Dequantised weights are put into a model made anew from the configuration: what transformers loads
    from a GGUF remembers the quantisation and cannot be saved.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    plain = {k: v for k, v in read.config.to_dict().items() if k != "quantization_config"}
    model = AutoModelForCausalLM.from_config(type(read.config).from_dict(plain), dtype=torch.float32)
    found = model.load_state_dict(read.state_dict(), strict=False)
    assert not found.unexpected_keys
    assert set(found.missing_keys) <= {"lm_head.weight"}  # tied to the embeddings
    model.tie_weights()
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return from_gguf(weights(), tmp_path_factory.mktemp("bases") / "SmolLM2-135M")


@pytest.fixture
def watched_episodes() -> Iterator[list[Episode]]:
    """All episodes that were learned from."""
    seen: list[Episode] = []
    watch = CollapseStop.watch

    def also(self: CollapseStop, episodes: Any) -> None:
        seen.extend(episodes)
        watch(self, episodes)

    with patch.object(CollapseStop, "watch", also):
        yield seen


def prepared_for(base: Path, address: str) -> Prepared:
    """Return three steps of one group of two, against the same model behind `address`."""
    spec = model_spec(MODEL, {"max_tokens": 160, "temperature": 1.0}, structured=True)
    spec = spec.model_copy(update={"prompt_version": "brief1"})
    recipe = recipe_for(
        base,
        steps=STEPS,
        save_steps=STEPS,
        learning_rate=1e-5,
        group_size=2,
        groups_per_step=1,
        buyers=[{"name": "smollm2", "version": spec.version}],
        turns=2,
        answer_tokens=40,
        context_tokens=1500,
        turn_timeout=600.0,
    )
    pool = {spec.version: (spec, Connection(api_base=address, timeout_s=600.0))}
    return Prepared(recipe, domains_of(), pool, size=None, warnings=[], ours=[])


def interrupt(line: str) -> None:
    """Press Ctrl-C during the second step, which is saved when it is over."""
    if line.startswith("step 1 "):
        os.kill(os.getpid(), signal.SIGINT)


def test_the_weights_of_a_gguf_are_a_base(base: Path) -> None:
    model, tokenizer = load(str(base))
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008
    ids = tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    said = model.generate(input_ids=ids, max_new_tokens=4, do_sample=False)
    assert "Paris" in tokenizer.decode(said[0])


def test_it_trains_two_steps_and_goes_on_for_one(
    base: Path, smollm2: str, tmp_path: Path, watched_episodes: list[Episode]
) -> None:
    first = watched.run(tmp_path, "smol", prepared_for(base, smollm2), interrupt)
    assert (first.status, first.step, first.checkpoints) == (RunStatus.INTERRUPTED, 2, ["smol-2"])
    again = watched.run(tmp_path, "smol")
    assert (again.status, again.step, again.checkpoints) == (RunStatus.DONE, STEPS, ["smol-2", "smol-3"])

    run = watched.Run(tmp_path, "smol")
    assert [step for step, _ in run.steps] == [1, 2, 3]
    assert [line["cells"] for line in run.trace()] == [[0, 0], [1, 1], [2, 2]]
    assert len({line["anchor"] for line in run.trace()}) == 1
    assert all(metrics["void_rate"] == 0 for _, metrics in run.steps)
    # A buyer that opens and forfeits leaves the seller nothing to say in that step.
    assert sum(metrics["seller_tokens"] for _, metrics in run.steps) > 0
    assert {agent.name for agent in run.agents} == {base.name, "smol-2", "smol-3"}
    for step in (2, STEPS):
        agent = run.agent(f"smol-{step}")
        assert agent.spec.revision == weights_hash(run.folder / f"checkpoint-{step}")

    # The buyer was the served model, and what it said is in the ids without loss.
    turns = [turn for e in watched_episodes if e.outcome for turn in e.outcome.turns]
    bought = [attempt for turn in turns if turn.role is Role.BUYER for attempt in turn.attempts]
    assert bought
    assert all(attempt.usage is not None and attempt.usage.output_tokens for attempt in bought)
    assert all(len(e.mask) == len(e.completion_ids) for e in watched_episodes)
    assert len(watched_episodes) == 2 * STEPS
