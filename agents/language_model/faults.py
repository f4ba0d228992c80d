"""Whose doing it is when a call goes wrong, read off LiteLLM's exceptions.

What the model itself did is a fault of its own (:func:`own_fault`); all else is the provider's trouble,
with what to do about it and no secret in its words (:func:`provider_error`). `docs/agents/faults.md` has
the table.

LiteLLM's classes do not suffice: it calls a broken connection and a body that is no completion a
server's 500, and knows the wordings of some providers only. What it was told by HTTP stands in the chain
of the exception's causes.
"""

import math
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agents.agent import ProviderError, Trouble
from agents.language_model.library import api_key, library
from agents.language_model.prompt import NO_ANSWER
from agents.language_model.redaction import clean
from agents.language_model.request import Completion, Request
from agents.spec import AgentSpec, Connection

_SCHEMA = re.compile(
    r"response_?format|json_?schema|output_config|structured output|response_?schema|\bschema\b|grammar",
    re.IGNORECASE,
)
_ECHO = re.compile(
    r"""(?<!\\)(\\*+["'])(?:"""
    r"""(?:response_format|json_schema|schema)\1\s*:\s*\{|type\1\s*:\s*(\\*+["'])json_schema\2"""
    r"""|(?:content|input)\1\s*:\s*(\\*+["'])(?:(?!\3)(?:\\++.|[^\\]))*+\3)""",
    re.DOTALL,
)
"""What may speak of a schema in a request that a server repeats, whatever it refuses it for: as JSON, as
FastAPI does, or in Python's spelling within JSON, as vLLM."""
_CONTEXT = re.compile(
    r"context[ _](length|window|size|limit)|maximum (context|prompt|model|input) length"
    r"|maximum number of tokens|(prompt|input)\b.{0,60}\btoo (long|large)",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content[_ ](policy|filter|management)|safety system|flagged|requires moderation", re.IGNORECASE
)
_QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|funds|credit)|exceeded your current quota|credit balance is too low"
    r"|billing[_ ](hard[_ ]limit|not[_ ]active)|(used all|out of|no) (available )?credits",
    re.IGNORECASE,
)
_LATER = re.compile(r"(try again|retry) in|retry_?delay|per[ _](minute|hour|day)", re.IGNORECASE)
"""Google says of a limit of rate, too, that a quota is exceeded."""
LONGEST_S = 86_400.0
"""What a Retry-After may ask for, in seconds: limits are by the day at most. One that asks for more, or
for what is no time, is passed over as if it were not there. This project's choice."""
_NAMED = re.compile(r"(?:litellm\.)?(\w+Error|Timeout)(?: Error)?: |\w+Exception(?: \w+Error)? - ")
"""What LiteLLM puts before a provider's words, one or several: classes of its own, and whose words."""
_REFUSING = (400, 403, 413, 422)
_BY_STATUS = {
    401: Trouble.AUTHENTICATION,
    403: Trouble.AUTHENTICATION,
    402: Trouble.QUOTA,
    404: Trouble.UNKNOWN_MODEL,
    410: Trouble.UNKNOWN_MODEL,
    429: Trouble.RATE_LIMIT,
    **dict.fromkeys((408, 409, 425), Trouble.SERVER),
}


def own_fault(error: Exception, messages: Sequence[Mapping[str, str]]) -> str | None:
    """Return the fault that an exception stands for where it is the agent's own doing; else None.

    A request that does not fit, or that a filter flagged, is so where :func:`own_words` says it: what
    the other side said is not to make a model forfeit.
    """
    fault = "context_overrun" if _overruns(error) else "refusal" if _filtered(error) else None
    return fault if own_words(messages) else None


def within_context(completion: Completion, request: Request, address: str | None) -> Completion:
    """Return an answer; one that ended before it had the tokens that it may have found the context full,
    which is its fault where :func:`own_words` says so. Raises ProviderError where it is not."""
    given, may_have = completion.usage.output_tokens, request.most_given
    if completion.fault != "cut_off" or given is None or given >= may_have:
        return completion
    if own_words(request.messages):
        return completion._replace(fault="context_overrun")
    raise ProviderError(
        f"{request.spec.model}: {address or 'the provider'} ended the answer after {given:,} of "
        f"{may_have:,} tokens: its context is full, or it gives no more; serve the model with a larger "
        "context, or register it with a lower --max-tokens",
        Trouble.CONTEXT,
    )


def own_words(messages: Sequence[Mapping[str, str]]) -> bool:
    """Return whether at least half of what a conversation grew by is the model's own.

    The first two messages, the prompt, are nobody's, nor is an answer that did not come and the asking
    again that followed it. Where it is less, a context that is too small, or a filter that flags the
    conversation, is not the model's doing: this project's choice.
    """
    grown = list(messages[2:])
    while len(grown) > 1 and grown[-2]["role"] == "assistant" and grown[-2]["content"] == NO_ANSWER:
        del grown[-2:]
    own = sum(len(message["content"]) for message in grown if message["role"] == "assistant")
    return own > 0 and 2 * own >= sum(len(message["content"]) for message in grown)


def refuses_schema(error: Exception) -> bool:
    """Return whether a provider refused a request for the schema that came with it."""
    litellm = library()
    refused = (litellm.BadRequestError, litellm.UnprocessableEntityError)
    if not isinstance(error, refused) or _overruns(error):
        return False
    return _SCHEMA.search(_ECHO.sub("", str(error))) is not None


def provider_error(
    error: Exception, spec: AgentSpec, connection: Connection, address: str | None, timeout_s: float
) -> ProviderError:
    """Return the trouble that an exception stands for, with what to do about it."""
    where = address or "the provider"
    trouble = _trouble(error)
    unreachable = _unreachable(error)
    detail = unreachable or _words(error)
    told = f"{spec.model}: {_advice(error, trouble, connection, where, timeout_s)}: {detail}"
    told = clean(told, api_key(connection, address))
    return ProviderError(told, trouble, _retry_after(error), reached=unreachable is None)


def malformed(what: str, spec: AgentSpec, address: str | None) -> ProviderError:
    """Return the trouble of an answer that is no completion."""
    where = address or "the provider"
    return ProviderError(f"{spec.model}: {where} sent no completion: {what}", Trouble.MALFORMED)


def silence(spec: AgentSpec, address: str | None, seconds: float, what: str) -> ProviderError:
    """Return the trouble of a provider that did not answer within `seconds`."""
    where = address or "the provider"
    told = f"{spec.model}: {where} did not answer in time (at most {seconds:g} s): {what}"
    return ProviderError(told, Trouble.SILENCE)


def _trouble(error: Exception) -> Trouble:
    """Return the kind of trouble that an exception stands for."""
    import httpx

    status, words = _status(error), str(error)
    broken = [cause for cause in _chain(error) if isinstance(cause, httpx.TransportError)]
    if _unreachable(error) is not None:
        return Trouble.CONNECTION
    if isinstance(error, TimeoutError) or any(isinstance(b, httpx.TimeoutException) for b in broken):
        return Trouble.SILENCE
    if broken:
        return Trouble.CONNECTION
    if isinstance(error, ImportError) or "LLM Provider NOT provided" in words:
        return Trouble.UNKNOWN_MODEL
    if _overruns(error):
        return Trouble.CONTEXT
    if _filtered(error):
        return Trouble.REJECTED
    if status in (400, 403, 429) and _QUOTA.search(words):
        for_now = _LATER.search(words) or _retry_after(error) is not None
        return Trouble.RATE_LIMIT if for_now else Trouble.QUOTA
    if status is None:
        return Trouble.MALFORMED
    otherwise = Trouble.REJECTED if 400 <= status < 500 else Trouble.SERVER
    return _BY_STATUS.get(status, otherwise)


def _advice(
    error: Exception, trouble: Trouble, connection: Connection, where: str, timeout_s: float
) -> str:
    """Return what happened and what to do, in a few words."""
    status = _status(error)
    late = f"{where} did not answer in time (at most {timeout_s:g} s)"
    if trouble is Trouble.SILENCE or status in (408, 504):
        return late
    if trouble is Trouble.CONNECTION:
        broke = f"the connection to {where} broke"
        return broke if _unreachable(error) is None else _nobody_there(error, where)
    if trouble is Trouble.UNKNOWN_MODEL and isinstance(error, ImportError):
        return "LiteLLM needs another library for this provider; install it"
    if trouble is Trouble.UNKNOWN_MODEL and "LLM Provider NOT provided" in str(error):
        return "LiteLLM knows no provider by this name; check --model (PROVIDER/MODEL, as openai/gpt-5)"
    if trouble is Trouble.REJECTED and _filtered(error):
        return f"the filter of {where} flagged the conversation, most of it not the model's own words"
    asked_s = _retry_after(error)
    later = "" if asked_s is None else f", with a Retry-After of {asked_s:,.0f} s"
    named = connection.api_key_env
    key = f"the key in {named}" if named else "the key (name its variable with --api-key-env)"
    return {
        Trouble.AUTHENTICATION: f"{where} refused access; check {key}",
        Trouble.UNKNOWN_MODEL: f"{where} does not know the model; check its name and --api-base",
        Trouble.QUOTA: f"{where} says that the account has no money left; top it up",
        Trouble.RATE_LIMIT: f"{where} is limiting the rate (429{later}); lower --concurrency or wait",
        Trouble.CONTEXT: "the match does not fit the model's context; serve it with a larger one",
        Trouble.REJECTED: f"{where} rejected the request; check sampling and --structured",
        Trouble.MALFORMED: f"{where} sent no completion",
    }.get(trouble, f"{where} failed" + (f" ({status})" if status else ""))


def _nobody_there(error: Exception, where: str) -> str:
    """Return to whom no connection came about, which a variable or a proxy may have chosen, and what to
    do."""
    asked = [cause for cause in _chain(error) if isinstance(getattr(cause, "host", None), str)]
    host, port = (asked[0].host, asked[0].port) if asked else ("", None)  # type: ignore[attr-defined]
    whom = where if host in where else f"{where} ({host}:{port} was asked)"
    if any(isinstance(cause, socket.gaierror) for cause in _chain(error)):
        return (
            f"cannot reach {whom}, whose name leads nowhere; check its spelling, and the network and "
            "the name server on this side"
        )
    return f"cannot reach {whom}; check that it is up"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and what it was raised from or during, the outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: Exception) -> int | None:
    """Return the HTTP status that an exception stands for; None where the provider sent no failure."""
    import httpx

    status = getattr(error, "status_code", None)
    told = any(isinstance(cause, httpx.HTTPStatusError) for cause in _chain(error))
    return status if told or status not in (200, 500) else None


def _overruns(error: Exception) -> bool:
    """Return whether a provider said that a conversation does not fit."""
    if isinstance(error, library().ContextWindowExceededError):
        return True
    return _status(error) in _REFUSING and _CONTEXT.search(str(error)) is not None


def _filtered(error: Exception) -> bool:
    """Return whether a provider's filter refused a request for what is said in it."""
    if isinstance(error, library().ContentPolicyViolationError):
        return True
    return _status(error) in (400, 403) and _FILTER.search(str(error)) is not None


def _words(error: Exception) -> str:
    """Return an exception's class, once, and the provider's own words, as far as there are any."""
    words, kinds = str(error), library().exceptions
    while found := _NAMED.match(words):
        if found[1] is not None and not hasattr(kinds, found[1]):
            break  # a class of the provider's
        words = words[found.end() :]
    return f"{type(error).__name__}: {words}".rstrip(": ")


def _retry_after(error: Exception) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date, where the provider sent one that
    can be meant: neither below 0 nor above LONGEST_S."""
    for source in (getattr(error, "litellm_response_headers", None), getattr(error, "response", None)):
        headers = getattr(source, "headers", source) or {}
        if "retry-after" in headers:
            asked_s = _seconds(headers["retry-after"])
            return asked_s if 0 <= asked_s <= LONGEST_S else None
    return None


def _seconds(asked: str) -> float:
    """Return the seconds that a header asks for; NaN where it cannot be read."""
    with suppress(ValueError, TypeError):
        return float(asked)
    with suppress(ValueError, TypeError):
        return (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
    return math.nan


def _unreachable(error: BaseException | None) -> str | None:
    """Return why no connection came about, in the system's words; None where one did."""
    for cause in _chain(error):
        if isinstance(cause, ConnectionRefusedError | socket.gaierror):
            return cause.strerror or str(cause)
    return None
