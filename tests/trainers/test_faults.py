"""What goes wrong while a run is under way, in real steps of a real model: each is scored, void, or the
end of the run, as the protocol has it, and none is learned from by mistake."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

from agents.language_model import gateway, model_spec
from agents.plugin import plugin_spec
from agents.scripted import spec_of
from agents.spec import AgentSpec, Connection
from arena.play import Outcome
from arena.protocol import Ending, Fault
from scenarios.scenario import Role
from tests.agents.language_model.scripted_api import Answer, Api, chat, error, scripted_api
from tests.trainers import faulty_buyers
from tests.trainers.small_run import CPU, prepared_for, recipe_for, tiny_base
from trainers.cells import Cells
from trainers.collapse import CollapseStop, Limits
from trainers.grpo import settings, trainer_of
from trainers.loading import load
from trainers.recipe import Recipe, TrainingBuyer
from trainers.rollout import Episode

__all__ = ["tiny_base"]

Pool = dict[str, tuple[AgentSpec, Connection]]
TALK = '{"message":"Good day.","action":"talk"}'
"""Legal on every turn: a match goes on until the buyer ends it."""
PLUGINS = "tests.trainers.faulty_buyers"


class Always(list[Answer]):
    """The same answer for ever."""

    def pop(self, index: Any = -1) -> Answer:
        return self[0]


class Run:
    """A short training, what it played, and whether it moved the weights."""

    def __init__(self, base: Path, folder: Path, pool: Pool | None, **changes: Any) -> None:
        buyers = {} if pool is None else {"buyers": named(pool)}
        self.recipe: Recipe = recipe_for(
            base, **{"steps": 1, "group_size": 2, "groups_per_step": 1, **buyers, **changes}
        )
        own = prepared_for(recipe_for(base))
        cells = Cells(self.recipe, own.domains, own.pool if pool is None else pool)
        self.model, self._tokenizer = load(str(base))
        self.told: list[str] = []
        self.episodes: list[Episode] = []
        self.stop = CollapseStop(self.told.append, Limits(steps=2))
        self.trainer, rollouts = trainer_of(
            self.recipe,
            settings(self.recipe, CPU, folder),
            cells,
            self.model,
            self._tokenizer,
            [self.stop],
        )
        rollouts.watch = self._watch
        self.before = weights(self.model)

    def train(self, saying: str | None = None) -> "Run":
        """Train; with `saying` the seller says only that, as if it had been sampled."""
        if saying is not None:
            ids = self._tokenizer(saying, add_special_tokens=False)["input_ids"]
            answer = [*ids, self.model.generation_config.eos_token_id[0]]
            self.trainer._generate_single_turn = lambda rows, *_, **__: ([answer] * len(rows), None)
        self.trainer.train()
        return self

    def _watch(self, episodes: Sequence[Episode]) -> None:
        self.stop.watch(episodes)
        self.episodes += episodes

    @property
    def outcomes(self) -> list[Outcome]:
        return [e.outcome for e in self.episodes if e.outcome is not None]

    @property
    def logs(self) -> list[dict[str, Any]]:
        return [step for step in self.trainer.state.log_history if "loss" in step]

    @property
    def moved(self) -> bool:
        after = weights(self.model)
        return any(not after[name].equal(tensor) for name, tensor in self.before.items())


def named(pool: Pool) -> tuple[TrainingBuyer, ...]:
    return tuple(TrainingBuyer(name=f"buyer-{v}", version=v) for v in pool)


def weights(model: Any) -> dict[str, Any]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def pool_of(*specs: AgentSpec, connection: Connection | None = None) -> Pool:
    return {spec.version: (spec, connection or Connection()) for spec in specs}


def served(api: Api, timeout_s: float | None = None) -> Pool:
    spec = model_spec("hosted_vllm/buyer", prompt_version="v1")
    return pool_of(spec, connection=Connection(api_base=api.address, timeout_s=timeout_s))


@pytest.fixture
def make(tiny_base: Path, tmp_path: Path) -> Callable[..., Run]:
    def run(pool: Pool | None = None, **changes: Any) -> Run:
        return Run(tiny_base, tmp_path, pool, **changes)

    return run


def finite(run: Run) -> bool:
    return all(math.isfinite(step[name]) for step in run.logs for name in ("loss", "grad_norm"))


@pytest.mark.parametrize(
    ("plugin", "ending"),
    [
        ("Asleep", Ending.FORFEIT_TIMEOUT),
        ("Hanging", Ending.FORFEIT_TIMEOUT),
        ("Rubbish", Ending.FORFEIT_FORMAT),
        ("Raising", Ending.FORFEIT_CODE),
    ],
)
def test_a_buyers_own_failure_is_its_forfeit(make: Any, plugin: str, ending: Ending) -> None:
    """The seller gets its walk-away value, and the step goes on without the one that hangs."""
    faulty_buyers.released.clear()
    run = make(
        pool_of(plugin_spec(f"{PLUGINS}:{plugin}")), turn_timeout=0.2, group_size=4, groups_per_step=2
    ).train(TALK)
    hung = not faulty_buyers.released.is_set()
    faulty_buyers.released.set()
    assert hung
    assert {(outcome.ending, outcome.at_fault) for outcome in run.outcomes} == {(ending, Role.BUYER)}
    assert all(e.reward == e.cell.scenario.seller.walk_away for e in run.episodes)
    assert run.logs[0]["void_rate"] == 0
    assert finite(run)


def test_a_buyer_that_always_walks_away_teaches_nothing_and_breaks_nothing(make: Any) -> None:
    run = make(pool_of(spec_of("walk_away")), groups_per_step=2, beta=0.0).train(TALK)
    assert {outcome.ending for outcome in run.outcomes} == {Ending.WALK_AWAY}
    assert all(e.reward == e.cell.scenario.seller.walk_away for e in run.episodes)
    assert run.logs[0]["zero_variance_share"] == 1
    assert not run.moved
    assert finite(run)


@pytest.mark.slow
def test_a_provider_that_fails_voids_every_match_and_nothing_is_learned(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, from step to step; the run says so at once, and ends after as many as the limit."""
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    with scripted_api() as api:
        api.answers = Always([error(503, "the buyer is overloaded")])
        run = make(served(api), steps=4, save_steps=1).train(TALK)
    assert {outcome.ending for outcome in run.outcomes} == {Ending.PROVIDER_ERROR}
    assert {episode.reward for episode in run.episodes} == {None}
    assert not any(any(episode.mask) for episode in run.episodes)
    assert not run.moved
    assert finite(run)
    assert run.trainer.state.global_step == 2
    assert "every match was void" in run.told[0]
    assert "no match was finished in 2 steps in a row" in (run.stop.reason or "")
    assert "overloaded" in (run.stop.reason or "")


@pytest.mark.slow
def test_a_provider_that_says_nothing_voids_the_match(make: Any) -> None:
    with scripted_api() as api:
        api.answers = Always([Answer(delay_s=1.5, body={})])
        run = make(served(api, timeout_s=0.2)).train(TALK)
    assert {outcome.ending for outcome in run.outcomes} == {Ending.PROVIDER_ERROR}
    assert not run.moved


@pytest.mark.slow
def test_a_model_that_answers_rubbish_forfeits(make: Any) -> None:
    """Asked again twice, over HTTP, in two steps: the connection outlives the first."""
    with scripted_api() as api:
        api.answers = Always([chat("Let me think about it.")])
        run = make(served(api), steps=2).train(TALK)
    for outcome in run.outcomes:
        assert (outcome.ending, outcome.at_fault) == (Ending.FORFEIT_FORMAT, Role.BUYER)
        assert len(outcome.turns[-1].attempts) == 3
    assert len(run.logs) == 2
    assert {step["void_rate"] for step in run.logs} == {0}


@pytest.mark.slow
def test_one_buyer_that_fails_leaves_the_others_to_learn_from(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "_backoff", lambda state: 0.01)
    with scripted_api() as api:
        api.answers = Always([error(500, "down")])
        pool = {**served(api), **pool_of(spec_of("linear"))}
        run = make(pool, groups_per_step=4, group_size=4).train()
    voids = [episode for episode in run.episodes if episode.reward is None]
    assert {episode.cell.buyer.spec.kind for episode in voids} == {"model"}
    assert len(voids) == 16 * run.logs[0]["void_rate"] > 0
    assert run.moved
    assert finite(run)


def test_a_bug_of_ours_ends_the_run_and_saves_nothing(make: Any, tmp_path: Path) -> None:
    from agents.scripted.agent import ScriptedAgent

    def begin(*_: Any) -> Any:
        raise LookupError("a strategy's own bug")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptedAgent, "begin", begin)
        run = make(steps=2, save_steps=1)
        with pytest.raises(RuntimeError, match=r"a bug of bargaining-arena .*strategy's own bug"):
            run.train()
    assert not run.moved
    assert not list(tmp_path.glob("checkpoint-*"))


def test_answers_that_are_cut_off_are_the_sellers_faults(make: Any) -> None:
    """At 8 tokens no answer says all that it must: three are faulty, and the seller forfeits."""
    run = make(answer_tokens=8, group_size=4).train()
    own = [outcome for outcome in run.outcomes if outcome.at_fault is Role.SELLER]
    assert own
    assert {(outcome.ending, outcome.seller_score) for outcome in own} == {(Ending.FORFEIT_FORMAT, 0.0)}
    faults = [attempt.fault for outcome in own for attempt in outcome.turns[-1].attempts]
    assert Fault.CUT_OFF in faults
    for episode in run.episodes:
        if episode.outcome in own:
            assert sum(episode.mask) <= 3 * 8
            assert any(episode.mask)
    assert finite(run)


def test_a_context_that_no_answer_fits_into_crashes_nothing(make: Any) -> None:
    """The seller forfeits without a token of its own, and there is nothing to learn from."""
    run = make(context_tokens=64, answer_tokens=48).train()
    faults = {a.fault for outcome in run.outcomes for a in outcome.turns[-1].attempts}
    assert faults == {Fault.CONTEXT_OVERRUN}
    assert not any(any(episode.mask) for episode in run.episodes)
    assert not run.moved
    assert finite(run)


@pytest.mark.parametrize("answer", ["nothing", "the end alone"])
def test_empty_completions_forfeit(make: Any, answer: str) -> None:
    run = make()
    ids = [] if answer == "nothing" else [run.model.generation_config.eos_token_id[0]]
    run.trainer._generate_single_turn = lambda rows, *_, **__: ([ids] * len(rows), None)
    run.train()
    own = [outcome for outcome in run.outcomes if outcome.at_fault is Role.SELLER]
    assert own
    assert {outcome.ending for outcome in own} == {Ending.FORFEIT_FORMAT}
    assert finite(run)


def test_a_tokenizer_without_an_end_trains_all_the_same(tiny_base: Path, tmp_path: Path) -> None:
    import json
    import shutil

    base = tmp_path / "base"
    shutil.copytree(tiny_base, base)
    config = json.loads((base / "tokenizer_config.json").read_text())
    del config["eos_token"], config["pad_token"]
    (base / "tokenizer_config.json").write_text(json.dumps(config))
    run = Run(base, tmp_path / "run", None, group_size=8, groups_per_step=4).train()
    assert run.moved
    assert finite(run)
