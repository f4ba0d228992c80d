"""One call to a model's provider through LiteLLM, and whose doing it is when that goes wrong.

LiteLLM is slow to import, so only :func:`library` does, on the first call. What the model itself did
(an answer cut off, a refusal, a conversation that no longer fits) comes back as a
:class:`Completion` with a fault; everything else that fails is the provider's and raises
:class:`agents.agent.ProviderError`, with no secret in its words.
"""

import asyncio
import logging
import os
import random
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from agents.agent import ProviderError, Usage
from agents.language_model.redaction import clean
from agents.spec import AgentSpec, Connection

TIMEOUT_S = 300.0
"""How long one call may take, where the connection does not say."""
PAUSES_S = (1.0, 4.0)
"""Waits before the second and third try of a call that failed for a passing reason."""
LONGEST_PAUSE_S = 60.0
"""A provider that asks for a longer wait than this fails the call."""
NO_KEY = "no-key"
"""Sent to an `api_base` for which no key is named: local servers take anything."""


class Completion(NamedTuple):
    """One answer: its text, private reasoning, the agent's own fault if any, usage, model served."""

    text: str
    reasoning: str
    fault: str | None
    usage: Usage
    model: str | None


@cache
def library() -> Any:
    """Import LiteLLM: offline price map, no `.env` file read, no logs, no telemetry."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.turn_off_message_logging = True
    return litellm


async def complete(
    spec: AgentSpec,
    connection: Connection,
    messages: Sequence[Mapping[str, str]],
    response_format: Mapping[str, Any] | None = None,
) -> Completion:
    """Ask the model once, trying again where the failure may pass (connection, 408, 429, 5xx).

    Raises ProviderError when the provider gives no usable answer. A call that ran into its timeout is
    not tried again.
    """
    request = {
        **spec.sampling,
        "model": spec.model,
        "messages": list(messages),
        "timeout": connection.timeout_s or TIMEOUT_S,
        "max_retries": 0,
    }
    if response_format is not None:
        request["response_format"] = response_format
    if connection.api_base is not None:
        request["api_base"] = connection.api_base
    key = api_key(connection)
    if key is not None:
        request["api_key"] = key
    for pause in (*PAUSES_S, None):
        begun = time.perf_counter()
        try:
            response = await library().acompletion(**request)
            return _completion(response, spec, connection, time.perf_counter() - begun)
        except Exception as error:
            seconds = time.perf_counter() - begun
            own = _own_fault(error)
            if own is not None:
                return Completion("", "", own, Usage(latency_s=round(seconds, 4)), None)
            # LiteLLM calls a server's 408 a timeout too; only silence is not worth another try.
            silent = isinstance(error, library().Timeout) and seconds >= request["timeout"]
            wait = None if silent or pause is None else _wait(error, pause)
            if wait is None:
                # `from None`: the chain would show the request, and with it the key.
                raise _provider_error(error, spec, connection) from None
        await asyncio.sleep(wait)
    raise AssertionError("the last pause is None, which ends the loop")


def api_key(connection: Connection) -> str | None:
    """Return the key to send, read now; None leaves it to LiteLLM's own environment variables.

    An `api_base` with no key named gets a dummy, so that no key meant for another provider is sent.
    """
    if connection.api_key_env is not None:
        return os.environ.get(connection.api_key_env) or None
    return NO_KEY if connection.api_base is not None else None


def _completion(response: Any, spec: AgentSpec, connection: Connection, seconds: float) -> Completion:
    choice = response.choices[0]
    message = choice.message
    text, fault = message.content or "", None
    extra = getattr(message, "provider_specific_fields", None) or {}
    refusal = getattr(message, "refusal", None) or extra.get("refusal")
    if choice.finish_reason == "length":
        fault = "cut_off"
    elif choice.finish_reason == "content_filter" or (refusal and not text):
        text, fault = text or str(refusal or ""), "refusal"
    reasoning = getattr(message, "reasoning_content", None) or ""
    usage = _usage(response, spec, connection, seconds)
    return Completion(text, str(reasoning), fault, usage, getattr(response, "model", None))


def _usage(response: Any, spec: AgentSpec, connection: Connection, seconds: float) -> Usage:
    """Return what the call took; what the provider does not report, or nobody prices, is None."""
    counts = getattr(response, "usage", None)
    taken = getattr(counts, "prompt_tokens", None) or None
    given = getattr(counts, "completion_tokens", None)
    given = given if taken is not None else given or None
    return Usage(taken, given, _cost(response, spec, connection, taken, given), round(seconds, 4))


def _cost(
    response: Any, spec: AgentSpec, connection: Connection, taken: int | None, given: int | None
) -> float | None:
    """Return the price in US dollars: the connection's own prices, else LiteLLM's map, else None."""
    if taken is None or given is None:
        return None
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    try:
        cost = library().completion_cost(completion_response=response, model=spec.model)
    except Exception:  # the map has no price, and says so with several kinds of exception
        return None
    # The map also holds zeros where nobody filled in a price: that is not known to be free.
    return float(cost) or None


def price_of(spec: AgentSpec, connection: Connection, taken: int, given: int) -> float | None:
    """Return the price of so many tokens in and out in US dollars, before any is used; None: unknown.

    The connection's own prices, else LiteLLM's map; discounts for cached prompts are not counted.
    """
    if (own := _own_price(connection, taken, given)) is not None:
        return own
    try:
        cost = library().cost_per_token(model=spec.model, prompt_tokens=taken, completion_tokens=given)
    except Exception:  # as above
        return None
    return float(sum(cost)) or None


def _own_price(connection: Connection, taken: int, given: int) -> float | None:
    if connection.input_usd_per_million is None or connection.output_usd_per_million is None:
        return None
    return (taken * connection.input_usd_per_million + given * connection.output_usd_per_million) / 1e6


def _own_fault(error: Exception) -> str | None:
    """Return the fault that an exception stands for where it is the agent's own doing."""
    litellm = library()
    if isinstance(error, litellm.ContextWindowExceededError):
        return "context_overrun"
    if isinstance(error, litellm.ContentPolicyViolationError):
        return "refusal"
    return None


def _wait(error: Exception, pause: float) -> float | None:
    """Return how long to wait before trying again, or None where that is useless."""
    status = getattr(error, "status_code", None)
    passing = isinstance(status, int) and (status in (408, 429) or status >= 500)
    if not passing and not isinstance(error, library().APIConnectionError):
        return None
    asked = _retry_after(error)
    if asked is None:
        return pause * random.SystemRandom().uniform(1.0, 1.5)
    return asked if asked <= LONGEST_PAUSE_S else None


def _retry_after(error: Exception) -> float | None:
    """Return the seconds of a Retry-After header, where the provider sent one."""
    for source in (getattr(error, "litellm_response_headers", None), getattr(error, "response", None)):
        headers = getattr(source, "headers", source) or {}
        with suppress(ValueError):  # it may also be a date, which no known provider sends
            if "retry-after" in headers:
                return max(0.0, float(headers["retry-after"]))
    return None


def _provider_error(error: Exception, spec: AgentSpec, connection: Connection) -> ProviderError:
    litellm = library()
    status = getattr(error, "status_code", None)
    where = connection.api_base or "the provider"
    permanent, detail = False, str(error) or type(error).__name__
    if (unreachable := _unreachable(error)) is not None:
        advice, detail = f"cannot reach {where}; check that it is up", unreachable
    elif isinstance(error, litellm.Timeout):
        advice = f"{where} did not answer in time (at most {connection.timeout_s or TIMEOUT_S:g} s)"
    elif isinstance(error, litellm.AuthenticationError | litellm.PermissionDeniedError):
        named = connection.api_key_env
        key = f"the key in {named}" if named else "the key (name its variable with --api-key-env)"
        advice, permanent = f"{where} refused access; check {key}", True
    elif isinstance(error, litellm.NotFoundError):
        advice, permanent = f"{where} does not know the model; check its name and --api-base", True
    elif isinstance(error, litellm.RateLimitError):
        advice = f"{where} is limiting the rate (429); lower --concurrency or wait"
    elif "LLM Provider NOT provided" in detail:
        advice, permanent = "LiteLLM knows no provider by this name; check --model", True
        detail = "it is written PROVIDER/MODEL, as in anthropic/claude-sonnet-5"
    elif isinstance(error, litellm.BadRequestError | litellm.UnprocessableEntityError):
        advice, permanent = f"{where} rejected the request; check sampling and --structured", True
    elif isinstance(error, litellm.APIConnectionError):
        advice = f"cannot reach {where}; check that it is up"
    else:
        advice = f"{where} failed" + (f" ({status})" if status else "")
    told = f"{spec.model}: {advice}: {detail}"
    return ProviderError(clean(told, api_key(connection)), permanent=permanent)


def _unreachable(error: BaseException | None) -> str | None:
    """Return why no connection came about, in the system's words; None where one did. LiteLLM calls
    this a server's 500."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror):
            return error.strerror or str(error)
        error = error.__cause__ or error.__context__
    return None
