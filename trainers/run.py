"""One training run, from its first step or from where it was: what it keeps, and how it ends.

A run goes on from its newest whole checkpoint with the *base* as its model, so that the KL penalty keeps
its anchor; cells come in the order of their numbers, and random states are restored. On a CPU the steps
are then the very same; on a GPU kernels that add in another order make them equal up to rounding only.
"""

import errno
import os
import shutil
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.errors import UserError
from arena.store import Store, StoreError
from trainers.bases import Base, described, located
from trainers.cells import Cells
from trainers.checkpoints import clear, last_step, newest, saved
from trainers.grpo import Machine, settings, trainer_of
from trainers.prepare import Prepared
from trainers.registration import base_agent, checkpoint_agent, register
from trainers.run_folder import begin, keep, kept_base, locked, resume_command

if TYPE_CHECKING:
    from trainers.callbacks import Progress, Stage

BASES = "bases"
"""Beside the folders of runs."""
DONE, STOPPED, INTERRUPTED, FAILED = "done", "stopped", "interrupted", "failed"


@dataclass(frozen=True)
class Finished:
    """How a run ended."""

    status: str
    """One word, which the record keeps."""
    why: str
    """Why it ended early; empty where there is nothing to say."""
    next: str
    """How it stands and how to go on; empty for a run that is done."""
    step: int
    """The last one that was saved."""
    checkpoints: list[str]
    """The names of the run's agents, in order of steps."""
    base: str
    """The name of the base's agent."""


def train(
    prepared: Prepared,
    machine: Machine,
    folder: Path,
    store: Store,
    *,
    name: str,
    resume: bool,
    progress: "Progress",
    stage: "Stage" = lambda what, done, total: None,
) -> Finished:
    """Train `prepared` in `folder`, the run's own; bases that are made lie beside it.

    All processes of a run call this; the first alone writes to `folder` and `store` and tells
    `progress` and `stage`. Raises UserError, with what to do, where the run cannot begin or go on, or
    the disk is full; an error of any other kind is passed on. What fails on the way is recorded as
    failed.
    """
    leads = int(os.environ.get("RANK", "0")) == 0
    if leads:
        begin(prepared, folder, store, name, resume)
    if not leads:
        progress, stage = _silent, _silent
    run = _Run(prepared, machine, folder, store, name, progress, stage, leads)
    with locked(folder) if leads else nullcontext():
        try:
            finished = run.trained()
        except BaseException as error:
            half = clear(folder) if leads else []
            full = _unwritable(error, half)
            why = _no_room(folder, half, error) if full else _words(error)
            if leads:
                with suppress(StoreError):  # the record may be on the same full disk
                    interrupted = isinstance(error, KeyboardInterrupt)
                    store.end_training_run(name, INTERRUPTED if interrupted else FAILED, why)
            if full:
                raise UserError(f"{why}. {_to_go_on(folder)}") from error
            raise
        if leads:
            store.end_training_run(name, finished.status, finished.why)
    return finished


@dataclass(frozen=True)
class _Run:
    prepared: Prepared
    machine: Machine
    folder: Path
    store: Store
    name: str
    progress: "Progress"
    stage: "Stage"
    leads: bool

    def trained(self) -> Finished:
        """Train to the end, or to where it stops."""
        from accelerate import PartialState

        from trainers.loading import load

        if self.leads and (broken := clear(self.folder)):
            self.progress(f"passing over what was left half-written: step {', '.join(map(str, broken))}")
        PartialState(cpu=self.machine.cpu).wait_for_everyone()
        recipe = self.prepared.recipe
        args = settings(recipe, self.machine, self.folder)  # before the model is loaded
        before = kept_base(self.folder)
        if before is not None and Path(before.weights).is_dir():
            model = before.weights
        else:
            model = located(self.prepared, self.folder.parent / BASES, self.progress, self.stage)
        loaded, tokenizer = load(model, recipe.revision)
        base = described(model, recipe.revision, self.prepared.size)
        if self.leads:
            keep(base, self.folder)
        self._register(base)
        status, why, then = DONE, "", ""
        if last_step(self.folder) < recipe.steps:
            status, why, then = self._steps(args, loaded, tokenizer, base)
        anchor = self._register(base)
        found = saved(self.folder)
        names = [f"{self.name}-{one.step}" for one in found]
        return Finished(status, why, then, last_step(self.folder), names, anchor)

    def _steps(self, args: Any, model: Any, tokenizer: Any, base: Base) -> tuple[str, str, str]:
        """Train from the newest checkpoint on; return the status, why it is so, and how to go on."""
        from transformers import PrinterCallback

        from trainers.callbacks import Interruption, Recorder, Saver, Steps
        from trainers.collapse import CollapseStop

        start = newest(self.folder)
        collapse, interruption = CollapseStop(self.progress), Interruption(self.progress)
        recorder = Recorder(self.name, self.store, self.progress)
        saver = Saver(self.folder, lambda: self._register(base), self.progress)
        steps = Steps("training", self.stage)
        callbacks = [*([recorder] if self.leads else []), collapse, interruption, saver, steps]
        recipe = self.prepared.recipe
        cells = Cells(recipe, self.prepared.domains, self.prepared.pool)
        trainer, rollouts = trainer_of(recipe, args, cells, model, tokenizer, callbacks)
        trainer.remove_callback(PrinterCallback)
        rollouts.watch = collapse.watch
        _check_anchor(trainer)
        if start is not None:
            self.progress(f"going on from step {start.step} of {recipe.steps}")
        with interruption.listening():
            trainer.train(resume_from_checkpoint=str(start.folder) if start else None)
        if self.leads:
            recorder.flush()
        if collapse.reason:
            again = resume_command(self.folder)
            then = (
                f"{_stands(self.folder)}. Where its buyers failed, {again} goes on; where the policy "
                "collapsed, begin another run with a lower --lr"
            )
            return STOPPED, collapse.reason, then
        if trainer.state.global_step < recipe.steps:
            return INTERRUPTED, "", _to_go_on(self.folder)
        return DONE, "", ""

    def _register(self, base: Base) -> str:
        """Make agents of the base and of all checkpoints that are none yet; return the base's name."""
        known = self.store.registrations()
        recipe = self.prepared.recipe
        anchor = base_agent(base, recipe, known)
        found = [
            checkpoint_agent(self.name, recipe, base, anchor.name, one) for one in saved(self.folder)
        ]
        if self.leads:
            for name in register([anchor, *found], self.store):
                self.progress(f"registered {name}")
        return anchor.name


def _check_anchor(trainer: Any) -> None:
    """Check that the KL penalty is measured from the weights that the run starts from.

    TRL loads its reference a second time, by name. Weights that are spread over processes are not
    compared.
    """
    if trainer.ref_model is None or trainer.accelerator.num_processes > 1:
        return
    own, anchor = (
        trainer.accelerator.unwrap_model(model).state_dict()
        for model in (trainer.model, trainer.ref_model)
    )
    other = [key for key, tensor in own.items() if not anchor[key].equal(tensor.to(anchor[key]))]
    if other:
        raise UserError(
            f"the reference of the KL penalty is another model than the one trained: {other[0]} differs"
        )


def _unwritable(error: BaseException, half: list[int]) -> bool:
    """Return whether `error` says that something could not be saved.

    `half`: steps of checkpoints that were left half-written. safetensors and torch report a full disk by
    errors of their own; torch's name the source file of its writer.
    """
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    writing = isinstance(error, OSError) or type(error).__name__ == "SafetensorError"
    return bool(half) and (writing or "inline_container" in str(error))


def _no_room(folder: Path, half: list[int], error: BaseException) -> str:
    what = f"the checkpoint of step {half[-1]}" if half else "the run"
    free = shutil.disk_usage(folder).free / 2**30
    said = str(error).splitlines()[0]
    return f"{what} could not be saved ({said}); the disk of {folder} has {free:.1f} GiB left"


def _words(error: BaseException) -> str:
    """Return what is recorded of an error: its first line, and its kind where it was not foreseen."""
    said = (str(error).splitlines() or [""])[0]
    if isinstance(error, UserError | KeyboardInterrupt):
        return said
    return f"{type(error).__name__}: {said}".removesuffix(": ")


def _stands(folder: Path) -> str:
    last = last_step(folder)
    return f"It is saved up to step {last}" if last else "Nothing of it is saved yet"


def _to_go_on(folder: Path) -> str:
    return f"{_stands(folder)}; to go on: {resume_command(folder)}"


def _silent(*_: object) -> None:
    """Tell nobody."""
