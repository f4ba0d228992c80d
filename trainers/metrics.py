"""What is logged of every step's dialogues, beside what TRL logs of its optimisation."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from agents.agent import ActionKind
from arena.measures import first_words, leaks
from arena.play import Outcome, Turn
from arena.protocol import Ending
from scenarios.scenario import Role
from trainers.rollout import Episode
from trainers.work import read_tokens


class Logged(NamedTuple):
    """What is logged of one dialogue. Unlike an episode it travels between processes."""

    buyer: str
    outcome: Outcome
    seller_tokens: int
    dialogue_tokens: int
    read_tokens: float
    """As :func:`trainers.work.read_tokens` counts them."""

    @property
    def score(self) -> float | None:
        """The seller's; None where the match was void."""
        return self.outcome.seller_score


def logged(episode: Episode, *, reference: bool, vllm: bool) -> Logged:
    """Return what is logged of a finished episode; `reference`: there is one, `vllm`: it sampled."""
    assert episode.outcome is not None
    tokens = len(episode.prompt_ids) + len(episode.completion_ids)
    read = read_tokens(tokens, episode.read_anew, reference=reference, vllm=vllm)
    return Logged(episode.cell.buyer_name, episode.outcome, sum(episode.mask), tokens, read)


def step_metrics(step: Sequence[Logged], group_size: int) -> dict[str, float]:
    """Return a step's metrics, of all its dialogues in order, those of other processes included.

    Rates are shares in [0, 1]; void matches count in `void_rate` only.
    `zero_variance_share`: groups all of whose scores are equal, which teach nothing. `fault_rate`: the
    seller's turns with a faulty attempt. `leak_rate` and `opener_concentration`: as on the board, over
    the seller's messages. `turns`: of the seller. `buyer/NAME`: its share of the dialogues.
    """
    scores = [one.score for one in step if one.score is not None]
    outcomes = [one.outcome for one in step if one.score is not None]
    own = [turn for outcome in outcomes for turn in outcome.turns if turn.role is Role.SELLER]
    messages = [turn.message for turn in own if turn.message]
    endings = Counter(outcome.ending for outcome in outcomes)
    found = {
        "score": _mean(scores),
        "deal_rate": _share(endings[Ending.AGREEMENT], len(outcomes)),
        "walk_away_rate": _share(endings[Ending.WALK_AWAY], len(outcomes)),
        "forfeit_rate": _share(
            sum(o.ending.forfeit and o.at_fault is Role.SELLER for o in outcomes), len(outcomes)
        ),
        "void_rate": _share(len(step) - len(scores), len(step)),
        "fault_rate": _share(sum(map(_faulty, own)), len(own)),
        "accept_rate": _share(sum(turn.kind is ActionKind.ACCEPT for turn in own), len(own)),
        "leak_rate": _share(sum(map(leaks, messages)), len(messages)),
        "opener_concentration": _concentration(messages),
        "zero_variance_share": _zero_variance(step, group_size),
        "turns": _share(len(own), len(outcomes)),
        "seller_tokens": float(sum(one.seller_tokens for one in step)),
        "dialogue_tokens": float(sum(one.dialogue_tokens for one in step)),
        "read_tokens": float(sum(one.read_tokens for one in step)),
    }
    return found | buyer_mix(step)


def buyer_mix(step: Sequence[Logged]) -> dict[str, float]:
    """Return the share of dialogues that each buyer of the pool took part in."""
    count = Counter(one.buyer for one in step)
    return {f"buyer/{name}": _share(times, len(step)) for name, times in sorted(count.items())}


def _faulty(turn: Turn) -> bool:
    return any(attempt.fault is not None for attempt in turn.attempts)


def _concentration(messages: Sequence[str]) -> float:
    count = Counter(map(first_words, messages))
    return _share(max(count.values(), default=0), len(messages))


def _zero_variance(step: Sequence[Logged], group_size: int) -> float:
    groups = [step[i : i + group_size] for i in range(0, len(step), group_size)]
    flat = [len({one.score for one in group if one.score is not None}) < 2 for group in groups]
    return _share(sum(flat), len(flat))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _share(part: float, whole: int) -> float:
    return part / whole if whole else float("nan")
