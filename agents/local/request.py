"""What passes between an agent and whatever runs its weights. Imports neither torch nor vLLM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from agents.local.dialogue import Ids


@dataclass(frozen=True)
class Sampling:
    """How an answer is drawn. The model's own generation config is not asked: what is not cut here is
    drawn from the whole distribution, as in training."""

    temperature: float = 1.0
    """0: the likeliest token."""
    top_p: float = 1.0
    top_k: int = 0
    """0: no cut."""
    max_tokens: int = 512


class Request(NamedTuple):
    """One answer that is wanted."""

    ids: Sequence[int]
    """The whole conversation so far."""
    sampling: Sampling
    seed: int
    """32 bits, of which all the answer's randomness comes."""


class Backend(Protocol):
    """A model in memory."""

    receipt: Mapping[str, Any]
    """Libraries and their versions, number format, device."""
    rows: int
    """Requests that one call of `answer` takes at most."""
    calls: int
    """Calls of `answer`, from threads, that may be under way at once, on all models together."""

    def answer(self, requests: Sequence[Request]) -> list[Ids]:
        """Return what was sampled for each request, the id that ends an answer included."""
        ...

    def close(self) -> None:
        """Free its memory. Calls that are under way end soon."""
        ...
