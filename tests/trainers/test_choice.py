"""Checkpoints are chosen on the dev split and nowhere else, on the same matches for all of them."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import Action, ActionKind, ProviderError, Reply
from agents.spec import AgentSpec, Connection, Profile
from arena.errors import UserError
from arena.registry import scripted
from arena.store import Registration
from scenarios.draw import draw
from scenarios.scenario import Role, Split
from tests.trainers.small_run import domains_of, prepared_for, recipe_for, tiny_base
from trainers.cells import TrainingCell
from trainers.choice import (
    chosen,
    compared,
    dev_cells,
    dev_scores,
    matches_to_choose,
    seller_scores,
)

__all__ = ["tiny_base"]

RECIPE = recipe_for("none", turns=None)


def cells_of(matches: int = 32, **changes: Any) -> list[TrainingCell]:
    recipe = recipe_for("none", **{"turns": None, **changes})
    prepared = prepared_for(recipe)
    return dev_cells(recipe, prepared.domains, prepared.pool, matches)


def test_cells_are_of_the_dev_split_and_balanced() -> None:
    cells = cells_of(32)
    assert {cell.scenario.split for cell in cells} == {Split.DEV}
    for part in (
        [cell.opener for cell in cells],
        [cell.buyer_name for cell in cells],
        [cell.scenario.domain_version for cell in cells],
    ):
        assert set(Counter(part).values()) == {16}
    both = Counter((cell.scenario.key, cell.buyer_name, cell.opener) for cell in cells)
    assert set(both.values()) == {1}


def test_buyers_are_as_they_are_named_and_not_varied() -> None:
    prepared = prepared_for(RECIPE)
    assert RECIPE.vary_buyers
    assert {cell.buyer.spec.version for cell in cells_of()} == set(prepared.pool)


@pytest.mark.parametrize("split", [Split.EVAL, Split.TRAIN])
def test_no_other_split_is_chosen_by(split: Split) -> None:
    domain = next(iter(domains_of().values()))
    cells = cells_of(4)
    cells[2] = replace(cells[2], scenario=draw(domain, split, 0))
    with pytest.raises(ValueError, match="no scenario to choose by"):
        dev_scores([scripted("linear")], cells, RECIPE)


def test_who_bargains_better_is_chosen() -> None:
    sellers = [scripted(name) for name in ("accept_first", "hardliner", "logroller")]
    choice = compared(dev_scores(sellers, cells_of(48), RECIPE))
    assert choice.best == "logroller"
    # Nobody agrees with one who never gives way: what it gets is its walk-away value.
    walk_aways = [cell.scenario.seller.walk_away for cell in cells_of(48)]
    assert choice.scores["hardliner"].mean == pytest.approx(sum(walk_aways) / 48)
    assert choice.scores["hardliner"].finished == choice.compared == 48


def test_the_same_seller_scores_the_same_again() -> None:
    twins = [replace(scripted("random"), name=name) for name in ("one", "two")]
    scores = dev_scores(twins, cells_of(), RECIPE)
    assert scores["one"] == scores["two"]


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 1), max_size=6))
def test_best_is_the_highest_and_the_first_of_equals(means: dict[str, float]) -> None:
    choice = compared({name: [mean] for name, mean in means.items()})
    highest = max(means.values(), default=None)
    assert choice.best == next((name for name, mean in means.items() if mean == highest), None)


def test_sellers_are_compared_over_the_matches_that_all_of_them_finished() -> None:
    """The checkpoint that scores more where both finished is better, though the other's mean of its own
    matches is higher: it missed the two in which there was little to gain."""
    found = compared({"base": [0.6, None, 0.6, None], "run-26": [0.7, 0.1, 0.7, 0.1]})
    assert (found.best, found.compared) == ("run-26", 2)
    means = {name: (score.mean, score.finished) for name, score in found.scores.items()}
    assert means == {"base": (pytest.approx(0.6), 2), "run-26": (pytest.approx(0.7), 4)}
    apart = compared({"base": [0.6, None], "run-26": [None, 0.1]})
    assert (apart.best, apart.compared) == (None, 0)
    assert {score.mean for score in apart.scores.values()} == {None}


def test_a_seller_that_finished_nothing_is_left_out_and_without_the_base_there_is_no_choice() -> None:
    found = compared({"base": [0.5, 0.5], "a": [0.6, 0.7], "b": [None, None]})
    assert (found.best, found.compared) == ("a", 2)
    assert (found.scores["b"].mean, found.scores["b"].finished) == (None, 0)
    gone = compared({"base": [None, None], "a": [0.6, 0.7]})
    assert (gone.best, gone.compared) == (None, 0)


def test_who_was_left_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {"base": [0.5, 0.5], "a": [0.6, 0.7], "b": [None, None]}
    monkeypatch.setattr("trainers.choice.dev_scores", lambda *_: scores)
    told: list[str] = []
    assert chosen([], prepared_for(RECIPE), told.append).best == "a"
    assert told == ["over the 2 of them that all others finished: base 0.500, a 0.650"]


def test_the_base_comes_first_and_has_to_be_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.choice.MATCHES", 12)
    twins = [replace(scripted("linear"), name=name) for name in ("base", "run-26")]
    told: list[str] = []
    choice = chosen(twins, prepared_for(RECIPE), told.append)
    assert choice.best == "base"
    mean = choice.scores["run-26"].mean
    assert mean is not None
    assert told == [
        "base finished 12 of 12 matches on the dev split",
        "run-26 finished 12 of 12 matches on the dev split",
        f"over the 12 of them that all finished: base {mean:.3f}, run-26 {mean:.3f}",
    ]
    better = [scripted("hardliner"), scripted("logroller")]
    found = chosen(better, prepared_for(RECIPE)).to_json()
    assert (found["best"], found["split"]) == ("logroller", "dev")
    assert (found["matches"], found["compared"]) == (12, 12)
    assert json.dumps(found["scores"]["hardliner"]).startswith('{"mean": 0.')


@pytest.mark.parametrize(
    ("steps", "save_steps", "checkpoints"), [(104, 26, 4), (56, 26, 3), (3, 1, 3), (3, 50, 1)]
)
def test_every_checkpoint_and_the_base_are_played(steps: int, save_steps: int, checkpoints: int) -> None:
    recipe = recipe_for("none", steps=steps, save_steps=save_steps)
    assert matches_to_choose(recipe) == 64 * (checkpoints + 1)


class _Down:
    """A seller whose provider fails in every match of which it opens."""

    deterministic = False
    spec = AgentSpec(kind="model", model="test/down")

    def begin(self, *_: Any) -> Any:
        return self

    def reply(self, view: Any) -> Any:
        raise ProviderError("down")


def test_void_matches_do_not_count() -> None:
    assert seller_scores(_Down(), cells_of(8), RECIPE) == [None] * 8


class _Leaving:
    """Leaves on its first turn, after so many seconds; `kind` says what it passes for."""

    deterministic = False

    def __init__(self, kind: Literal["local", "plugin"], seconds: float) -> None:
        self.spec, self._seconds = AgentSpec(kind=kind, model="test/leaving"), seconds

    def begin(self, *_: Any) -> Any:
        return self

    async def reply(self, view: Any) -> Reply:
        await asyncio.sleep(self._seconds)
        return Reply(action=Action(ActionKind.WALK_AWAY))


def test_a_plug_ins_limit_is_not_that_of_the_models_that_play_it() -> None:
    recipe = recipe_for("none", turn_timeout=0.05)
    cells = [replace(cell, buyer=_Leaving("plugin", 0.0)) for cell in cells_of(8)]
    assert None not in seller_scores(_Leaving("local", 0.2), cells, recipe)


def test_a_seller_that_cannot_be_played_is_named(tmp_path: Path) -> None:
    spec = AgentSpec(kind="local", model="gone", revision="0" * 12, prompt_version="brief1")
    gone = Registration(
        "run-50", spec, "seller", Profile(), Connection(weights=str(tmp_path / "gone")), ""
    )
    with pytest.raises(UserError, match="run-50 cannot play"):
        dev_scores([gone], cells_of(2), RECIPE)


def test_weights_play_the_dev_split(tiny_base: Path) -> None:
    """The same weights under two names play the same matches to the same score."""
    from agents.local.agent import spec_of_weights

    recipe = recipe_for(tiny_base, turns=2)
    cells = cells_of(8, turns=2)
    assert {cell.opener for cell in cells} == set(Role)
    spec = spec_of_weights(str(tiny_base), None, {"max_tokens": 48}, "brief1")
    twins = [
        Registration(name, spec, "seller", Profile(), Connection(weights=str(tiny_base)), "")
        for name in ("a", "b")
    ]
    scores = dev_scores(twins, cells, recipe)
    assert scores["a"] == scores["b"]
    assert None not in scores["a"]
