"""The tables of training runs, made by migrations as those of `arena.store.models` are."""

from sqlalchemy import Column, ForeignKey, String, Text
from sqlmodel import Field, SQLModel

from arena.store.models import table_of, text_column


class TrainingRunRow(SQLModel, table=True):
    """A training run: its recipe, how it ended, and why."""

    __tablename__ = "training_runs"

    name: str = Field(primary_key=True, max_length=100)
    recipe: str = Field(sa_column=text_column())
    started_at: str = Field(max_length=32)
    ended_at: str | None = Field(default=None, max_length=32)
    status: str = Field(max_length=32)
    why: str | None = Field(default=None, sa_column=Column(Text))


class TrainingStepRow(SQLModel, table=True):
    """The metrics of one step of a training run, as a JSON object of numbers."""

    __tablename__ = "training_steps"

    run: str = Field(
        sa_column=Column(String(100), ForeignKey("training_runs.name"), primary_key=True, nullable=False)
    )
    step: int = Field(primary_key=True)
    metrics: str = Field(sa_column=text_column())


TRAINING_RUNS = table_of(TrainingRunRow)
TRAINING_STEPS = table_of(TrainingStepRow)
