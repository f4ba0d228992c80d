"""A recipe: all that decides what a training run does, and nothing else.

Its hash names the run's content: a run goes on only under the same recipe. Where the machine runs it
(devices, vLLM, logging) is not in it.
"""

from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from arena.protocol import MESSAGE_LIMIT, Rules
from scenarios.canonical import digest

STUDY = {"learning_rate": 1e-6, "steps": 104}
"""Reported by the study for its shared rate (arXiv 2610.06204), which also has GRPO on all parameters, a
KL penalty to the base and a frozen pool of buyers. Every other default here is this project's choice."""

LossType = Literal["grpo", "dapo", "bnpo"]
"""How tokens are weighed, in TRL's words: `grpo` weighs every dialogue of a step alike, void ones
included, `dapo` every token of a step, `bnpo` every token of a batch. Dr. GRPO is left out: its
advantages are not divided by the group's spread, and these are."""


class TrainingBuyer(BaseModel):
    """One buyer of the frozen pool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    family: str | None = None


class TrainingDomain(BaseModel):
    """One domain to train on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str


class Recipe(BaseModel):
    """What is trained, on what, against whom, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model: str
    """A Hugging Face id, or the folder of a checkpoint."""
    size: str | None = None
    """A name in :data:`trainers.sizes.SIZES`, where it was chosen by size."""
    learning_rate: float = Field(STUDY["learning_rate"], gt=0)
    steps: int = Field(int(STUDY["steps"]), ge=1)
    group_size: int = Field(8, ge=2)
    """Dialogues of one cell, whose mean reward is the baseline of each."""
    groups_per_step: int = Field(16, ge=1)
    beta: float = Field(0.01, ge=0)
    """Weight of the KL divergence from the base; 0 keeps no reference."""
    loss_type: LossType = "dapo"
    max_grad_norm: float = Field(1.0, gt=0)
    buyers: tuple[TrainingBuyer, ...] = Field(min_length=1)
    vary_buyers: bool = True
    """Whether a scripted buyer's pace and final aspiration vary from cell to cell."""
    domains: tuple[TrainingDomain, ...] = Field(min_length=1)
    scenarios: int = Field(512, ge=1)
    """Of the train split, per domain; they come round again when they are used up."""
    turns: int | None = Field(None, ge=1)
    message_limit: int = Field(MESSAGE_LIMIT, ge=1)
    prompt_version: str = "v1"
    answer_tokens: int = Field(512, ge=8)
    """Tokens that one answer may take; a longer one is cut off, which is a fault."""
    context_tokens: int = Field(16_384, ge=64)
    """Tokens that a whole dialogue may take; what no longer fits is the seller's fault. At play a model
    has all of its own context: where that is longer, a dialogue may end in training that would not end
    there."""
    save_steps: int = Field(26, ge=1)
    """A checkpoint is saved and registered every so many steps, and at the last."""
    seed: int = Field(0, ge=0, lt=2**32)
    turn_timeout: float = Field(120.0, gt=0)
    """Seconds in which a plug-in that buys must answer, or it forfeits; language models have
    :data:`arena.drivers.MODEL_TIMEOUT_S`, as in tournaments, or their match is void."""
    shuffled_rewards: bool = False
    """A negative control: rewards are dealt out at random within a group, so nothing can be learned."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.answer_tokens >= self.context_tokens:
            raise ValueError("context_tokens must leave room for more than one answer of answer_tokens")
        for called, those in (("buyer", self.buyers), ("domain", self.domains)):
            versions = [entry.version for entry in those]
            if len(set(versions)) < len(versions):
                raise ValueError(f"a {called} stands twice (same version)")
        return self

    @property
    def rules(self) -> Rules:
        """The rules of play, as tournaments have them."""
        return Rules(turns=self.turns, message_limit=self.message_limit)

    @property
    def rows_per_step(self) -> int:
        """Dialogues that one optimisation step learns from."""
        return self.group_size * self.groups_per_step

    def content(self) -> dict[str, Any]:
        """Return the recipe as JSON-ready data."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def arm(self) -> str:
        """Twelve hexadecimal digits that recipes share which differ in seed alone."""
        content = self.content()
        del content["seed"]
        return digest(content, 12)

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits: the identity of this recipe."""
        return digest(self.content(), 12)
