"""What a run does between its steps: keep a record, make agents of checkpoints, stop when asked to."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import nan
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from arena.store import Store, StoreError
from trainers.checkpoints import mark, prune
from trainers.telling import Stage, Tell

RENAMED = {"step_time": "seconds"}
DROPPED = ("epoch", "frac_reward_zero_std", "rewards/score/mean", "rewards/score/std")
"""What TRL logs twice, or what means nothing here."""
SHOWN = ("reward", "deal_rate", "fault_rate", "kl", "seconds")


class Recorder(TrainerCallback):
    """Stores the metrics of every step, in one process of a run.

    A record that cannot be written for a while costs nothing: what it lacks comes with a later step.
    """

    def __init__(self, run: str, store: Store, progress: Tell) -> None:
        self._run, self._store, self._progress = run, store, progress
        self._waiting: list[tuple[int, Mapping[str, float]]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        """Store what was logged of a step."""
        if "loss" not in logs:
            return  # the trainer's own summary at the end
        metrics = recorded(logs, state.log_history)
        self._waiting.append((state.global_step, metrics))
        shown = ", ".join(f"{name} {metrics.get(name, nan):.3g}" for name in SHOWN)
        self._progress(f"step {state.global_step} of {state.max_steps}: {shown}")
        try:
            self.flush()
        except StoreError as error:
            self._progress(f"the record cannot be written now, and is tried again: {error}")

    def flush(self) -> None:
        """Write what waits. Raises StoreError."""
        self._store.add_training_steps(self._run, self._waiting)
        self._waiting.clear()


def recorded(logs: Mapping[str, Any], history: list[Mapping[str, Any]]) -> dict[str, float]:
    """Return a step's metrics as they are stored: one that has no value is NaN.

    ``num_tokens`` counts all tokens of the dialogues since the run began; TRL's leaves out the buyers'.
    """
    found = {
        RENAMED.get(name, name): nan if value is None else float(value)
        for name, value in logs.items()
        if name not in DROPPED
    }
    return found | {"num_tokens": sum(entry.get("dialogue_tokens") or 0.0 for entry in history)}


class Steps(TrainerCallback):
    """Tells how many steps of a training are done."""

    def __init__(self, what: str, stage: Stage) -> None:
        self._what, self._stage = what, stage

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell where it begins."""
        self._stage(self._what, state.global_step, state.max_steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell of a step."""
        self._stage(self._what, state.global_step, state.max_steps)


class Saver(TrainerCallback):
    """Marks a checkpoint as complete once every process has written its part, and has it registered."""

    def __init__(self, folder: Path, register: Callable[[], object], progress: Tell) -> None:
        self._folder, self._register, self._progress = folder, register, progress

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take up what was just saved."""
        from accelerate import PartialState

        processes = PartialState()
        processes.wait_for_everyone()
        if processes.is_main_process:
            mark(self._folder / f"checkpoint-{state.global_step}")
            try:
                self._register()
            except StoreError as error:
                self._progress(
                    f"the checkpoint is registered later, the record is out of reach: {error}"
                )
            prune(self._folder)
        processes.wait_for_everyone()


class Interruption(TrainerCallback):
    """Saves and ends a run at the end of a step, after Ctrl-C or SIGTERM in any of its processes."""

    def __init__(self, progress: Tell) -> None:
        self._progress = progress
        self.asked = False

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop here where that was asked for."""
        from accelerate.utils import gather_object

        self.asked = any(gather_object([self.asked]))
        if self.asked:
            control.should_save = control.should_training_stop = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take signals as a wish to stop for a while; the second one ends the run at once, by a
        KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def heard(number: int, frame: Any) -> None:
            self.asked = True
            for either in before:
                signal.signal(either, signal.default_int_handler)
            with suppress(RuntimeError):  # the signal may have come in the middle of a line
                self._progress("stopping after this step, which is saved; once more to stop at once")

        try:
            for number in before:
                signal.signal(number, heard)
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
