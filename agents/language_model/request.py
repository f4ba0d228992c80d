"""What is effectively sent to a model, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from agents.agent import Usage
from agents.spec import AgentSpec
from scenarios.canonical import digest


class Completion(NamedTuple):
    """One answer: its text, private reasoning, the agent's own fault if any, usage, model served.

    `refused`: there is no answer, since the request was refused for what the agent itself had said.
    """

    text: str
    reasoning: str
    fault: str | None
    usage: Usage
    model: str | None
    refused: bool = False


@dataclass(frozen=True)
class Request:
    """One request, but for the address and the key. `format` is its `response_format`, if any."""

    spec: AgentSpec
    messages: Sequence[Mapping[str, str]]
    format: Mapping[str, Any] | None = None

    @property
    def most_given(self) -> int:
        """Tokens that the answer may have."""
        return int(self.spec.sampling["max_tokens"])

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """Return what LiteLLM is called with, beside address, key and timeout."""
        found: dict[str, Any] = {
            **self.spec.sampling,
            "model": self.spec.model,
            "messages": list(self.messages),
        }
        if self.format is not None:
            found["response_format"] = dict(self.format)
        if self.spec.may_drop:
            found["additional_drop_params"] = list(self.spec.may_drop)
        return found

    def key(self, replicate: int) -> str:
        """Return the identity of this request for a cache: all that decides the answer, and the
        replicate, so that replicates never share one. 32 hexadecimal digits."""
        content = {"revision": self.spec.revision, "replicate": replicate, **self.arguments}
        return digest(content, 32)
