"""What can go wrong at a provider, each as the response that a server sends."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.agents.language_model import bargainer
from tests.agents.language_model.bargainer import Body, answered, chunks, completion

Fault = Callable[[web.Request, Body], Awaitable[web.StreamResponse]]
DRIP_S = 0.05
"""Between two pieces of what drips."""


def refused(status: int, message: str, code: str | None = None, **headers: str) -> Fault:
    """Return a fault: a status with OpenAI's form of an error."""

    async def respond(request: web.Request, body: Body) -> web.StreamResponse:
        error = {"message": message, "type": "error", "param": None, "code": code}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({"error": error}, status=status, headers=named)

    return respond


def raw(text: str, status: int = 200, kind: str = "application/json") -> Fault:
    """Return a fault: this text as a body."""

    async def respond(request: web.Request, body: Body) -> web.StreamResponse:
        return web.Response(text=text, status=status, content_type=kind)

    return respond


def said(content: str | None, finish: str = "stop", **message: Any) -> Fault:
    """Return a fault of the model's own: a completion that is no move."""

    async def respond(request: web.Request, body: Body) -> web.StreamResponse:
        return await complete(request, body, completion(body, content, finish, **message))

    return respond


async def complete(request: web.Request, body: Body, content: Body) -> web.StreamResponse:
    """Send a completion, streamed where that was asked for."""
    if not body.get("stream"):
        return web.json_response(content)
    return await _events(request, *chunks(body, content))


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    return response


async def _event(response: web.StreamResponse, chunk: Body) -> None:
    await response.write(f"data: {json.dumps(chunk)}\n\n".encode())


async def hang(request: web.Request, body: Body) -> web.StreamResponse:
    """Take the request and say nothing, for as long as the client waits."""
    await asyncio.sleep(3600)
    raise AssertionError("nobody waits so long")


async def reset_before_headers(request: web.Request, body: Body) -> web.StreamResponse:
    """Break the connection before anything is sent."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def reset_in_body(request: web.Request, body: Body) -> web.StreamResponse:
    """Break the connection in the middle of the body."""
    whole = json.dumps(answered(body)).encode()
    response = web.StreamResponse(headers={"content-type": "application/json"})
    response.content_length = len(whole)
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


async def truncated(request: web.Request, body: Body) -> web.StreamResponse:
    """Send half of the body as if it were all."""
    whole = json.dumps(answered(body))
    return web.Response(text=whole[: len(whole) // 2], content_type="application/json")


async def drip(request: web.Request, body: Body) -> web.StreamResponse:
    """Send the body byte by byte, without an end."""
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(DRIP_S)


async def stream_without_end(request: web.Request, body: Body) -> web.StreamResponse:
    """Stream words on and on."""
    response = await _stream(request)
    opening, *_ = chunks(body, completion(body, ""))
    await _event(response, opening)
    while True:
        choice = {"index": 0, "delta": {"content": "and then "}, "finish_reason": None}
        await _event(response, opening | {"choices": [choice]})
        await asyncio.sleep(DRIP_S)


async def stream_stalls(request: web.Request, body: Body) -> web.StreamResponse:
    """Begin a stream with its opening, which holds no word, and say nothing more."""
    response = await _stream(request)
    await _event(response, chunks(body, completion(body, ""))[0])
    await asyncio.sleep(3600)
    return response


async def stream_breaks(request: web.Request, body: Body) -> web.StreamResponse:
    """Break the connection in the middle of a stream."""
    response = await _stream(request)
    for chunk in chunks(body, answered(body))[:3]:
        await _event(response, chunk)
    assert request.transport is not None
    request.transport.abort()
    return response


async def stream_ends_early(request: web.Request, body: Body) -> web.StreamResponse:
    """End a stream in good order, but in the middle, as a proxy does whose server has gone."""
    response = await _stream(request)
    for chunk in chunks(body, answered(body))[:3]:
        await _event(response, chunk)
    return response


async def stream_fails(request: web.Request, body: Body) -> web.StreamResponse:
    """Say in the middle of a stream that the server failed."""
    response = await _stream(request)
    for chunk in chunks(body, answered(body))[:3]:
        await _event(response, chunk)
    await _event(response, {"error": {"message": "worker died", "type": "server_error", "code": 500}})
    return response


async def wordy(request: web.Request, body: Body) -> web.StreamResponse:
    """Answer well, with far more thoughts than the rest of the conversation has words."""
    answer = json.loads(bargainer.answer(body["messages"])) | {"reasoning": "Let me think. " * 400}
    return await complete(request, body, completion(body, json.dumps(answer)))


def odd_content(content: Any) -> Fault:
    """Return a fault: a completion, whole or streamed, whose content is no text."""

    async def respond(request: web.Request, body: Body) -> web.StreamResponse:
        if not body.get("stream"):
            return await complete(request, body, completion(body, content))
        opening, *_, last = chunks({**body, "stream_options": {}}, completion(body, ""))
        opening["choices"][0]["delta"]["content"] = content
        return await _events(request, opening, last)

    return respond


async def null_choices(request: web.Request, body: Body) -> web.StreamResponse:
    """Send a completion, whole or streamed, without choices."""
    if not body.get("stream"):
        return web.json_response(completion(body, "") | {"choices": None})
    opening, *_ = chunks(body, completion(body, ""))
    return await _events(request, *[opening | {"choices": None}] * 2)


async def _events(request: web.Request, *sent: Body) -> web.StreamResponse:
    response = await _stream(request)
    for chunk in sent:
        await _event(response, chunk)
    await response.write(b"data: [DONE]\n\n")
    return response


async def uncounted(request: web.Request, body: Body) -> web.StreamResponse:
    """Answer without a word about usage."""
    content = answered(body)
    del content["usage"]
    return await complete(request, {**body, "stream_options": {}}, content)


def length(short: int | None) -> Fault:
    """Return an answer that ends for its length, so many tokens short of those that it may have; None:
    nobody counts them."""

    async def respond(request: web.Request, body: Body) -> web.StreamResponse:
        content = completion(body, '{"reasoning": "Let me see', "length")
        if short is None:
            del content["usage"]
            return await complete(request, {**body, "stream_options": {}}, content)
        content["usage"]["completion_tokens"] = body["max_tokens"] - short
        return await complete(request, body, content)

    return respond


async def no_schema(request: web.Request, body: Body) -> web.StreamResponse:
    """Refuse a JSON schema, and answer where none is asked for."""
    if (body.get("response_format") or {}).get("type") == "json_schema":
        words = "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
        return await refused(400, f"{words} with this model.")(request, body)
    return await complete(request, body, answered(body))


def echoed(status: int) -> Fault:
    """Return a refusal of one message that repeats the whole request: FastAPI's, or vLLM's with 400."""

    async def respond(request: web.Request, body: Body) -> web.StreamResponse:
        where = ["body", "messages", len(body["messages"]) - 1, "content"]
        wrong = {"type": "value_error", "loc": where, "msg": "Value error, odd text", "input": body}
        if status == 400:
            return await refused(400, f"1 validation error: {[wrong]}")(request, body)
        return web.json_response({"detail": [wrong]}, status=status)

    return respond


async def literal(request: web.Request, body: Body) -> web.StreamResponse:
    """Refuse a JSON schema as FastAPI does where a server knows plain JSON only."""
    form = body.get("response_format")
    if (form or {}).get("type") != "json_schema":
        return await complete(request, body, answered(body))
    words = "Input should be 'text' or 'json_object'"
    wrong = {"type": "literal_error", "loc": ["body", "response_format", "type"], "msg": words}
    return web.json_response({"detail": [wrong | {"input": "json_schema"}]}, status=422)


async def until(request: web.Request, body: Body) -> web.StreamResponse:
    """Ask by date to be left alone for a second."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    return await refused(429, "Rate limit reached", Retry_After=date)(request, body)


OVERRUNS = {
    "openai": "This model's maximum context length is 8192 tokens. However, your messages are 9000.",
    "openai_new": "Your input exceeds the context window of this model. Please adjust your input.",
    "vllm": "This model's maximum context length is 2048 tokens. However, you requested 2200 tokens.",
    "vllm_decoder": "The decoder prompt (length 3000) is longer than the maximum model length of 2048.",
    "sglang": "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "llama_cpp": "the request exceeds the available context size. try increasing the context size",
    "lm_studio": "Trying to keep the first 5000 tokens when context the overflows. However, the model "
    "is loaded with context length of only 4096 tokens, which is not enough.",
    "mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "groq": "Please reduce the length of the messages or completion. (context_length_exceeded)",
    "openrouter": "This endpoint's maximum context length is 32768 tokens. However, you asked for 40k.",
    "xai": "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "anthropic_sum": "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
    "gemini": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
}
"""How providers say that a conversation does not fit."""

FAULTS: dict[str, Fault] = {
    # the provider's, and passing
    "rate_limit": refused(429, "Rate limit reached, slow down"),
    "retry_after": refused(429, "Rate limit reached", Retry_After="1"),
    "retry_after_date": until,
    "error_500": refused(500, "The server had an error"),
    "error_502": raw("<html><h1>502 Bad Gateway</h1></html>", 502, "text/html"),
    "error_503": refused(503, "The model is overloaded"),
    "error_529": refused(529, "Overloaded"),
    "error_408": refused(408, "Request timeout"),
    "error_504": raw("upstream request timeout", 504, "text/plain"),
    "reset_before_headers": reset_before_headers,
    "reset_in_body": reset_in_body,
    "truncated_json": truncated,
    "malformed_json": raw('{"choices": [nothing of the kind'),
    "text_body": raw("it works!", kind="text/plain"),
    "html_body": raw("<html><body>Please sign in</body></html>", kind="text/html"),
    "empty_body": raw(""),
    "no_choices": raw('{"id": "chat-1", "object": "chat.completion", "created": 1, "model": "m"}'),
    "empty_choices": raw('{"id": "c", "object": "chat.completion", "created": 1, "choices": []}'),
    "other_json": raw("[1, 2, 3]"),
    "null_choices": null_choices,
    "number_content": odd_content(5),
    "list_content": odd_content(["I offer", "$1,000"]),
    "error_in_200": raw('{"error": {"message": "upstream failed", "code": 502}}'),
    "stream_breaks": stream_breaks,
    "stream_ends_early": stream_ends_early,
    "stream_fails": stream_fails,
    # the provider's, and not passing
    "long_retry_after": refused(429, "Rate limit reached for the day", Retry_After="86400"),
    "hang": hang,
    "drip": drip,
    "stream_stalls": stream_stalls,
    "rejected": refused(400, "'max_tokens' must be at least 5000"),
    "rejected_422": refused(422, "body.messages: field required"),
    "bad_schema": refused(400, "Invalid schema"),
    "echoed_400": echoed(400),
    "echoed_422": echoed(422),
    "too_large": refused(413, "Payload too large"),
    "wrong_key": refused(401, "Incorrect API key provided", "invalid_api_key"),
    "forbidden": refused(403, "Your key may not use this model"),
    "unknown_model": refused(404, "The model `m` does not exist", "model_not_found"),
    "no_money": refused(402, "Insufficient balance"),
    "no_quota": refused(429, "You exceeded your current quota, see your plan", "insufficient_quota"),
    # the model's
    "null_content": said(None),
    "not_json": said("I offer $1,000."),
    "unknown_term": said('{"message": "", "action": "propose", "terms": {"no such term": "x"}}'),
    "cut_off": length(0),
    "length_uncounted": length(None),
    "refusal": said(None, refusal="I cannot help with that."),
    "content_filter": said(None, "content_filter"),
    "stream_without_end": stream_without_end,
    # the model's, where its own words are most of the conversation
    "length_early": length(1),
    "flagged": refused(400, "Your request was rejected by our safety system", "content_policy"),
    "flagged_403": refused(403, "Your chosen model requires moderation and your input was flagged"),
    **{f"overrun_{vendor}": refused(400, words) for vendor, words in OVERRUNS.items()},
    # no fault at all in the end
    "no_schema": no_schema,
    "literal": literal,
    "uncounted": uncounted,
    "wordy": wordy,
}
