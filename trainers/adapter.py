"""The one place that touches a private method of TRL: generation with the trainer's own backend.

:meth:`GRPOTrainer._generate_single_turn` covers plain transformers, continuous batching and vLLM alike,
with weights in sync; it is what TRL's own tool loop calls. TRL is pinned for its sake.
"""

from collections.abc import Sequence
from typing import Any

from agents.local.dialogue import Ids
from arena.errors import UserError
from trainers.ranks import Ranks
from trainers.rollout import Generate

METHOD = "_generate_single_turn"


def generator(trainer: Any, idle: Ids) -> Generate:
    """Return a function that generates one answer for each row of ids with `trainer`'s model.

    It is a collective: all processes call it equally often. A vLLM server's answers are dealt out by
    place, and sharded weights are gathered in every call, so each process sends as many rows as the one
    with the most. `idle` are the ids of a prompt, best with a short answer, that fills up the others'.
    Raises UserError where the installed TRL has no such method.
    """
    method = getattr(trainer, METHOD, None)
    if method is None:
        from importlib.metadata import version

        raise UserError(
            f"TRL {version('trl')} has no GRPOTrainer.{METHOD}: install the release that "
            "bargaining-arena[train] names"
        )
    ranks = Ranks(trainer.accelerator)
    if trainer.accelerator.is_fsdp2:
        # Sharded weights are gathered for every token. transformers keeps processes in step from token
        # to token, but for FSDP2 only where it sharded the model itself, so it must take this for one.
        trainer.accelerator.unwrap_model(trainer.model_wrapped)._is_fsdp_managed_module = True

    def generate(rows: Sequence[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        lacking = ranks.most(len(rows)) - len(rows)
        if not rows and not lacking:
            return [], None
        completions, logprobs = method([*rows, *[idle] * lacking], None, {}, num_generations=1)
        kept = [list(ids) for ids in completions[: len(rows)]]
        return kept, logprobs[: len(rows)] if logprobs is not None else None

    return generate
