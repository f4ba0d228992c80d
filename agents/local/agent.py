"""A language model whose weights lie on this machine, as an agent: a base, or a trained checkpoint."""

import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cached_property
from importlib.util import find_spec
from random import Random
from typing import Any

from agents.agent import Brief, ProviderError, Reply, Trouble, View
from agents.language_model.prompt import PROMPT_VERSION, prompt_hash, templates
from agents.local.dialogue import Dialogue, overrun
from agents.local.engine import engines
from agents.local.reading import Reading, reading
from agents.local.request import Request, Sampling
from agents.local.weights import (
    INSTALL,
    Weights,
    check,
    found_weights,
    is_id,
    model_type,
    weights_hash,
)
from agents.spec import AgentSpec, Connection
from scenarios.scenario import Role

SETTINGS = tuple(field.name for field in fields(Sampling))


def local_spec(
    model: str,
    revision: str,
    sampling: Mapping[str, Any] | None = None,
    prompt_version: str | None = None,
) -> AgentSpec:
    """Return the identity of weights with the hash `revision` that play with a prompt (None: the
    newest full one).

    `model` names what they are: their base, or a Hugging Face id. Settings of :class:`Sampling` that
    are left out or None are spelled out with their defaults. Raises ValueError for a setting or a
    prompt version that does not exist.
    """
    given = {name: value for name, value in (sampling or {}).items() if value is not None}
    if unknown := sorted(given.keys() - set(SETTINGS)):
        raise ValueError(
            f"weights on this machine have no setting {unknown[0]!r}, only {', '.join(SETTINGS)}"
        )
    prompt = prompt_version or PROMPT_VERSION
    templates(prompt)
    return AgentSpec(
        kind="local",
        model=model,
        revision=revision,
        prompt_version=prompt,
        sampling=asdict(Sampling(**given)),
    )


def spec_of_weights(
    weights: str,
    model: str | None = None,
    sampling: Mapping[str, Any] | None = None,
    prompt_version: str | None = None,
) -> AgentSpec:
    """Return the identity of the weights at a folder or Hugging Face id, as they are now.

    Where no `model` is named, it is the id, or the kind of model that the folder holds, so that moving
    the folder changes nothing. Raises ValueError where there are no such weights.
    """
    folder = found_weights(weights)
    named = model or (weights if is_id(weights) else model_type(folder))
    return local_spec(named, weights_hash(folder), sampling, prompt_version)


class LocalAgent:
    """An agent that asks weights on this machine for every turn. Its text is parsed by the arena."""

    deterministic = False
    """Always: the sums of a padded batch may round otherwise than those of another."""

    def __init__(self, spec: AgentSpec, connection: Connection | None = None) -> None:
        """Raise ValueError where the weights, or a library, are missing, or others lie there now."""
        if spec.kind != "local" or not spec.revision:
            raise ValueError("an agent with weights here needs a spec of kind 'local' with their hash")
        where = connection.weights if connection else None
        if where is None:
            raise ValueError("nobody said where the weights lie: arena register it with --weights")
        self.prompt_version = spec.prompt_version or PROMPT_VERSION
        templates(self.prompt_version)
        if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
            raise ValueError(f"weights on this machine need {' and '.join(missing)}: {INSTALL}")
        self.spec = spec
        self.weights = Weights(found_weights(where), spec.revision)
        check(self.weights)
        self.sampling = Sampling(**spec.sampling)
        engines()

    def begin(self, role: Role, brief: Brief, rng: Random) -> "LocalNegotiator":
        """Return the negotiator of one match; every answer gets a seed from `rng`."""
        return LocalNegotiator(self, brief, rng)

    @cached_property
    def reading(self) -> Reading:
        """The tokenizer and context. Raises ProviderError where they cannot be read."""
        try:
            return reading(self.weights)
        except ValueError as error:
            raise ProviderError(f"{self.weights.folder}: {error}", Trouble.WEIGHTS) from error

    @cached_property
    def receipt(self) -> dict[str, Any]:
        """What is sent with every turn, whatever it runs on."""
        return {
            "model": self.spec.model,
            "weights": self.weights.revision,
            "sampling": asdict(self.sampling),
            "prompt": f"{self.prompt_version}-{prompt_hash(self.prompt_version)}",
        }


class LocalNegotiator:
    """One side of one match. What was sampled is fed back as it was sampled."""

    def __init__(self, agent: LocalAgent, brief: Brief, rng: Random) -> None:
        self._agent, self._rng = agent, rng
        chat, context = agent.reading
        room = context - agent.sampling.max_tokens
        self._dialogue = Dialogue(brief, agent.prompt_version, chat, room)

    async def reply(self, view: View) -> Reply:
        """Ask the model. Raises ProviderError where its weights cannot be loaded or run, and where its
        context is full of others' words."""
        agent, dialogue = self._agent, self._dialogue
        if dialogue.ask(view) is None:
            if dialogue.filled_itself:
                return overrun()
            raise ProviderError(
                f"{agent.spec.model}: the match does not fit the context of {agent.reading.context} "
                f"tokens, of which an answer needs {agent.sampling.max_tokens}",
                Trouble.CONTEXT,
            )
        request = Request(tuple(dialogue.ids), agent.sampling, self._rng.getrandbits(32))
        begun = time.perf_counter()
        sampled, ran_on = await engines().answer(agent.weights, request)
        reply = dialogue.answered(sampled, latency_s=round(time.perf_counter() - begun, 4))
        reply.receipt = {**agent.receipt, **ran_on}
        return reply
