"""The third driver of :func:`arena.play.play`: many matches of one learner, turn by turn together.

For training: the learner's side of all matches is answered in one call, so that a model generates in
batches. The other sides answer concurrently in between.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from agents.agent import Agent, Negotiator, Reply, View
from agents.occasion import OCCASION, Occasion
from arena.drivers import MODEL_TIMEOUT_S, ask, turn_limit
from arena.play import Failure, Game, Outcome
from arena.replies import TurnOverrun, failure
from scenarios.scenario import Role

Answer = Callable[[Mapping[int, View]], Mapping[int, Reply | Failure]]
"""From the views of the matches in which it is the learner's turn, by place, to its replies."""


@dataclass
class Seat:
    """One match: its game, and who plays the side that does not learn."""

    game: Game
    other: Agent
    rng: Random
    outcome: Outcome | None = field(default=None, init=False)
    minds: dict[Role, Negotiator] = field(default_factory=dict, init=False)
    turn: tuple[Role, View] | None = field(default=None, init=False)

    def start(self) -> None:
        """Run the game up to its first turn."""
        self.turn = next(self.game)

    def send(self, reply: Reply | Failure) -> None:
        """Hand the game a reply; afterwards either a turn is due or there is an outcome."""
        try:
            self.turn = self.game.send(reply)
        except StopIteration as stop:
            self.turn, self.outcome = None, stop.value


async def run_lockstep(
    seats: Sequence[Seat],
    learner: Role,
    answer: Answer,
    turn_timeout: float | None = None,
    in_step: Callable[[bool], bool] = lambda live: live,
    model_timeout: float = MODEL_TIMEOUT_S,
) -> list[Outcome]:
    """Play all seats to their ends and return their outcomes in order.

    `answer` is called once a round with every view that waits for the learner; views that ask again
    for a faulty answer are among them. Other sides that take longer than `turn_timeout` seconds a turn,
    or `model_timeout` where they are language models, fail as in :func:`arena.drivers.run_async`.
    `in_step` is asked before each call of `answer` whether any process still has live matches: one whose
    own are over keeps calling `answer`, with no views, as long as it says so.
    """
    for seat in seats:
        seat.start()
    while True:
        await _others(seats, learner, turn_timeout, model_timeout)
        waiting = {place: seat.turn[1] for place, seat in enumerate(seats) if seat.turn is not None}
        if not in_step(bool(waiting)):
            break
        for place, reply in answer(waiting).items():
            seats[place].send(reply)
    outcomes = [seat.outcome for seat in seats if seat.outcome is not None]
    assert len(outcomes) == len(seats), "in_step ended the rollouts while matches were live"
    return outcomes


async def _others(
    seats: Sequence[Seat], learner: Role, turn_timeout: float | None, model_timeout: float
) -> None:
    """Let the other sides move until every live match waits for the learner."""
    while due := [seat for seat in seats if seat.turn is not None and seat.turn[0] is not learner]:
        replies = await asyncio.gather(*(_reply(seat, turn_timeout, model_timeout) for seat in due))
        for seat, reply in zip(due, replies, strict=True):
            seat.send(reply)


async def _reply(seat: Seat, turn_timeout: float | None, model_timeout: float) -> Reply | Failure:
    """Return the other side's reply. Runs in a task of its own."""
    assert seat.turn is not None
    OCCASION.set(Occasion(match="", replicate=0, limit_s=model_timeout))
    limit = turn_limit(seat.other, turn_timeout, model_timeout)
    asked = ask(seat.other, seat.minds, seat.turn[1], seat.rng)
    if limit is None:
        return await asked
    try:
        return await asyncio.wait_for(asked, limit)
    except TimeoutError:
        return failure(seat.other, TurnOverrun(limit))
