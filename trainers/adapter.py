"""The one place that touches a private method of TRL: generation with the trainer's own backend.

:meth:`GRPOTrainer._generate_single_turn` covers plain transformers, continuous batching and vLLM alike,
with weights in sync; it is what TRL's own tool loop calls. TRL is pinned for its sake.
"""

from collections.abc import Sequence
from typing import Any

from arena.errors import UserError
from trainers.rollout import Generate, Ids

METHOD = "_generate_single_turn"


def generator(trainer: Any) -> Generate:
    """Return a function that generates one answer for each row of ids with `trainer`'s model.

    Raises UserError where the installed TRL has no such method.
    """
    method = getattr(trainer, METHOD, None)
    if method is None:
        from importlib.metadata import version

        raise UserError(
            f"TRL {version('trl')} has no GRPOTrainer.{METHOD}: install the release that "
            "bargaining-arena[train] names"
        )

    def generate(rows: Sequence[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        if not rows:
            return [], None
        completions, logprobs = method(list(rows), None, {}, num_generations=1)
        return [list(ids) for ids in completions], logprobs

    return generate
