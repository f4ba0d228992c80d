"""An agent's identity: everything that decides its behaviour, and nothing else."""

from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scenarios.canonical import digest


class AgentSpec(BaseModel):
    """All that decides behaviour. Its hash is the agent's version; a name points to a version.

    Unset fields are left out of the hash, so 0 and unset differ and new fields keep old hashes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["scripted", "model", "local", "plugin"]
    """``model``: a language model of some provider. ``local``: one whose weights lie on this machine."""
    strategy: str | None = None
    """Scripted: the strategy's name."""
    strategy_version: int | None = None
    """Scripted: raised whenever the strategy would answer any view differently."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Scripted: the strategy's parameters. Plug-in: keyword arguments of its factory."""
    model: str | None = None
    """Model: the LiteLLM name, such as ``anthropic/claude-sonnet-5``. Local: what the weights are, by
    the name of their base or their Hugging Face id."""
    revision: str | None = None
    """Model: revision or weights hash, where the name does not pin them. Local: the weights hash
    (:func:`agents.local.weights.weights_hash`)."""
    prompt_version: str | None = None
    sampling: dict[str, Any] = Field(default_factory=dict)
    """Language model: temperature, top_p, top_k, seed, max_tokens, reasoning_effort, ..."""
    structured: bool | None = None
    """Language model: whether answers are constrained by a JSON schema."""
    may_drop: tuple[str, ...] = ()
    """Language model: names of sampling settings that its provider may leave out in silence."""
    target: str | None = None
    """Plug-in: ``module:object``."""
    distribution: str | None = None
    """Plug-in: the distribution it came from, with version, where there is one."""
    source_hash: str | None = None
    """Plug-in: the hash of its source."""

    def content(self) -> dict[str, Any]:
        """Return what is set, as JSON-ready data."""
        content = self.model_dump(mode="json", exclude_none=True)
        return {key: value for key, value in content.items() if value not in ({}, [])}

    @cached_property
    def version(self) -> str:
        """Twelve hexadecimal digits: the identity of this behaviour."""
        return digest(self.content(), 12)

    @property
    def is_language_model(self) -> bool:
        """Whether it is asked in words, answers in text, and takes its time."""
        return self.kind in ("model", "local")


class Connection(BaseModel):
    """How an agent is reached. Not part of its identity; never holds a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_base: str | None = None
    api_bases: tuple[str, ...] = ()
    """Further addresses of the same model; each match keeps to one of them while it answers."""
    api_key_env: str | None = None
    """The *name* of the environment variable that holds the key."""
    weights: str | None = None
    """Local: the folder, or the Hugging Face id, where the weights are found. Language model with a
    `server`: what it serves, a folder, an id, or a GGUF file."""
    server: Literal["llama.cpp", "vllm"] | None = None
    """Language model: what serves its weights, started by the arena where a run is told to."""
    server_args: tuple[str, ...] = ()
    """Further arguments of the server."""
    timeout_s: float | None = None
    stream: bool = False
    """Language model: whether answers are streamed, so that one still running at the timeout is told
    from silence."""
    max_concurrent: int | None = None
    """Requests at once, over all agents that are reached at the same place."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    input_usd_per_million: float | None = None
    output_usd_per_million: float | None = None


class Profile(BaseModel):
    """What is known about an agent beside its behaviour; shown and filtered by, never hashed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: str | None = None
    base: str | None = None
    """The name of the agent that this one was trained from."""
    params: float | None = None
    """Effective parameter count."""
    lineage: dict[str, Any] = Field(default_factory=dict)
