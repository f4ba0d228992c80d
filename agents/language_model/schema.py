"""The JSON schema of an answer, for providers that can constrain decoding to one."""

from typing import Any

from agents.agent import ActionKind, Brief


def answer_schema(brief: Brief) -> dict[str, Any]:
    """Return the schema of a legal answer under `brief`: actions, term names and options spelled out.

    The keys stand in the order in which they are best written: the reasoning before the action.
    `terms` may be missing or empty, as every action but a proposal wants it.
    """
    terms = {term.name: {"type": "string", "enum": list(term.options)} for term in brief.terms}
    return {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "message": {"type": "string", "maxLength": brief.message_limit},
            "action": {"type": "string", "enum": [kind.value for kind in ActionKind]},
            "terms": {"type": "object", "properties": terms, "additionalProperties": False},
        },
        "required": ["reasoning", "message", "action"],
        "additionalProperties": False,
    }


def response_format(brief: Brief) -> dict[str, Any]:
    """Return the schema as the `response_format` of a chat completion request."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": answer_schema(brief)},
    }
