"""Training runs as they are recorded while they run: a recipe, and the metrics of every step."""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa

from arena.record import utc_now
from arena.store.database import StoreError, bytewise, upsert
from arena.store.opened import Opened
from arena.store.training_tables import TRAINING_RUNS, TRAINING_STEPS
from scenarios.canonical import canonical


class RunStatus(StrEnum):
    """How a training run stands."""

    RUNNING = "running"
    """It has not ended, or was killed before it could say so."""
    DONE = "done"
    """It took all its steps."""
    STOPPED = "stopped"
    """It ended itself: its policy collapsed, its numbers were no longer finite, or no match was
    finished; `why` says which."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or SIGTERM ended it."""
    FAILED = "failed"
    """An error ended it."""


class TrainingRun(NamedTuple):
    """A training run; times are ISO 8601 in UTC."""

    name: str
    recipe: dict[str, Any]
    started_at: str
    ended_at: str | None
    """None while it runs."""
    status: RunStatus
    why: str | None
    """Why it ended so, where there is something to say."""


class TrainingLog(Opened):
    """The part of a store that holds training runs. No run and no step is ever taken away."""

    def add_training_run(self, name: str, recipe: Mapping[str, Any]) -> None:
        """Note that a run begins, or goes on after it was stopped: with the same recipe (JSON-ready), it
        keeps its steps and its start. Raises StoreError where another recipe has the name."""
        content = canonical(dict(recipe))
        row = {"name": name, "recipe": content, "started_at": utc_now(), "status": RunStatus.RUNNING}
        with self._writing() as connection:
            query = sa.select(TRAINING_RUNS.c.recipe).where(TRAINING_RUNS.c.name == name)
            known = connection.execute(query).scalar()
            if known is None:
                connection.execute(sa.insert(TRAINING_RUNS).values(row))
            elif known == content:
                connection.execute(_run(name).values(ended_at=None, status=RunStatus.RUNNING, why=None))
            else:
                raise StoreError(
                    f"{self.address} holds a training run {name!r} with another recipe: choose another "
                    "name"
                )

    def end_training_run(self, name: str, status: RunStatus, why: str = "") -> None:
        """Note that a run has ended, how, and why. Raises StoreError for an unknown run."""
        with self._writing() as connection:
            ended = _run(name).values(ended_at=utc_now(), status=status, why=why or None)
            if not connection.execute(ended).rowcount:
                raise self._unknown(name)

    def add_training_steps(self, name: str, steps: Sequence[tuple[int, Mapping[str, float]]]) -> None:
        """Keep the metrics of steps. A step that is there already is replaced: a run that goes on from a
        checkpoint repeats those after it. NaN and infinities are kept. Raises StoreError for an unknown
        run."""
        rows = [
            {"run": name, "step": step, "metrics": json.dumps(dict(metrics))} for step, metrics in steps
        ]
        with self._writing() as connection:
            query = sa.select(TRAINING_RUNS.c.name).where(TRAINING_RUNS.c.name == name)
            if connection.execute(query).scalar() is None:
                raise self._unknown(name)
            upsert(connection, TRAINING_STEPS, rows, ("run", "step"))

    def training_runs(self) -> list[TrainingRun]:
        """Return every run, the oldest first."""
        columns = [TRAINING_RUNS.c[field] for field in TrainingRun._fields]
        query = sa.select(*columns).order_by(TRAINING_RUNS.c.started_at, bytewise(TRAINING_RUNS.c.name))
        with self._reading() as connection:
            rows: Iterable[Any] = connection.execute(query)
            return [
                TrainingRun(name, json.loads(recipe), started_at, ended_at, RunStatus(status), why)
                for name, recipe, started_at, ended_at, status, why in rows
            ]

    def training_steps(self, name: str) -> list[tuple[int, dict[str, float]]]:
        """Return a run's steps in order, each with its metrics; empty for an unknown run."""
        columns = (TRAINING_STEPS.c.step, TRAINING_STEPS.c.metrics)
        query = sa.select(*columns).where(TRAINING_STEPS.c.run == name).order_by(TRAINING_STEPS.c.step)
        with self._reading() as connection:
            rows: Iterable[Any] = connection.execute(query)
            return [(step, json.loads(metrics)) for step, metrics in rows]

    def _unknown(self, name: str) -> StoreError:
        return StoreError(f"{self.address} holds no training run {name!r}")


def _run(name: str) -> sa.Update:
    return sa.update(TRAINING_RUNS).where(TRAINING_RUNS.c.name == name)
