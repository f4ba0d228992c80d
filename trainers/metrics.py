"""What is logged of every step's dialogues, beside what TRL logs of its optimisation."""

from collections import Counter
from collections.abc import Sequence

from agents.agent import ActionKind
from arena.measures import first_words, leaks
from arena.play import Turn
from arena.protocol import Ending
from scenarios.scenario import Role
from trainers.rollout import Episode, buyer_mix


def step_metrics(episodes: Sequence[Episode], group_size: int) -> dict[str, float]:
    """Return a step's metrics. Rates are shares in [0, 1]; void matches count in `void_rate` only.

    `zero_variance_share`: groups all of whose scores are equal, which teach nothing. `fault_rate`: the
    seller's turns with a faulty attempt. `leak_rate` and `opener_concentration`: as on the board, over
    the seller's messages. `turns`: of the seller. `buyer/NAME`: its share of the dialogues.
    """
    scored = [episode for episode in episodes if episode.reward is not None]
    outcomes = [episode.outcome for episode in scored if episode.outcome is not None]
    own = [turn for outcome in outcomes for turn in outcome.turns if turn.role is Role.SELLER]
    messages = [turn.message for turn in own if turn.message]
    rewards = [episode.reward for episode in scored if episode.reward is not None]
    endings = Counter(outcome.ending for outcome in outcomes)
    found = {
        "score": _mean(rewards),
        "deal_rate": _share(endings[Ending.AGREEMENT], len(outcomes)),
        "walk_away_rate": _share(endings[Ending.WALK_AWAY], len(outcomes)),
        "forfeit_rate": _share(
            sum(o.ending.forfeit and o.at_fault is Role.SELLER for o in outcomes), len(outcomes)
        ),
        "void_rate": _share(len(episodes) - len(scored), len(episodes)),
        "fault_rate": _share(sum(map(_faulty, own)), len(own)),
        "accept_rate": _share(sum(turn.kind is ActionKind.ACCEPT for turn in own), len(own)),
        "leak_rate": _share(sum(map(leaks, messages)), len(messages)),
        "opener_concentration": _concentration(messages),
        "zero_variance_share": _zero_variance(episodes, group_size),
        "turns": _share(len(own), len(outcomes)),
        "seller_tokens": float(sum(sum(episode.mask) for episode in episodes)),
        "dialogue_tokens": float(sum(map(_tokens, episodes))),
    }
    return found | {f"buyer/{name}": share for name, share in buyer_mix(episodes).items()}


def _tokens(episode: Episode) -> int:
    return len(episode.prompt_ids) + len(episode.completion_ids)


def _faulty(turn: Turn) -> bool:
    return any(attempt.fault is not None for attempt in turn.attempts)


def _concentration(messages: Sequence[str]) -> float:
    count = Counter(map(first_words, messages))
    return _share(max(count.values(), default=0), len(messages))


def _zero_variance(episodes: Sequence[Episode], group_size: int) -> float:
    groups = [episodes[i : i + group_size] for i in range(0, len(episodes), group_size)]
    flat = [len({e.reward for e in group if e.reward is not None}) < 2 for group in groups]
    return _share(sum(flat), len(flat))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _share(part: float, whole: int) -> float:
    return part / whole if whole else float("nan")
