"""Rollouts: the arena's own matches, kept as the ids that were sampled."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.agent import Brief, ProviderError, Reply, View
from agents.build import build
from agents.local.tokens import ChatTokens
from agents.scripted import spec_of
from agents.spec import AgentSpec
from arena.drivers import run
from arena.play import Turn
from arena.protocol import Ending, Fault
from scenarios.catalogue import bundled
from scenarios.scenario import Role
from tests.trainers.small_run import cells_for, recipe_for
from trainers.cells import TrainingCell
from trainers.recipe import Recipe
from trainers.rollout import Episode, Generate, Ids, roll_out
from trainers.tiny import SPECIAL, tokenizer_of

pytest.importorskip("trl", reason="training needs pip install 'bargaining-arena[train]'")

END = SPECIAL.index("<turn|>")
TERMS = bundled("small")["lamps"].terms
LEGAL = '{"action":"talk","message":"Well?"}'


@cache
def chat() -> ChatTokens:
    return ChatTokens(
        tokenizer_of(["You sell lamps to a hotel."] * 8, 320), [SPECIAL.index("<eos>"), END]
    )


def recipe_of(**changes: Any) -> Recipe:
    domain = bundled("small")["lamps"]
    own = {"domains": ({"name": "lamps", "version": domain.version},), "turns": 6, "answer_tokens": 200}
    return recipe_for("none", **{**own, "context_tokens": 16_000, **changes})


def answer(draw: Random) -> str:
    """Return an answer that is legal, faulty, or whatever the state of the match makes of it."""
    offer = {term.name: draw.choice(term.options) for term in TERMS}
    propose = {
        "action": "propose",
        "terms": offer,
        "message": draw.choice(["", "My offer.", "Größer <b>"]),
    }
    faulty = ["", "I accept.", '{"action":"accept"', '{"action":"propose","terms":{"hue":"red"}}']
    kinds = [json.dumps(propose)] * 5 + ['{"action":"accept"}', LEGAL, draw.choice(faulty)]
    return draw.choice(kinds)


def pieces(text: str, draw: Random) -> Ids:
    """Return a tokenisation of `text` that need not be the tokenizer's own, as samples need not."""
    ids: Ids = []
    while text:
        size = draw.randint(1, 9)
        piece, text = text[:size], text[size:]
        ids += chat()._ids(piece)
    return ids


def player(seed: int, cut: float = 0.0, logprobs: bool = False) -> tuple[Generate, list[Ids], list[int]]:
    """Return a seller, all it sampled, and how many rows each call had. A share `cut` of its answers
    lacks its end."""
    draw = Random(seed)
    sampled: list[Ids] = []
    sizes: list[int] = []

    def generate(rows: Sequence[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        sizes.append(len(rows))
        found = [pieces(answer(draw), draw) for _ in rows]
        found = [ids if ids and draw.random() < cut else [*ids, END] for ids in found]
        sampled.extend(found)
        return found, [[-float(t) for t in ids] for ids in found] if logprobs else None

    return generate, sampled, sizes


class Replay:
    """A seller that says again, in words, what stands in an episode's ids."""

    deterministic = True

    def __init__(self, episode: Episode) -> None:
        self.spec = AgentSpec(kind="model", model="test/replay")
        self._answers = deque(answers(episode))

    def begin(self, role: Role, brief: Brief, rng: Random) -> "Replay":
        return self

    def reply(self, view: View) -> Reply:
        ids = self._answers.popleft()
        ended = ids[-1:] == [END]
        return Reply(text=chat().text(ids), fault=None if ended else "cut_off")


def answers(episode: Episode) -> list[Ids]:
    """Return the seller's answers: the runs of ids that the mask marks."""
    found: list[Ids] = [[]]
    for token, mark in zip(episode.completion_ids, episode.mask, strict=True):
        if mark:
            found[-1].append(token)
        elif found[-1]:
            found.append([])
    return [ids for ids in found if ids]


def told(turn: Turn) -> Any:
    """Return a turn without what a call took."""
    attempts = [(attempt.text, attempt.fault) for attempt in turn.attempts]
    return replace(turn, attempts=attempts)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), cut=st.sampled_from([0.0, 0.2]))
def test_the_arena_gives_the_same_score_and_turns(seed: int, cut: float) -> None:
    """Played again by its plain loop, from the words in the ids alone."""
    recipe = recipe_of(buyers=[{"name": "random", "version": spec_of("random").version}])
    cells = [cells_for(recipe).at(seed + place) for place in range(6)]
    generate, sampled, _ = player(seed, cut)
    episodes = roll_out(cells, chat(), recipe, generate)
    for episode in episodes:
        cell, outcome = episode.cell, episode.outcome
        assert outcome is not None
        again = run(
            cell.game(recipe),
            {Role.SELLER: Replay(episode), Role.BUYER: cell.buyer},
            {Role.SELLER: Random(0), Role.BUYER: cell.rng()},
        )
        assert (again.ending, again.deal, again.seller_score) == (
            outcome.ending,
            outcome.deal,
            outcome.seller_score,
        )
        assert episode.reward == again.seller_score
        assert [told(turn) for turn in again.turns] == [told(turn) for turn in outcome.turns]
    # What was sampled is what is learned from, token by token.
    assert sorted(ids for e in episodes for ids in answers(e)) == sorted(filter(None, sampled))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_ids_marks_and_logprobs_belong_together(seed: int) -> None:
    recipe = recipe_of()
    cells = [cells_for(recipe).at(place) for place in range(4)]
    generate, _, _ = player(seed, cut=0.1, logprobs=True)
    for episode in roll_out(cells, chat(), recipe, generate):
        assert len(episode.completion_ids) == len(episode.mask) == len(episode.logprobs)
        assert episode.completion_ids[-1] in chat().stops
        for token, mark, logprob in zip(
            episode.completion_ids, episode.mask, episode.logprobs, strict=True
        ):
            assert logprob == (-float(token) if mark else 0.0)


def test_the_model_reads_the_whole_conversation() -> None:
    """Each row that is generated for is the dialogue so far, and it only grows."""
    recipe = recipe_of()
    cell = cells_for(recipe).at(0)
    generate, _, _ = player(5)
    rows: list[Ids] = []

    def spy(asked: Sequence[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        rows.extend(list(row) for row in asked)
        return generate(asked)

    (episode,) = roll_out([cell], chat(), recipe, spy)
    whole = episode.prompt_ids + episode.completion_ids
    assert rows[0] == episode.prompt_ids
    assert len(rows) > 3
    assert all(whole[: len(row)] == row for row in rows)
    assert [len(row) for row in rows] == sorted({len(row) for row in rows})


def test_a_group_shares_cell_buyer_and_opener() -> None:
    """The same words of the seller meet the same words of a buyer that draws, in every dialogue."""
    recipe = recipe_of(buyers=[{"name": "random", "version": spec_of("random").version}])
    cells = cells_for(recipe)
    words = [Random(f"say {turn}") for turn in range(40)]
    said = [answer(draw) for draw in words]
    turn = iter(range(40))

    def generate(rows: Sequence[Ids]) -> tuple[list[Ids], None]:
        text = said[next(turn)]
        return [[*chat()._ids(text), END] for _ in rows], None

    group = roll_out([cells.at(3)] * 4, chat(), recipe, generate)
    assert len({tuple(episode.prompt_ids) for episode in group}) == 1
    assert len({tuple(episode.completion_ids) for episode in group}) == 1
    assert len({id(episode.cell) for episode in group}) == 1
    streams = [cells.at(number).rng().random() for number in (3, 3, 4, 5)]
    assert streams[0] == streams[1]
    assert len(set(streams)) == 3


def scripted(*texts: str) -> Callable[[Sequence[Ids]], tuple[list[Ids], None]]:
    """Return a seller of one dialogue that gives these answers in turn, then the last for ever."""
    left = deque(texts)

    def generate(rows: Sequence[Ids]) -> tuple[list[Ids], None]:
        text = left.popleft() if len(left) > 1 else left[0]
        return [[*chat()._ids(text), END] for _ in rows], None

    return generate


def cell_with(buyer: Any, opener: Role, number: int = 0) -> TrainingCell:
    from dataclasses import replace

    return replace(cells_for(recipe_of()).at(number), buyer=buyer, opener=opener)


def test_a_faulty_answer_stays_and_is_learned_from() -> None:
    cell = cell_with(build(spec_of("hardliner")), Role.SELLER)
    (episode,) = roll_out([cell], chat(), recipe_of(), scripted("I accept.", LEGAL))
    assert episode.outcome is not None
    first, second = answers(episode)[:2]
    assert chat().text(first) == "I accept."
    assert chat().text(second) == LEGAL
    between = episode.completion_ids[len(first) : episode.mask.index(1, len(first))]
    assert Fault.NO_OBJECT.description in chat().text(between)
    assert [attempt.fault for attempt in episode.outcome.turns[0].attempts] == [Fault.NO_OBJECT, None]


def test_three_faulty_answers_forfeit_and_all_are_learned_from() -> None:
    cell = cell_with(build(spec_of("hardliner")), Role.SELLER)
    (episode,) = roll_out([cell], chat(), recipe_of(), scripted("no"))
    assert episode.outcome is not None
    assert (episode.outcome.ending, episode.reward) == (Ending.FORFEIT_FORMAT, 0.0)
    assert [chat().text(ids) for ids in answers(episode)] == ["no"] * 3


def test_an_empty_completion_is_a_fault_and_no_crash() -> None:
    cell = cell_with(build(spec_of("hardliner")), Role.SELLER)
    (episode,) = roll_out([cell], chat(), recipe_of(), lambda rows: ([[] for _ in rows], None))
    assert episode.outcome is not None
    assert episode.outcome.ending is Ending.FORFEIT_FORMAT
    assert not any(episode.mask)
    assert episode.completion_ids[-1] in chat().stops


def test_a_dialogue_that_fills_its_context_forfeits() -> None:
    """Its ids never exceed the context, and what no longer fits is not in them."""
    cell = cell_with(build(spec_of("hardliner")), Role.SELLER)
    room = len(roll_out([cell], chat(), recipe_of(), scripted("no"))[0].prompt_ids)
    recipe = recipe_of(context_tokens=room + 600, answer_tokens=200)
    long = json.dumps({"action": "talk", "message": "a long story of lamps"})
    (episode,) = roll_out([cell], chat(), recipe, scripted(long))
    assert episode.outcome is not None
    assert episode.outcome.ending is Ending.FORFEIT_FORMAT
    faults = [attempt.fault for attempt in episode.outcome.turns[-1].attempts]
    assert faults == [Fault.CONTEXT_OVERRUN] * 3
    assert 1 < len(answers(episode)) < 6
    assert len(episode.prompt_ids) + len(episode.completion_ids) <= room + 600
    assert episode.mask[-1] == 1


def test_a_prompt_that_never_fits_is_not_generated_for() -> None:
    cell = cell_with(build(spec_of("hardliner")), Role.SELLER)
    generate, sampled, _ = player(0)
    (episode,) = roll_out([cell], chat(), recipe_of(context_tokens=300), generate)
    assert episode.reward == 0.0
    assert sampled == []
    assert not any(episode.mask)


def test_a_buyer_may_end_it_before_the_sellers_first_turn() -> None:
    cell = cell_with(build(spec_of("walk_away")), Role.BUYER)
    generate, sampled, sizes = player(0)
    (episode,) = roll_out([cell], chat(), recipe_of(), generate)
    assert episode.outcome is not None
    assert episode.outcome.ending is Ending.WALK_AWAY
    assert episode.reward == cell.scenario.seller.walk_away
    assert (sampled, sizes) == ([], [])
    assert episode.prompt_ids
    assert episode.completion_ids[-1] in chat().stops
    assert not any(episode.mask)


class Broken:
    """A buyer of some kind whose every reply raises."""

    deterministic = False

    def __init__(self, spec: AgentSpec, error: Exception) -> None:
        self.spec, self._error = spec, error

    def begin(self, role: Role, brief: Brief, rng: Random) -> "Broken":
        return self

    def reply(self, view: View) -> Reply:
        raise self._error


def test_a_void_match_has_no_reward_and_no_loss() -> None:
    buyer = Broken(AgentSpec(kind="model", model="test/down"), ProviderError("500"))
    sound = cell_with(build(spec_of("linear")), Role.SELLER)
    generate, _, _ = player(1)
    void, other = roll_out([cell_with(buyer, Role.SELLER), sound], chat(), recipe_of(), generate)
    assert void.outcome is not None
    assert (void.outcome.ending, void.reward) == (Ending.PROVIDER_ERROR, None)
    assert void.completion_ids
    assert not any(void.mask)
    assert any(other.mask)
    assert other.reward is not None


def test_a_bug_of_ours_stops_the_run() -> None:
    buyer = Broken(spec_of("linear"), ZeroDivisionError("oops"))
    generate, _, _ = player(1)
    with pytest.raises(RuntimeError, match=r"a bug of bargaining-arena .*oops"):
        roll_out([cell_with(buyer, Role.SELLER)], chat(), recipe_of(), generate)


def test_a_process_without_dialogues_goes_on_generating_for_none() -> None:
    generate, _, sizes = player(2)
    more = iter([True] * 40)
    roll_out(
        [cells_for(recipe_of()).at(0)], chat(), recipe_of(), generate, lambda live: next(more, False)
    )
    assert len(sizes) == 40
    assert sizes[0] == 1
    assert sizes[-1] == 0
