"""The metrics of training steps: in which order they are shown, under which titles, and what they mean.

The names are those of :func:`trainers.metrics.step_metrics` and of TRL; any other metric is shown too,
after these, under its own name.
"""

from collections.abc import Iterable
from math import isfinite
from typing import NamedTuple

from leaderboard.wording import NONE

BUYER = "buyer/"
"""Metrics whose names start so are one buyer's share of the dialogues each, and shown together."""


class Metric(NamedTuple):
    """A metric as it is shown."""

    name: str
    title: str
    meaning: str
    share: bool = False
    """Whether it is a share in [0, 1]."""


def _metrics(*found: tuple[str, str, str] | tuple[str, str, str, bool]) -> tuple[Metric, ...]:
    return tuple(
        Metric(name, title, " ".join(said.split()), *more) for name, title, said, *more in found
    )


FIRST = _metrics(
    ("reward", "reward", "The seller's own utility, 0 to 1: its mean score over the step's dialogues."),
    ("deal_rate", "deal rate", "Dialogues that ended in an agreement.", True),
    (
        "kl",
        "KL to the base",
        """How far the seller's answers are from its base's, in nats a token. It grows as the seller
        learns; a sudden jump announces a collapse.""",
    ),
    (
        "entropy",
        "entropy",
        """How undecided the seller is about its next token, in nats. Near 0 it always says the same, and
        its groups have nothing left to compare.""",
    ),
    (
        "fault_rate",
        "faulty turns",
        "The seller's turns with an answer that could not be used.",
        True,
    ),
    (
        "zero_variance_share",
        "groups without signal",
        """Groups of dialogues that all scored the same, and so teach nothing. A run whose groups are all
        like that for long is stopped.""",
        True,
    ),
    (
        "leak_rate",
        "action leak",
        "The seller's messages that carry a fragment of the JSON action, as the guard counts them.",
        True,
    ),
    (
        "opener_concentration",
        "opener concentration",
        "The largest share of a step's messages of the seller that begin with the same two words.",
        True,
    ),
    ("completions/mean_length", "length", "Tokens that the seller wrote in a dialogue, on average."),
)
"""What a run is judged by: a screenful."""
REST = _metrics(
    ("score", "score", "The mean score as the rollout saw it; equals the reward."),
    ("reward_std", "spread of rewards", "The reward's standard deviation over the step's dialogues."),
    ("forfeit_rate", "forfeits", "Dialogues that the seller forfeited by faulty answers.", True),
    ("walk_away_rate", "walk-aways", "Dialogues that a side left.", True),
    ("accept_rate", "accepting turns", "The seller's turns that accept an offer.", True),
    ("void_rate", "void dialogues", "Ended by a buyer's failure: no reward, no gradient.", True),
    ("turns", "turns", "Turns of the seller in a dialogue, on average."),
    ("completions/max_length", "longest dialogue", "Tokens that the seller wrote in it."),
    ("completions/min_length", "shortest dialogue", "Tokens that the seller wrote in it."),
    ("completions/clipped_ratio", "cut dialogues", "Their ids do not end an answer.", True),
    ("loss", "loss", "Of policy and KL together. It hovers about 0, and its level says little."),
    ("policy_loss", "policy loss", "The loss without KL."),
    ("grad_norm", "gradient norm", "Before clipping."),
    ("learning_rate", "learning rate", "The optimiser's at this step."),
    (
        "clip_ratio/region_mean",
        "clipped tokens",
        "Their ratio of new to old probability was clipped; 0 where a batch makes one update.",
        True,
    ),
    ("clip_ratio/low_mean", "clipped below", "Tokens that became too unlikely.", True),
    ("clip_ratio/low_min", "clipped below, least", "The smallest over the processes.", True),
    ("clip_ratio/high_mean", "clipped above", "Tokens that became too likely.", True),
    ("clip_ratio/high_max", "clipped above, most", "The largest over the processes.", True),
    (
        "sampling/sampling_logp_difference/mean",
        "sampler's difference, mean",
        "Between vLLM's log-probabilities and the trainer's.",
    ),
    ("sampling/sampling_logp_difference/max", "sampler's difference, most", "Of any token."),
    ("sampling/importance_sampling_ratio/mean", "importance ratio, mean", "Trainer's over vLLM's."),
    ("sampling/importance_sampling_ratio/min", "importance ratio, least", "Trainer's over vLLM's."),
    ("sampling/importance_sampling_ratio/max", "importance ratio, most", "Trainer's over vLLM's."),
    ("frac_reward_zero_std", "groups without spread", "TRL's count of groups without signal.", True),
    ("rewards/score/mean", "reward, TRL's mean", "Equals the reward."),
    ("rewards/score/std", "reward, TRL's spread", "Within the step."),
    ("completions/mean_terminated_length", "length of ended dialogues", "On average."),
    ("completions/min_terminated_length", "shortest ended dialogue", "In tokens of the seller."),
    ("completions/max_terminated_length", "longest ended dialogue", "In tokens of the seller."),
    ("seller_tokens", "seller's tokens", "All that the seller wrote in the step."),
    ("dialogue_tokens", "tokens", "Of both sides and the prompts, in the step's dialogues."),
    (
        "read_tokens",
        "tokens only read",
        """Not learned from: sampled or prefilled, scored by the reference, and scored again where vLLM
        sampled them.""",
    ),
    ("num_tokens", "tokens so far", "Of both sides and the prompts, since the run began."),
    ("seconds", "seconds", "That the step took."),
    ("step_time", "step time", "Seconds, as TRL measures them."),
    ("epoch", "epoch", "Which part of the run's cells is played."),
)
_KNOWN = {metric.name: metric for metric in (*FIRST, *REST)}
_PLACE = {name: place for place, name in enumerate(_KNOWN)}


def described(name: str) -> Metric:
    """Return what is known of a metric; one that nothing is known of goes by its own name."""
    if name in _KNOWN:
        return _KNOWN[name]
    if name.startswith(BUYER):
        buyer = name.removeprefix(BUYER)
        return Metric(name, f"against {buyer}", "Its share of the dialogues.", share=True)
    return Metric(name, name.replace("_", " "), "")


def ordered(names: Iterable[str]) -> list[str]:
    """Return names of metrics in the order in which they are shown, unknown ones last by alphabet."""
    return sorted(set(names), key=lambda name: (_PLACE.get(name, len(_PLACE)), name))


def worded(name: str, value: float | None) -> str:
    """Return a metric's value in a few characters: shares in percent, others with three or four
    figures, a dash for None and for what is no finite number."""
    if value is None or not isfinite(value):
        return NONE
    if described(name).share:
        return f"{value:.1%}"
    if 0 < abs(value) < 0.001:
        return f"{value:.1e}"
    digits = 3 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"
