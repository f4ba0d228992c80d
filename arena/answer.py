"""The parser of language-model answers: raw text in, three channels or a named fault out.

An answer is one JSON object with the keys reasoning, message, action and terms. Thinking blocks around
it are passed over; a brace anywhere else outside it is a fault. Text around it is kept in the record
but never shown to the other side, and nothing is ever repaired.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from agents.agent import Action, ActionKind
from arena.protocol import ANSWER_LIMIT, Fault

KEYS = {"reasoning", "message", "action", "terms"}
_CLOSING = {"<think>": "</think>", "<thinking>": "</thinking>", "<|channel>thought": "<channel|>"}
_BRACE_OR_THINKING = re.compile(r"[{}]|<think>|<thinking>|<\|channel>thought\b")
_STARTS_WITH_OBJECT = re.compile(r"\s*(```\w*\s*)?\{")
_TAG = re.compile(r"<(/?)think(?:ing)?>|<\|channel>thought\b")
_ACTIONS = {kind.value: kind for kind in ActionKind}


class Answer(NamedTuple):
    """A parsed answer."""

    action: Action
    message: str
    reasoning: str


class _Faulty(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def parse(text: str) -> Answer | Fault:
    """Return the answer that `text` holds, or the first fault. Never raises; time is linear.

    Terms are checked for their types only here; whether names and options exist is the protocol's
    business (:func:`arena.protocol.resolve`).
    """
    if len(text) > ANSWER_LIMIT:
        return Fault.ANSWER_TOO_LONG
    if not text or text.isspace():
        return Fault.EMPTY
    try:
        return _answer(_only_object(text))
    except _Faulty as faulty:
        return faulty.fault


def _only_object(text: str) -> dict[str, Any]:
    """Return the one JSON object in `text`; a brace outside it and outside thinking is a fault."""
    start = _next_brace(text, _headless_thinking(text))
    if start < 0:
        raise _Faulty(Fault.NO_OBJECT)
    try:
        found, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise _Faulty(Fault.NOT_JSON) from None
    if _next_brace(text, end) >= 0:
        raise _Faulty(Fault.TWO_OBJECTS)
    assert isinstance(found, dict)
    return found


def _headless_thinking(text: str) -> int:
    """Return where a thinking block ends whose opening tag stood in the prompt, as some chat templates
    have it; 0 where there is none. An answer that starts with its object has none, nor one whose closing
    tag stands in a string of the object."""
    tag = _TAG.search(text)
    if tag is None or not tag[1] or _STARTS_WITH_OBJECT.match(text) or _in_object(text, tag.start()):
        return 0
    return tag.end()


def _in_object(text: str, position: int) -> bool:
    """Return whether what begins at the first brace is JSON that goes on past `position`."""
    start = text.find("{", 0, position)
    try:
        return start >= 0 and _ANY_JSON.raw_decode(text, start)[1] > position
    except (ValueError, RecursionError):
        return False


def _next_brace(text: str, position: int) -> int:
    """Return where the first brace stands from `position` on, past thinking blocks; or -1."""
    while found := _BRACE_OR_THINKING.search(text, position):
        if found[0] in "{}":
            return found.start()
        closing = _CLOSING[found[0]]
        end = text.find(closing, found.end())
        if end < 0:
            raise _Faulty(Fault.OPEN_THINKING)
        position = end + len(closing)
    return -1


def _answer(found: dict[str, Any]) -> Answer:
    if not found.keys() <= KEYS:
        raise _Faulty(Fault.UNKNOWN_KEY)
    message, reasoning = found.get("message", ""), found.get("reasoning", "")
    if not isinstance(message, str) or not isinstance(reasoning, str):
        raise _Faulty(Fault.WRONG_TYPE)
    name = found.get("action")
    kind = _ACTIONS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _Faulty(Fault.UNKNOWN_ACTION)
    terms = found.get("terms")
    if isinstance(terms, list):
        raise _Faulty(Fault.POSITIONAL_TERMS)
    if terms is not None and not isinstance(terms, dict):
        raise _Faulty(Fault.WRONG_TYPE)
    return Answer(Action(kind, terms), message, reasoning)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Faulty(Fault.DUPLICATE_KEY)
    return found


def _not_finite(name: str) -> NoReturn:
    raise _Faulty(Fault.NOT_FINITE)


_ANY_JSON = json.JSONDecoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_not_finite)
