"""A finished match told once more by the rules, from its transcript: does the record follow from it?"""

from collections.abc import Mapping, Sequence

from agents.agent import Action, Brief, Reply, View
from arena.play import Failure, Outcome, Turn, play
from arena.protocol import ATTEMPTS, Ending, Rules, scores
from scenarios.scenario import Role, Scenario


def retold(
    scenario: Scenario,
    told: Mapping[Role, Brief],
    rules: Rules,
    opener: Role,
    turns: Sequence[Turn],
    ending: Ending,
    at_fault: Role | None = None,
) -> Outcome:
    """Return what the rules make of a transcript's turns, which `told` is :func:`arena.play.briefs` for.

    Where the last turn is one that failed, the rules cannot know why: `ending` says so. Nor can they
    know whose code ended its process, and took the turns with it: `at_fault` says so. Faulty attempts
    before an answer that counted are not judged again. Raises ValueError, with what is wrong, for turns
    that no match can consist of.
    """
    if not turns and ending is Ending.FORFEIT_CODE and at_fault is not None:
        return Outcome(ending, at_fault, None, *scores(scenario, ending, None, at_fault), turns=[])
    game = play(scenario, told, rules, opener)
    asked, view = next(game)
    for number, turn in enumerate(turns, 1):
        if turn.role is not asked:
            raise ValueError(f"turn {number} was not the {turn.role}'s to take")
        try:
            asked, view = game.send(_reply(turn, view, ending))
        except StopIteration as stop:
            if number < len(turns):
                raise ValueError(f"it goes on after turn {number}, which ended it") from None
            outcome: Outcome = stop.value
            return outcome
        if view.fault is not None:
            raise ValueError(f"turn {number} is against the rules: {view.fault}")
    raise ValueError(f"after turn {len(turns)} it is not over")


def _reply(turn: Turn, view: View, ending: Ending) -> Reply | Failure:
    if turn.kind is not None:
        return Reply(Action(turn.kind, turn.offer), turn.message, turn.reasoning)
    if not (ending.void or ending.forfeit):
        raise ValueError(f"a side failed at its turn {view.turn + 1}, and yet it ended by {ending}")
    faulty = sum(attempt.fault is not None for attempt in turn.attempts)
    if (faulty == ATTEMPTS) != (ending is Ending.FORFEIT_FORMAT):
        raise ValueError(f"it ended by {ending} after {faulty} faulty answers to one turn")
    return Failure(ending, "")
