"""One call to a model's provider through LiteLLM: what is sent, and what is read off the answer."""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agents.agent import StillAnsweringError, Usage
from agents.language_model.faults import malformed, own_fault, provider_error, refuses_schema, silence
from agents.language_model.library import api_key, library, unlogged
from agents.language_model.prices import cost_of
from agents.language_model.request import Completion, Request
from agents.spec import Connection

STALLED_S = 30.0
"""A stream that sent no word for so long, or for half of its time, has stalled: that is the provider's
silence. This project's choice."""
LITELLM_LATER_S = 30.0
"""LiteLLM's own timeout comes so much later than ours, which alone tells whose doing it is."""


class SchemaRefusedError(Exception):
    """The provider takes no such schema."""


class _LiteLLMError(Exception):
    """What LiteLLM raised, so that a bug of ours is not taken for a provider's trouble."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@dataclass
class Stream:
    """What came of a stream so far."""

    chunks: list[Any] = field(default_factory=list)
    characters: int = 0
    """Of answer and reasoning."""
    spoke_at: float = 0.0
    """When the last of them came, on the clock of time.monotonic."""
    came: bool = False
    """Whether it held a part of a completion: of a body that is none, LiteLLM makes an empty answer,
    which does not say whose it is."""
    odd: bool = False
    """Whether a part of its content was no text, which LiteLLM leaves out."""

    def add(self, chunk: Any) -> None:
        """Take in a piece."""
        self.chunks.append(chunk)
        choice = chunk.choices[0] if chunk.choices else None
        delta = getattr(choice, "delta", None)
        role, *words = (getattr(delta, name, None) for name in ("role", "content", "reasoning_content"))
        self.odd |= words[0] is not None and not isinstance(words[0], str)
        self.came |= role is not None or any(words)
        self.came |= getattr(choice, "finish_reason", None) not in (None, "stop")
        if new := sum(len(word) for word in words if isinstance(word, str)):
            self.characters += new
            self.spoke_at = time.monotonic()

    def running(self, timeout_s: float) -> bool:
        """Return whether words were coming when `timeout_s` was over."""
        quiet_s = time.monotonic() - self.spoke_at
        return self.characters > 0 and quiet_s < min(STALLED_S, timeout_s / 2)


async def call(
    request: Request, connection: Connection, address: str | None, timeout_s: float
) -> Completion:
    """Send `request` once; return the completion, which may be a fault of the model's own.

    Raises ProviderError for the provider's trouble, StillAnsweringError where a stream was running when
    `timeout_s` was over, and SchemaRefusedError. The errors hold no secret.
    """
    begun = time.perf_counter()
    stream = Stream()
    arguments = _arguments(request, connection, address, timeout_s)
    try:
        async with asyncio.timeout(timeout_s):
            response = await _response(arguments, connection.stream, stream)
    except (TimeoutError, _LiteLLMError) as raised:
        # `from None`: the chain would show the request, and with it the key.
        error = raised.error if isinstance(raised, _LiteLLMError) else raised
        if isinstance(error, TimeoutError) and stream.running(timeout_s):
            raise StillAnsweringError(
                f"{request.spec.model} was still answering after {timeout_s:g} s, "
                f"{stream.characters} characters into it"
            ) from None
        if isinstance(error, TimeoutError):
            came = "it stopped in the middle of its answer" if stream.characters else "nothing came"
            raise silence(request.spec, address, timeout_s, came) from None
        if request.format is not None and refuses_schema(error):
            raise SchemaRefusedError from None
        if (own := own_fault(error, request.messages)) is not None:
            seconds = round(time.perf_counter() - begun, 4)
            return Completion("", "", own, Usage(latency_s=seconds), None, refused=True)
        raise provider_error(error, request.spec, connection, address, timeout_s) from None
    if connection.stream and (stream.odd or not stream.came):
        what = "its content is no text" if stream.odd else "its stream is none"
        raise malformed(what, request.spec, address)
    return _completion(response, request, connection, address, time.perf_counter() - begun)


def _arguments(
    request: Request, connection: Connection, address: str | None, timeout_s: float
) -> dict[str, Any]:
    """Return all that LiteLLM is called with. It is to try once."""
    arguments = request.arguments | {"timeout": timeout_s + LITELLM_LATER_S, "max_retries": 0}
    if address is not None:
        arguments["api_base"] = address
    key = api_key(connection, address)
    if key is not None:
        arguments["api_key"] = key
    if connection.stream:
        arguments |= {"stream": True, "stream_options": {"include_usage": True}}
    return arguments


async def _response(arguments: dict[str, Any], streamed: bool, stream: Stream) -> Any:
    """Return LiteLLM's response; a stream's parts are gathered in `stream` on the way."""
    with unlogged(), _theirs():
        response = await library().acompletion(**arguments)
    if not streamed:
        return response
    async for chunk in _chunks(response):
        stream.add(chunk)
    sent = response.chunks
    with _theirs():
        whole = library().stream_chunk_builder(stream.chunks, messages=arguments["messages"])
    # Where the provider did not count tokens, LiteLLM guesses: that is not known.
    if whole is not None and all(getattr(chunk, "usage", None) is None for chunk in sent):
        whole.usage = None
    return whole


async def _chunks(response: Any) -> AsyncGenerator[Any]:
    with _theirs():
        async for chunk in response:
            yield chunk


@contextmanager
def _theirs() -> Generator[None]:
    """Mark what LiteLLM raises."""
    try:
        yield
    except Exception as error:
        raise _LiteLLMError(error) from None


def _completion(
    response: Any, request: Request, connection: Connection, address: str | None, seconds: float
) -> Completion:
    choices = getattr(response, "choices", None) or []
    message = choices[0].message if choices else None
    if message is None:
        raise malformed("it has no choices", request.spec, address)
    text, fault = message.content or "", None
    if not isinstance(text, str):
        raise malformed("its content is no text", request.spec, address)
    extra = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or extra.get("refusal")
    if choices[0].finish_reason == "length":
        fault = "cut_off"
    elif choices[0].finish_reason == "content_filter" or (refusal and not text):
        text, fault = text or str(refusal or ""), "refusal"
    reasoning = getattr(message, "reasoning_content", None) or ""
    usage = _usage(response, request, connection, seconds, said=bool(text or reasoning))
    return Completion(text, str(reasoning), fault, usage, getattr(response, "model", None))


def _usage(
    response: Any, request: Request, connection: Connection, seconds: float, *, said: bool
) -> Usage:
    """Return what the call took; what the provider does not report, or nobody prices, is None.

    LiteLLM has 0 where a count is missing: so a prompt of 0 tokens is not counted, nor is what was
    `said` in 0.
    """
    counts = getattr(response, "usage", None)
    taken = getattr(counts, "prompt_tokens", None) or None
    given = getattr(counts, "completion_tokens", None)
    given = given if taken is not None and not said else given or None
    cost = cost_of(response, request.spec, connection, taken, given)
    return Usage(taken, given, cost, round(seconds, 4))
