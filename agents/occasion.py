"""For which match an agent is being asked: what a record of calls and a cache have to know.

A view says nothing of it, so that no agent can behave by it. Whoever plays a match sets it
(:data:`OCCASION`), and what asks a provider reads it.
"""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Occasion:
    """The match that is being played."""

    match: str
    """Its key; empty outside a tournament."""
    replicate: int
    limit_s: float | None = None
    """Seconds that an answer of a served model may take, all tries of asking for it and the pauses
    between them included, but not what they wait for others."""


OCCASION: ContextVar[Occasion | None] = ContextVar("OCCASION", default=None)
"""None where no match is played, as in `arena check`; in training, it names no match."""
