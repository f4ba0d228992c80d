"""One call to a model's provider through LiteLLM: what is sent, and what is read off the answer."""

import asyncio
import time
from typing import Any

from agents.agent import StillAnsweringError, Usage
from agents.language_model.faults import malformed, own_fault, provider_error, refuses_schema
from agents.language_model.library import api_key, library
from agents.language_model.prices import cost_of
from agents.language_model.request import Completion, Request
from agents.spec import Connection


class SchemaRefusedError(Exception):
    """The provider takes no such schema."""


async def call(
    request: Request, connection: Connection, address: str | None, timeout_s: float
) -> Completion:
    """Send `request` once; return the completion, which may be a fault of the model's own.

    Raises ProviderError for the provider's trouble, StillAnsweringError where a stream was running when
    `timeout_s` was over, and SchemaRefusedError. The errors hold no secret.
    """
    begun = time.perf_counter()
    chunks: list[Any] = []
    try:
        async with asyncio.timeout(timeout_s):
            response = await _response(request, connection, address, timeout_s, chunks)
    except Exception as error:
        if isinstance(error, TimeoutError) and chunks:
            raise StillAnsweringError(
                f"{request.spec.model} was still answering after {timeout_s:g} s"
            ) from None
        if request.format is not None and refuses_schema(error):
            raise SchemaRefusedError from None
        if (own := own_fault(error, request.messages)) is not None:
            seconds = round(time.perf_counter() - begun, 4)
            return Completion("", "", own, Usage(latency_s=seconds), None)
        # `from None`: the chain would show the request, and with it the key.
        raise provider_error(error, request.spec, connection, address, timeout_s) from None
    return _completion(response, request, connection, address, time.perf_counter() - begun)


async def _response(
    request: Request,
    connection: Connection,
    address: str | None,
    timeout_s: float,
    chunks: list[Any],
) -> Any:
    """Return LiteLLM's response; a stream's parts are gathered in `chunks` on the way."""
    arguments = request.arguments | {"timeout": timeout_s, "max_retries": 0}
    if address is not None:
        arguments["api_base"] = address
    key = api_key(connection, address)
    if key is not None:
        arguments["api_key"] = key
    if not connection.stream:
        return await library().acompletion(**arguments)
    stream = await library().acompletion(
        **arguments, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        chunks.append(chunk)
    return library().stream_chunk_builder(chunks, messages=arguments["messages"])


def _completion(
    response: Any, request: Request, connection: Connection, address: str | None, seconds: float
) -> Completion:
    choices = getattr(response, "choices", None)
    if not choices:
        raise malformed("it has no choices", request.spec, address)
    message = choices[0].message
    text, fault = message.content or "", None
    extra = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or extra.get("refusal")
    if choices[0].finish_reason == "length":
        fault = "cut_off"
    elif choices[0].finish_reason == "content_filter" or (refusal and not text):
        text, fault = text or str(refusal or ""), "refusal"
    reasoning = getattr(message, "reasoning_content", None) or ""
    usage = _usage(response, request, connection, seconds)
    return Completion(text, str(reasoning), fault, usage, getattr(response, "model", None))


def _usage(response: Any, request: Request, connection: Connection, seconds: float) -> Usage:
    """Return what the call took; what the provider does not report, or nobody prices, is None."""
    counts = getattr(response, "usage", None)
    taken = getattr(counts, "prompt_tokens", None) or None
    given = getattr(counts, "completion_tokens", None)
    given = given if taken is not None else given or None
    cost = cost_of(response, request.spec, connection, taken, given)
    return Usage(taken, given, cost, round(seconds, 4))
