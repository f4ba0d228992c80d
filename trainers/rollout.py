"""Rollouts: all dialogues of a step advance turn by turn together, and the arena's own rules judge them.

The learner sells. Its ids are kept as they were sampled; what the other side and the rules say is
spliced in between and carries no loss.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.agent import Reply, Usage, View
from agents.language_model.prompt import Conversation
from agents.local.tokens import ChatTokens
from arena.lockstep import Seat, run_lockstep
from arena.play import Failure, Outcome
from arena.protocol import Ending
from scenarios.scenario import Role
from trainers.cells import TrainingCell
from trainers.recipe import Recipe

Ids = list[int]
Generate = Callable[[Sequence[Ids]], tuple[list[Ids], list[list[float]] | None]]
"""From the ids of waiting dialogues to the ids that were sampled for each, the ending one included, and
the log-probabilities of those under the sampler, where it tells them."""


@dataclass
class Episode:
    """One dialogue as it is learned from: `mask` is 1 at ids that the seller sampled, else 0.

    Faulty attempts are the seller's own and are learned from like its other answers: they lead to a
    forfeit, or waste an attempt and the room for what comes after.
    """

    cell: TrainingCell
    prompt_ids: Ids = field(default_factory=list)
    completion_ids: Ids = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    outcome: Outcome | None = None

    @property
    def reward(self) -> float | None:
        """The seller's score by the protocol, in [0, 1]; None where the match was void."""
        return self.outcome.seller_score if self.outcome else None

    def sampled(self, ids: Sequence[int], logprobs: Sequence[float] | None) -> None:
        """Append what the seller sampled."""
        self._append(ids, 1, logprobs)

    def spliced(self, ids: Sequence[int]) -> None:
        """Append what was said to the seller."""
        self._append(ids, 0, None)

    def _append(self, ids: Sequence[int], mark: int, logprobs: Sequence[float] | None) -> None:
        self.completion_ids.extend(ids)
        self.mask.extend([mark] * len(ids))
        self.logprobs.extend(logprobs if logprobs is not None else [0.0] * len(ids))


class Learner:
    """The seller's side of many dialogues at once."""

    def __init__(
        self, episodes: Sequence[Episode], chat: ChatTokens, recipe: Recipe, generate: Generate
    ) -> None:
        self._episodes, self._chat, self._recipe, self._generate = episodes, chat, recipe, generate
        self._talks = [
            Conversation(episode.cell.told[Role.SELLER], recipe.prompt_version) for episode in episodes
        ]
        self._last: list[Ids] = [[] for _ in episodes]
        self._full: set[int] = set()

    def answer(self, views: Mapping[int, View]) -> dict[int, Reply | Failure]:
        """Return the replies to the waiting views: one batch of generation, even where it is empty.

        A dialogue that has no room left for another answer is not generated for any more: that is the
        seller's own overrun of its context, and what it would have been told is not in its ids.
        """
        replies: dict[int, Reply | Failure] = {}
        waiting: dict[int, Ids] = {}
        for place, view in views.items():
            if (ids := self._ids(place, view)) is None:
                replies[place] = Reply(text="", fault="context_overrun")
            else:
                waiting[place] = ids
        sampled, logprobs = self._generate(list(waiting.values()))
        for order, place in enumerate(waiting):
            ids = sampled[order]
            self._episodes[place].sampled(ids, logprobs[order] if logprobs is not None else None)
            self._last[place] = ids
            replies[place] = self._reply(place, ids, len(waiting[place]))
        return replies

    def _ids(self, place: int, view: View) -> Ids | None:
        """Return all ids of a dialogue up to its next answer, and keep those that are new; None where
        an answer does not fit any more."""
        messages = self._talks[place].ask(view)
        episode = self._episodes[place]
        if not episode.prompt_ids:
            episode.prompt_ids = self._chat.first(messages)
            new: Ids = []
        else:
            new = self._chat.then(self._last[place], messages[-1]["content"])
        ids = [*episode.prompt_ids, *episode.completion_ids, *new]
        if place in self._full or len(ids) > self._recipe.context_tokens - self._recipe.answer_tokens:
            self._full.add(place)
            return None
        episode.spliced(new)
        return ids

    def _reply(self, place: int, ids: Ids, asked: int) -> Reply:
        text = self._chat.text(ids)
        self._talks[place].answered(text)
        fault = None if self._chat.ended(ids) else "cut_off"
        return Reply(text=text, fault=fault, usage=Usage(asked, len(ids)))


def roll_out(
    cells: Sequence[TrainingCell],
    chat: ChatTokens,
    recipe: Recipe,
    generate: Generate,
    in_step: Callable[[bool], bool] = lambda live: live,
) -> list[Episode]:
    """Play one dialogue of each cell to its end; return them in order.

    Every episode's ids end with one that ends an answer, as TRL asks. `in_step`: see
    :func:`arena.lockstep.run_lockstep`. Raises RuntimeError where a match met a bug of the arena's.
    """
    episodes = [Episode(cell) for cell in cells]
    learner = Learner(episodes, chat, recipe, generate)
    seats = [Seat(cell.game(recipe), cell.buyer, cell.rng()) for cell in cells]
    outcomes = asyncio.run(
        run_lockstep(seats, Role.SELLER, learner.answer, recipe.turn_timeout, in_step)
    )
    for episode, outcome in zip(episodes, outcomes, strict=True):
        if outcome.ending is Ending.HARNESS_ERROR:
            raise RuntimeError(
                f"a bug of bargaining-arena against {episode.cell.buyer_name}: {outcome.detail}"
            )
        episode.outcome = outcome
        _finish(episode, chat)
    return episodes


def _finish(episode: Episode, chat: ChatTokens) -> None:
    """End the ids as TRL asks, and take a void dialogue out of the loss."""
    if not episode.prompt_ids:  # the buyer ended it before the seller's first turn
        episode.prompt_ids = [chat.close]
    if not chat.ended(episode.completion_ids):
        episode.spliced([chat.close])
    if episode.reward is None:
        episode.mask = [0] * len(episode.mask)
