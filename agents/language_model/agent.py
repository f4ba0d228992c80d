"""A language model as an agent, reached through LiteLLM."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from random import Random
from typing import Any

from agents.agent import Brief, Reply, View
from agents.language_model.admission import dropped
from agents.language_model.gateway import Gateway
from agents.language_model.library import api_key
from agents.language_model.prompt import PROMPT_VERSION, Conversation, prompt_hash, templates, versions
from agents.language_model.request import Request
from agents.language_model.route import redirected
from agents.language_model.schema import response_format
from agents.language_model.serving import check, serving_of
from agents.spec import AgentSpec, Connection
from scenarios.canonical import digest
from scenarios.scenario import Role

MAX_TOKENS = 4096
"""Tokens an answer may take, a thinking model's thinking included, where the sampling does not say."""
SAMPLING = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "stop"),
        *("presence_penalty", "frequency_penalty", "repetition_penalty"),
        *("reasoning_effort", "thinking", "verbosity", "num_ctx"),
    }
)
"""What may be set about sampling; each is passed on under its own name, and only when set."""
_PATH = re.compile(r"^([/~.\\]|[A-Za-z]:[/\\])|[/\\].*\.gguf$", re.IGNORECASE)
"""How a path begins, or ends; ``org/model`` is a name."""


def model_spec(
    model: str,
    sampling: Mapping[str, Any] | None = None,
    structured: bool = False,
    revision: str | None = None,
    prompt_version: str | None = None,
    may_drop: Sequence[str] = (),
) -> AgentSpec:
    """Return the identity of a language model that plays with a prompt (None: the newest full one).

    `model` is a LiteLLM name, such as ``anthropic/claude-sonnet-5``. Settings that are None are unset;
    0 is a setting. Those in `may_drop` are set and not sent. Raises ValueError for a setting or a prompt
    that does not exist, an empty name, or a setting that may be dropped and is not set.
    """
    if not model.strip():
        raise ValueError("give the model's LiteLLM name, such as anthropic/claude-sonnet-5")
    given = {name: value for name, value in (sampling or {}).items() if value is not None}
    if unknown := sorted(given.keys() - SAMPLING):
        known = ", ".join(sorted(SAMPLING))
        raise ValueError(f"unknown sampling setting {unknown[0]!r}; known are {known}")
    prompt = prompt_version or PROMPT_VERSION
    templates(prompt)
    spec = AgentSpec(
        kind="model",
        model=model.strip(),
        revision=revision,
        prompt_version=prompt,
        sampling={"max_tokens": MAX_TOKENS, **given},
        structured=structured or None,
        may_drop=tuple(sorted(set(may_drop))),
    )
    if unset := [name for name in spec.may_drop if name not in spec.sampling]:
        what = "may be dropped, but is not set" if unset[0] in SAMPLING else "is no sampling setting"
        raise ValueError(f"{unset[0]} {what}: leave it out of --allow-dropped{_lost(spec)}")
    return spec


def _lost(spec: AgentSpec) -> str:
    """Say which settings would be dropped; nothing where the model's name is none."""
    try:
        lost = ", ".join(dropped(spec))
    except ValueError:
        return ""
    return (
        f". Of what is set, {lost} would be dropped"
        if lost
        else f". All that is set reaches {spec.model}"
    )


def response_format_of(spec: AgentSpec, brief: Brief) -> dict[str, Any] | None:
    """Return the schema that a model's answers are constrained by; None where they are free."""
    if not spec.structured:
        return None
    return response_format(brief, spec.sampling.get("max_tokens", MAX_TOKENS), spec.model or "")


class LanguageModelAgent:
    """An agent that asks a language model for every turn. Its text is parsed by the arena."""

    deterministic = False
    """Always: even at temperature 0 providers do not promise equal answers."""

    def __init__(
        self,
        spec: AgentSpec,
        connection: Connection | None = None,
        gateway: Gateway | None = None,
    ) -> None:
        """Raise ValueError for a spec that this release cannot play, a key that is not there, or
        weights that cannot be served here."""
        if spec.kind != "model" or not spec.model:
            raise ValueError("a language-model agent needs a spec of kind 'model' with a model name")
        if spec.prompt_version not in versions():
            raise ValueError(
                f"prompt version {spec.prompt_version!r} is not in this release; "
                "register the model again"
            )
        self.spec = spec
        self.connection = connection or Connection()
        self._gateway = gateway or Gateway()
        named = self.connection.api_key_env
        if named and not api_key(self.connection, None):
            raise ValueError(f"{spec.model} needs its key: set the environment variable {named}")
        if (serving := serving_of(spec, self.connection)) is not None:
            check(serving)

    def begin(self, role: Role, brief: Brief, rng: Random) -> "ModelNegotiator":
        """Return the negotiator of one match; its randomness is the provider's, not `rng`."""
        return ModelNegotiator(self.spec, self.connection, brief, self._gateway)


class ModelNegotiator:
    """One side of one match, played by a model that sees the whole conversation every turn."""

    def __init__(self, spec: AgentSpec, connection: Connection, brief: Brief, gateway: Gateway) -> None:
        self._spec, self._connection, self._gateway = spec, connection, gateway
        self._conversation = Conversation(brief, spec.prompt_version or PROMPT_VERSION)
        self._schema = response_format_of(spec, brief)
        self._cached = 0

    async def reply(self, view: View) -> Reply:
        """Ask the model. Raises as :meth:`agents.language_model.gateway.Gateway.complete` does."""
        messages = self._conversation.ask(view)
        answer, request = await self._gateway.complete(
            self._spec, self._connection, messages, self._schema
        )
        self._conversation.answered(answer.text)
        self._cached += answer.usage.cached
        return Reply(
            text=answer.text,
            reasoning=answer.reasoning,
            fault=answer.fault,
            usage=answer.usage,
            receipt={
                **self._receipt,
                **self._format(request),
                "served_model": file_name(answer.model),
                **({"cached": self._cached} if self._cached else {}),
            },
        )

    @cached_property
    def _receipt(self) -> dict[str, Any]:
        prompt = self._spec.prompt_version or PROMPT_VERSION
        serving = serving_of(self._spec, self._connection)
        return {
            "model": self._spec.model,
            "sampling": {
                key: value
                for key, value in self._spec.sampling.items()
                if key not in self._spec.may_drop
            },
            "prompt": f"{prompt}-{prompt_hash(prompt)}",
            "litellm": _release(),
            **({} if serving is None else {"server": serving.server, "arguments": serving.arguments}),
            **self._route,
        }

    @property
    def _route(self) -> dict[str, Any]:
        """Return who was asked where variables of the environment say that, or through whom."""
        found = redirected(self._spec, self._connection)
        if found is None:
            return {}
        said = {"asked_at": found.host if found.by else None, "proxy": found.proxy}
        return {name: host for name, host in said.items() if host is not None}

    @cached_property
    def _schema_hash(self) -> str:
        return digest(self._schema, 12)

    def _format(self, request: Request) -> dict[str, Any]:
        """Return what was sent of a schema, and whether the provider refused the one asked for."""
        if self._schema is None:
            return {"schema": None}
        if request.format == self._schema:
            return {"schema": self._schema_hash}
        kind = (request.format or {}).get("type", "text")
        return {"schema": None, "schema_refused": True, "format": kind}


def file_name(model: str | None) -> str | None:
    """Return a model's name as it is told; of a path on somebody's disk, as llama.cpp and vLLM call what
    they serve, only the last part: receipts go into records that are shared."""
    if model is None or not _PATH.search(model):
        return model
    return re.split(r"[/\\]", model.rstrip("/\\"))[-1]


@cache
def _release() -> str:
    """Return which LiteLLM is installed. Kept: it takes milliseconds to look up."""
    return version("litellm")
