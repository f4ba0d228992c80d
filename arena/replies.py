"""What an agent's turn came to: a reply of the right shape, or whose doing it was that there is none.

Errors are classified at one boundary, :func:`failure`: a provider's trouble is void, an exception or a
hang of a plug-in's own code is that plug-in's forfeit, and anything else is our bug.
"""

import json
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from agents.agent import (
    Action,
    ActionKind,
    ProviderError,
    Reply,
    StillAnsweringError,
    Trouble,
    Usage,
)
from agents.spec import AgentSpec
from arena.play import Failure
from arena.protocol import Ending, Fault
from scenarios.canonical import canonical

DETAIL_LIMIT = 500
"""Characters kept of an error's words."""
_MOST = 2**50
"""Above any real usage, and small enough that a database takes the sums over a match."""


class TurnOverrun(BaseException):
    """An agent's code ran past the turn timeout. Not an Exception: agent code must not catch it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s, the limit of a turn")


class Asked(Protocol):
    """Whoever is asked for replies, in this process or in another."""

    spec: AgentSpec


def failure(agent: Asked, error: BaseException) -> Failure:
    """Say whose doing `error`, raised on the agent's turn, was."""
    if isinstance(error, ProviderError):
        return Failure(Ending.PROVIDER_ERROR, str(error)[:DETAIL_LIMIT], error.trouble)
    if isinstance(error, StillAnsweringError):
        return Failure(Ending.FORFEIT_TIMEOUT, str(error)[:DETAIL_LIMIT])
    late = isinstance(error, (TurnOverrun, TimeoutError))
    if agent.spec.kind == "model" and isinstance(error, TurnOverrun):
        return Failure(Ending.HARNESS_ERROR, _detail(error))
    if agent.spec.is_language_model and late:
        return Failure(Ending.PROVIDER_ERROR, _detail(error), Trouble.SILENCE)
    if agent.spec.kind != "plugin":
        return Failure(Ending.HARNESS_ERROR, _detail(error))
    return Failure(Ending.FORFEIT_TIMEOUT if late else Ending.FORFEIT_CODE, _detail(error))


def _detail(error: BaseException) -> str:
    """The error's type and words, and the line that raised it. Works for an error whose str() fails."""
    if isinstance(error, TurnOverrun):
        return str(error)
    words = traceback.format_exception_only(error)[-1].strip()[:DETAIL_LIMIT]
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return words
    return f"{words} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def checked(reply: object) -> Reply:
    """Return `reply` if it has the shape of a Reply. Raises TypeError or ValueError if not.

    What passes can be judged and stored, and no longer changes: the channels are plain text, the action
    is of a known kind, terms are a plain dict or a sequence, usage is finite, the receipt plain JSON.
    """
    if not isinstance(reply, Reply):
        raise TypeError(f"reply() returned {type(reply).__name__}, not agents.agent.Reply")
    reply.message, reply.reasoning = _plain_text(reply.message), _plain_text(reply.reasoning)
    if reply.text is not None:
        reply.text = _plain_text(reply.text)
    if reply.fault is not None:
        Fault(reply.fault)
    if reply.usage is not None:
        reply.usage = _checked_usage(reply.usage)
    if reply.receipt is not None:
        if not isinstance(reply.receipt, Mapping):
            raise TypeError("receipt is a mapping, or None")
        reply.receipt = json.loads(canonical(dict(reply.receipt)))
    if reply.action is None:
        return reply
    if reply.text is not None:
        raise TypeError("a reply has an action or a text to be parsed, not both")
    kind, terms = reply.action
    if isinstance(terms, Mapping):
        terms = dict(terms)
        if not all(isinstance(name, str) for name in terms):
            raise TypeError("terms are named by strings")
    reply.action = Action(ActionKind(kind), terms)
    return reply


def _plain_text(channel: object) -> str:
    """The channel as a plain str: a subclass may lie about its length."""
    if not isinstance(channel, str):
        raise TypeError(f"message, reasoning and text are strings, not {type(channel).__name__}")
    return channel if type(channel) is str else str.__str__(channel)


def _checked_usage(usage: object) -> Usage:
    """The usage, if its numbers can be added up and stored."""
    if not isinstance(usage, Usage):
        raise TypeError("usage is an agents.agent.Usage, or None")
    tokens = usage.input_tokens, usage.output_tokens
    if type(usage.cached) is not bool:
        raise TypeError("usage says whether it was cached")
    if not all(count is None or (type(count) is int and abs(count) < _MOST) for count in tokens):
        raise ValueError("usage counts tokens in whole numbers")
    if not all(
        isinstance(amount, int | float | None) and abs(amount or 0) < _MOST for amount in usage[2:4]
    ):
        raise ValueError("usage gives cost and latency as finite numbers")
    return usage
