"""The JSON schema of an answer, for providers that can constrain decoding to one."""

from typing import Any

from agents.agent import ActionKind, Brief


def answer_schema(brief: Brief, max_tokens: int) -> dict[str, Any]:
    """Return the schema of a legal answer under `brief`: actions, term names and options spelled out.

    The keys stand in the order in which they are best written: the reasoning before the action.
    `terms` may be missing or empty, as every action but a proposal wants it. At about four characters
    a token, the reasoning gets at most half of `max_tokens` and the message a quarter, so that a
    model that rambles still reaches its action.
    """
    terms = {term.name: {"type": "string", "enum": list(term.options)} for term in brief.terms}
    return {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string", "maxLength": 2 * max_tokens},
            "message": {"type": "string", "maxLength": min(brief.message_limit, max_tokens)},
            "action": {"type": "string", "enum": [kind.value for kind in ActionKind]},
            "terms": {"type": "object", "properties": terms, "additionalProperties": False},
        },
        "required": ["reasoning", "message", "action"],
        "additionalProperties": False,
    }


def response_format(brief: Brief, max_tokens: int) -> dict[str, Any]:
    """Return the schema as the `response_format` of a chat completion request."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": answer_schema(brief, max_tokens)},
    }
