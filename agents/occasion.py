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
    """Its key."""
    replicate: int
    limit_s: float | None = None
    """Seconds that an answer may take, all tries of asking for it included."""


OCCASION: ContextVar[Occasion | None] = ContextVar("OCCASION", default=None)
"""None where no match of a tournament is played, as in `arena check` and in training."""
