"""Rollouts: all dialogues of a step advance turn by turn together, and the arena's own rules judge them.

The learner sells. Its ids are kept as they were sampled; what the other side and the rules say is
spliced in between and carries no loss.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.agent import Reply, View
from agents.local.dialogue import Dialogue, Ids, overrun
from agents.local.tokens import ChatTokens
from arena.lockstep import Seat, run_lockstep
from arena.play import Failure, Outcome
from arena.protocol import Ending
from scenarios.scenario import Role
from trainers.cells import TrainingCell
from trainers.recipe import Recipe

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
    read_anew: int = 0
    """Ids that all turns process together where nothing is kept between them."""

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
        room = recipe.context_tokens - recipe.answer_tokens
        self._episodes, self._generate = episodes, generate
        self._dialogues = [
            Dialogue(episode.cell.told[Role.SELLER], recipe.prompt_version, chat, room)
            for episode in episodes
        ]

    def answer(self, views: Mapping[int, View]) -> dict[int, Reply | Failure]:
        """Return the replies to the waiting views: one batch of generation, even where it is empty.

        A dialogue that has no room left for another answer is not generated for any more: that is the
        seller's own overrun of its context, and what it would have been told is not in its ids.
        """
        waiting = [place for place, view in views.items() if self._told(place, view)]
        replies: dict[int, Reply | Failure] = {place: overrun() for place in views}
        sampled, logprobs = self._generate([self._dialogues[place].ids for place in waiting])
        for order, place in enumerate(waiting):
            ids = sampled[order]
            self._episodes[place].sampled(ids, logprobs[order] if logprobs is not None else None)
            replies[place] = self._dialogues[place].answered(ids)
            self._episodes[place].read_anew += len(self._dialogues[place].ids)
        return replies

    def _told(self, place: int, view: View) -> bool:
        """Tell a dialogue the view's turn; return whether an answer still fits."""
        new = self._dialogues[place].ask(view)
        if new is None:
            return False
        episode = self._episodes[place]
        if episode.prompt_ids:
            episode.spliced(new)
        else:
            episode.prompt_ids = new
        return True


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
