"""Whose doing it is when a call goes wrong, read off LiteLLM's exceptions.

What the model itself did is a fault of its own (:func:`own_fault`); all else is the provider's trouble,
with what to do about it and no secret in its words (:func:`provider_error`). `docs/agents.md` has the
table.
"""

import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agents.agent import ProviderError, Trouble
from agents.language_model.library import api_key, library
from agents.language_model.redaction import clean
from agents.spec import AgentSpec, Connection

_SCHEMA = re.compile(
    r"response_?format|json_?schema|output_config|structured output|response_?schema|\bschema\b|grammar",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE
)


def own_fault(error: Exception, messages: Sequence[Mapping[str, str]]) -> str | None:
    """Return the fault that an exception stands for where it is the agent's own doing; else None."""
    litellm = library()
    if isinstance(error, litellm.ContextWindowExceededError) and own_words(messages):
        return "context_overrun"
    if isinstance(error, litellm.ContentPolicyViolationError):
        return "refusal"
    return None


def own_words(messages: Sequence[Mapping[str, str]]) -> bool:
    """Return whether at least half of what a conversation grew by is the model's own.

    The first two messages, the prompt, are nobody's. Where it is less, a context that is too small is
    not the model's doing: this project's choice.
    """
    grown = messages[2:]
    own = sum(len(message["content"]) for message in grown if message["role"] == "assistant")
    return own > 0 and 2 * own >= sum(len(message["content"]) for message in grown)


def refuses_schema(error: Exception) -> bool:
    """Return whether a provider refused a request for the schema that came with it."""
    litellm = library()
    refused = (litellm.BadRequestError, litellm.UnprocessableEntityError)
    return isinstance(error, refused) and _SCHEMA.search(str(error)) is not None


def provider_error(
    error: Exception, spec: AgentSpec, connection: Connection, address: str | None, timeout_s: float
) -> ProviderError:
    """Return the trouble that an exception stands for, with what to do about it."""
    where = address or "the provider"
    trouble, advice, detail = _read(error, connection, where, timeout_s)
    told = f"{spec.model}: {advice}: {detail}"
    return ProviderError(clean(told, api_key(connection, address)), trouble, _retry_after(error))


def _read(
    error: Exception, connection: Connection, where: str, timeout_s: float
) -> tuple[Trouble, str, str]:
    """Return the trouble, what to do, and the provider's own words."""
    litellm = library()
    status = getattr(error, "status_code", None)
    detail = str(error) or type(error).__name__
    if (unreachable := _unreachable(error)) is not None:
        return Trouble.CONNECTION, f"cannot reach {where}; check that it is up", unreachable
    if isinstance(error, TimeoutError):
        advice = f"{where} did not answer in time (at most {timeout_s:g} s)"
        return Trouble.SILENCE, advice, "nothing came"
    if isinstance(error, litellm.Timeout):  # LiteLLM calls a server's 408 so, too
        advice = f"{where} did not answer in time (at most {timeout_s:g} s)"
        return Trouble.SERVER, advice, detail
    if isinstance(error, litellm.AuthenticationError | litellm.PermissionDeniedError):
        named = connection.api_key_env
        key = f"the key in {named}" if named else "the key (name its variable with --api-key-env)"
        return Trouble.AUTHENTICATION, f"{where} refused access; check {key}", detail
    if isinstance(error, litellm.NotFoundError):
        advice = f"{where} does not know the model; check its name and --api-base"
        return Trouble.UNKNOWN_MODEL, advice, detail
    if status == 402 or (status in (400, 429) and _QUOTA.search(detail)):
        return Trouble.QUOTA, f"{where} says that the account has no money left; top it up", detail
    if isinstance(error, litellm.RateLimitError):
        advice = f"{where} is limiting the rate (429); lower --concurrency or wait"
        return Trouble.RATE_LIMIT, advice, detail
    if "LLM Provider NOT provided" in detail:
        advice = "LiteLLM knows no provider by this name; check --model"
        return Trouble.UNKNOWN_MODEL, advice, "it is written PROVIDER/MODEL, as in openai/gpt-5"
    if isinstance(error, litellm.ContextWindowExceededError):
        advice = "the match does not fit the model's context; serve it with a larger one"
        return Trouble.CONTEXT, advice, detail
    if isinstance(error, litellm.BadRequestError | litellm.UnprocessableEntityError):
        advice = f"{where} rejected the request; check sampling and --structured"
        return Trouble.REJECTED, advice, detail
    if isinstance(error, litellm.APIConnectionError):
        return Trouble.CONNECTION, f"cannot reach {where}; check that it is up", detail
    return Trouble.SERVER, f"{where} failed" + (f" ({status})" if status else ""), detail


def malformed(what: str, spec: AgentSpec, address: str | None) -> ProviderError:
    """Return the trouble of an answer that is no completion."""
    where = address or "the provider"
    return ProviderError(f"{spec.model}: {where} sent no completion: {what}", Trouble.MALFORMED)


def _retry_after(error: Exception) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date, where the provider sent one."""
    for source in (getattr(error, "litellm_response_headers", None), getattr(error, "response", None)):
        headers = getattr(source, "headers", source) or {}
        if "retry-after" not in headers:
            continue
        with suppress(ValueError, TypeError):
            return max(0.0, float(headers["retry-after"]))
        with suppress(ValueError, TypeError):
            until = parsedate_to_datetime(headers["retry-after"])
            return max(0.0, (until - datetime.now(UTC)).total_seconds())
    return None


def _unreachable(error: BaseException | None) -> str | None:
    """Return why no connection came about, in the system's words; None where one did. LiteLLM calls
    this a server's 500."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror):
            return error.strerror or str(error)
        error = error.__cause__ or error.__context__
    return None
