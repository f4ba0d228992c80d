"""When to stop a run that no longer learns: its policy has collapsed, or nothing it plays is finished.

The limits are this project's choice. A run that is stopped for its policy is saved first, so that it can
be looked at; one whose loss or gradient is no longer finite is not, since its weights are spoilt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from transformers import TrainerCallback

from trainers.rollout import Episode
from trainers.telling import Tell, silent

Metrics = Mapping[str, float | None]
"""Of one step, as TRL logs them; None or NaN: the step had no such value."""


@dataclass(frozen=True)
class Limits:
    """What is taken for a collapse."""

    steps: int = 5
    """So many steps in a row."""
    zero_variance_share: float = 1.0
    """Share of groups in which every dialogue scores the same, from which on nothing is learned."""
    fault_rate: float = 0.25
    """Share of the seller's turns with a faulty attempt above which it has lost the protocol. Counts
    only after a step at or below it: a base that never spoke the protocol has not lost it. A tiny
    seller whose score had fallen to a fourth made faults in 30 to 80% of its turns, healthy ones in 2 to
    13%."""


LIMITS = Limits()


def verdict(history: Sequence[Metrics], limits: Limits = LIMITS) -> str | None:
    """Return why a run with these steps behind it, oldest first, should stop; None: it should not."""
    recent = history[-limits.steps :]
    if len(recent) < limits.steps:
        return None
    row = f"{limits.steps} steps in a row"
    if unplayed(history, limits):
        return f"no match was finished in {row}"
    if all(_value(step, "zero_variance_share") >= limits.zero_variance_share for step in recent):
        return f"all dialogues of every group scored the same in {row}, which teaches nothing"
    earlier = history[: -limits.steps]
    spoke = any(0 <= _value(step, "fault_rate") <= limits.fault_rate for step in earlier)
    if spoke and all(_value(step, "fault_rate") > limits.fault_rate for step in recent):
        return f"more than {limits.fault_rate:.0%} of the seller's turns were faulty in {row}"
    return None


def unplayed(history: Sequence[Metrics], limits: Limits = LIMITS) -> bool:
    """Return whether no match was finished in the last steps, which says nothing of the policy."""
    recent = history[-limits.steps :]
    return len(recent) == limits.steps and all(_value(step, "void_rate") >= 1 for step in recent)


def spoilt(step: Metrics) -> str | None:
    """Return what of a step's loss, gradient or KL is not a finite number, in words; None: all are."""
    named = {"loss": "the loss", "grad_norm": "the gradient", "kl": "the KL divergence from the base"}
    broken = [words for name, words in named.items() if not isfinite(step.get(name) or 0.0)]
    return f"{' and '.join(broken)} is no longer a finite number" if broken else None


def _value(step: Metrics, name: str) -> float:
    """Return a metric, or -1 where the step has none."""
    value = step.get(name)
    return value if value is not None and isfinite(value) else -1.0


class CollapseStop(TrainerCallback):
    """Ends a run where :func:`verdict` or :func:`spoilt` says so, by what TRL logged of every step.

    The trainer keeps those logs with its checkpoints, so that a run that is resumed stops where it would
    have stopped. All processes read the same numbers, and so decide alike.
    """

    def __init__(self, tell: Tell = silent, limits: Limits = LIMITS) -> None:
        """`tell` is told of steps in which every match was void."""
        self._tell, self._limits = tell, limits
        self._detail = ""
        self.reason: str | None = None
        """Why the run was stopped; None: it was not."""
        self.spoilt = False
        """Whether the weights in memory must not be saved: the last checkpoint stands."""
        self.unplayed = False
        """Whether it was stopped because nothing it played was finished: it may be gone on with."""

    def watch(self, episodes: Sequence[Episode]) -> None:
        """Note why matches were void; for :attr:`trainers.grpo.Rollouts.watch`."""
        outcomes = [episode.outcome for episode in episodes if episode.outcome is not None]
        voids = [outcome.detail for outcome in outcomes if outcome.ending.void]
        self._detail = f" ({voids[0]})" if voids else ""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Judge the run by the step that was just logged."""
        if "loss" not in logs or self.reason is not None:
            return  # the trainer's own summary at the end
        if _value(logs, "void_rate") >= 1:
            self._tell(
                f"step {state.global_step}: every match was void{self._detail}, so nothing was learned"
            )
        history = [step for step in state.log_history if "loss" in step]
        broken = spoilt(logs)
        self.reason = broken or verdict(history, self._limits)
        if self.reason is None:
            return
        self.spoilt = broken is not None
        self.unplayed = not self.spoilt and unplayed(history, self._limits)
        if not self.spoilt and _value(logs, "void_rate") >= 1:
            self.reason += self._detail
        control.should_save = not self.spoilt
        control.should_training_stop = True
