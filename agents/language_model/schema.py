"""The JSON schema of an answer, for providers that can constrain decoding to one.

Part of the prompt: a change here needs a new prompt version.
"""

from collections.abc import Sequence
from typing import Any

from agents.agent import ActionKind, Brief

GRAMMARS = ("hosted_vllm/", "vllm/", "ollama/", "ollama_chat/", "llamafile/", "lm_studio/")
"""LiteLLM names of servers that turn a schema into a grammar, and so take one with alternatives at its
root. OpenAI, Anthropic and others refuse those: their models get one plain object."""


def answer_schema(brief: Brief, max_tokens: int, alternatives: bool) -> dict[str, Any]:
    """Return the schema of a legal answer under `brief`: actions, term names and options spelled out.

    With `alternatives`, terms go with a proposal and with nothing else; without, they may be missing or
    empty. The keys stand in the order in which they are best written: the reasoning before the action.
    At about four characters a token, the reasoning gets at most half of `max_tokens` and the message
    a quarter, so that a model that rambles still reaches its action.
    """
    options = {term.name: {"type": "string", "enum": list(term.options)} for term in brief.terms}
    terms = {"type": "object", "properties": options, "additionalProperties": False}
    if not alternatives:
        return _answer(brief, max_tokens, list(ActionKind), {"terms": terms}, [])
    others = [kind for kind in ActionKind if kind is not ActionKind.PROPOSE]
    proposal = _answer(brief, max_tokens, [ActionKind.PROPOSE], {"terms": terms}, ["terms"])
    return {"anyOf": [proposal, _answer(brief, max_tokens, others, {}, [])]}


def response_format(brief: Brief, max_tokens: int, model: str) -> dict[str, Any]:
    """Return the schema for `model` as the `response_format` of a chat completion request."""
    schema = answer_schema(brief, max_tokens, alternatives=model.startswith(GRAMMARS))
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _answer(
    brief: Brief,
    max_tokens: int,
    kinds: Sequence[ActionKind],
    extra: dict[str, Any],
    required: Sequence[str],
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "maxLength": 2 * max_tokens},
            "message": {"type": "string", "maxLength": min(brief.message_limit, max_tokens)},
            "action": {"type": "string", "enum": [kind.value for kind in kinds]},
            **extra,
        },
        "required": ["reasoning", "message", "action", *required],
        "additionalProperties": False,
    }
