"""One training run, from its first step or from where it was: what it keeps, and how it ends.

A run goes on from its newest whole checkpoint with the *base* as its model, so that the KL penalty keeps
its anchor; cells come in the order of their numbers, and random states are restored. On a CPU the steps
are then the very same; on a GPU kernels that add in another order make them equal up to rounding only.
"""

import errno
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from arena.errors import UserError
from arena.run_lock import locked
from arena.store import RunStatus, Store, StoreError
from trainers.bases import Base, described, located
from trainers.cells import Cells
from trainers.checkpoints import Checkpoint, clear, last_step, newest, saved
from trainers.grpo import Machine, settings, trainer_of
from trainers.prepare import Prepared
from trainers.ranks import leads
from trainers.registration import base_agent, checkpoint_agent, register
from trainers.run_folder import RECIPE, begin, check, check_name, keep, kept_base, resume_command
from trainers.telling import Stage, Tell, silent

BASES = "bases"
"""Beside the folders of runs."""


@dataclass(frozen=True)
class Finished:
    """How a run ended."""

    status: RunStatus
    why: str
    """Why it ended early; empty where there is nothing to say."""
    advice: str
    """How it stands and how to go on; empty for a run that is done."""
    step: int
    """The last one that was saved."""
    checkpoints: list[str]
    """The names of the run's agents, in order of steps."""
    base: str
    """The name of the base's agent."""
    final: bool = True
    """Whether its checkpoints may now be chosen from and judged: not where it was interrupted, in its
    last step or before, nor where it stopped since no match was finished."""


class _End(NamedTuple):
    """How a run's steps ended, in the words of :class:`Finished`."""

    status: RunStatus
    why: str = ""
    advice: str = ""
    final: bool = True


def train(run: "Run", *, resume: bool, command: Mapping[str, Any] | None = None) -> Finished:
    """Train from the first step, or with `resume` from where the run was.

    All processes of a run call this; the first alone writes to the run's folder and store and tells of
    it. `command`: JSON-ready options that are kept in the folder, for :func:`run_folder.kept_command`.
    Raises UserError, with what to do, where the run cannot begin or go on, or the disk is full; an error
    of any other kind is passed on. What fails on the way is recorded as failed, KeyboardInterrupt as an
    interruption.
    """
    if not leads():
        with _explained(run):
            return replace(run, progress=silent, stage=silent).trained()
    recipe, folder, store = run.prepared.recipe, run.folder, run.store
    check_name(run.name)
    check(recipe, folder, store, resume=resume)
    with locked(folder, store.address):
        if resume and _done(run):
            with _explained(run):
                return run.trained()  # its record stands, whatever comes of it
        store.add_training_run(run.name, recipe.content())
        try:
            with _explained(run):
                if not resume:
                    begin(run.prepared, folder, command or {})
                finished = run.trained()
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            status = RunStatus.INTERRUPTED if interrupted else RunStatus.FAILED
            with suppress(StoreError):  # the record may be on the same full disk
                store.end_training_run(run.name, status, _words(error))
            raise
        store.end_training_run(run.name, finished.status, finished.why)
    return finished


@dataclass(frozen=True)
class Run:
    """One training run: what it trains, where, and who is told."""

    prepared: Prepared
    machine: Machine
    out: Path
    """Where runs lie, a folder each, and the bases that are made for them."""
    name: str
    store: Store
    progress: Tell = silent
    stage: Stage = silent

    @property
    def folder(self) -> Path:
        """The run's own."""
        return self.out / self.name

    def trained(self) -> Finished:
        """Train to the end, or to where it stops; :func:`train` keeps the record of it."""
        from accelerate import PartialState

        from trainers.loading import check_context, load

        if leads() and (broken := clear(self.folder, self._registered())):
            self.progress(f"deleting what was left half-written: step {', '.join(map(str, broken))}")
        PartialState(cpu=self.machine.cpu).wait_for_everyone()
        start = newest(self.folder)
        recipe = self.prepared.recipe
        args = settings(recipe, self.machine, self.folder)  # before the model is loaded
        before = kept_base(self.folder)
        if before is not None and Path(before.weights).is_dir():
            model = before.weights
        else:
            model = located(self.prepared, self.out / BASES, self.progress, self.stage)
        loaded, tokenizer = load(model)
        check_context(loaded, recipe.context_tokens)
        base = described(model, self.prepared.size)
        if leads():
            keep(base, self.folder)
        self._register(base)
        end = _End(RunStatus.DONE)
        if start is None or start.step < recipe.steps:
            end = self._steps(args, loaded, tokenizer, base, start)
        anchor = self._register(base)
        names = [f"{self.name}-{one.step}" for one in saved(self.folder)]
        step = last_step(self.folder)
        return Finished(end.status, end.why, end.advice, step, names, anchor, end.final)

    def _steps(
        self, args: Any, model: Any, tokenizer: Any, base: Base, start: Checkpoint | None
    ) -> _End:
        """Train from `start` on, from the first step where there is none."""
        from transformers import PrinterCallback

        from trainers.callbacks import Interruption, Recorder, Saver, Steps
        from trainers.collapse import CollapseStop

        collapse, interruption = CollapseStop(self.progress), Interruption(self.progress)
        recorder = Recorder(self.name, self.store, self.progress)
        saver = Saver(self.folder, lambda: self._register(base), self.progress)
        steps = Steps("training", self.stage)
        callbacks = [*([recorder] if leads() else []), collapse, interruption, saver, steps]
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
        if leads():
            recorder.flush()
        if collapse.unplayed:
            again = resume_command(self.folder)
            advice = f"{_stands(self.folder)}. Once its buyers answer again, to go on: {again}"
            return _End(RunStatus.STOPPED, collapse.reason or "", advice, final=False)
        if collapse.reason:
            advice = f"{_stands(self.folder)}. Begin another run, such as one with a lower --lr"
            if interruption.asked:
                advice += f"; to choose from this one: {resume_command(self.folder)}"
            return _End(RunStatus.STOPPED, collapse.reason, advice, final=not interruption.asked)
        whole = trainer.state.global_step == recipe.steps
        status = RunStatus.DONE if whole else RunStatus.INTERRUPTED
        if interruption.asked or not whole:
            return _End(status, advice=_to_go_on(self.folder), final=False)
        return _End(status)

    def _registered(self) -> set[str]:
        return {agent.name for agent in self.store.registrations() if agent.withdrawn_at is None}

    def _register(self, base: Base) -> str:
        """Make agents of the base and of all checkpoints that are none yet; return the base's name."""
        known = self.store.registrations()
        recipe = self.prepared.recipe
        anchor = base_agent(base, recipe, known)
        found = [
            checkpoint_agent(self.name, recipe, base, anchor.name, one, known)
            for one in saved(self.folder)
        ]
        if leads():
            for name in register([anchor, *found], self.store):
                self.progress(f"registered {name}")
        return anchor.name


def _done(run: Run) -> bool:
    """Return whether a run has taken all its steps, by its folder and by the record."""
    recorded = {known.name: known.status for known in run.store.training_runs()}
    whole = last_step(run.folder) == run.prepared.recipe.steps
    return whole and recorded.get(run.name) is RunStatus.DONE


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


@contextmanager
def _explained(run: Run) -> Iterator[None]:
    """Clear what an error leaves half-written; say what to do where the disk is full."""
    try:
        yield
    except BaseException as error:
        half = _half(run) if leads() else []
        if not _unwritable(error, half):
            raise
        raise UserError(f"{_no_room(run.folder, half, error)}. {_to_go_on(run.folder)}") from error


def _half(run: Run) -> list[int]:
    """Delete what is half-written, and return the steps; nothing where one of them was whole once, or
    the record cannot be read."""
    try:
        return clear(run.folder, run._registered())
    except (UserError, StoreError):
        return []


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
    begun = (folder / RECIPE).exists()
    return f"{_stands(folder)}; to go on: {resume_command(folder) if begun else 'begin it again'}"
