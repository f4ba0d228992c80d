"""No key ever reaches a record: neither by a provider's error nor by an answer that echoes it."""

import json
import os
import re
from functools import lru_cache
from urllib.parse import quote

from agents.agent import MOST_TOKENS, Usage
from agents.language_model.library import NO_KEY
from agents.language_model.request import Completion

LENGTH = 400
"""Characters of a cleaned message."""
HIDDEN = "[hidden]"
LEAST = 6
"""Characters of a key; what is shorter is no secret, and would blot out ordinary words."""
LONG = 16
"""Characters that no ordinary word has: a variable that merely sounds secret may hold one."""
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_LIBRARY = re.compile(r"\blitellm\.(?=[A-Z])")  # before the name of an exception, not in docs.litellm.ai
_TRACEBACK = "Traceback (most recent call last)"
_PATTERNS = (
    (re.compile(r"(?<=://)[^/\s@]+@"), f"{HIDDEN}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.+/=*-]{6,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)(key|token|secret)(['\"]?\s*[=:]\s*['\"]?)[\w.+/*-]{6,}"), rf"\1\2{HIDDEN}"),
    (re.compile(r"\b(?:(?:sk|pk|gsk|hf|xai)[-_]|AIza)[\w*-]{6,}"), HIDDEN),
)


def clean(text: str, key: str | None = None) -> str:
    """Return an error's `text` as one line of at most LENGTH characters, without anything that looks
    secret, without a library's traceback, and with unprintable characters spelled out.

    Hidden are `key`, the value of every environment variable whose name speaks of a key, token,
    secret, password or credential, and what has the shape of one.
    """
    text = _without(text.partition(_TRACEBACK)[0], _secrets(LEAST) | {key or ""})
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    words = " ".join(_LIBRARY.sub("", text).split())
    # A server's words must not drive the terminal that shows them.
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    return line if len(line) <= LENGTH else line[: LENGTH - 1] + "…"


def without_keys(text: str, key: str | None) -> str:
    """Return a model's `text` with HIDDEN in place of `key`, however JSON or a URL would spell it, and
    of long values of variables that sound secret. All else stays as it is: words that merely look like
    a secret are the model's own."""
    if not text:
        return text
    return _without(text, _secrets(LONG) | ({key or ""} - {NO_KEY}))


def to_keep(completion: Completion, key: str | None) -> Completion:
    """Return what is kept of a completion: without keys, and with nothing that no database takes.

    Half a surrogate pair becomes its escape, which means the same within JSON; counts of tokens that
    cannot be are not known.
    """
    text, reasoning = (
        without_keys(given, key).encode("utf-8", "backslashreplace").decode()
        for given in (completion.text, completion.reasoning)
    )
    model = clean(completion.model, key) if isinstance(completion.model, str) else None
    return completion._replace(
        text=text, reasoning=reasoning, usage=_believable(completion.usage), model=model
    )


def _believable(usage: Usage) -> Usage:
    counts = usage.input_tokens, usage.output_tokens
    if all(count is None or 0 <= count <= MOST_TOKENS for count in counts):
        return usage
    return usage._replace(input_tokens=None, output_tokens=None, cost_usd=None)


def _secrets(least: int) -> set[str]:
    values = (os.environ.get(name, "") for name in os.environ if _sounds_secret(name))
    return {value for value in values if len(value) >= least}


@lru_cache(4096)
def _sounds_secret(name: str) -> bool:
    return _NAMES.search(name) is not None


def _without(text: str, secrets: set[str]) -> str:
    for form in _spelled(frozenset(secrets)):
        text = text.replace(form, HIDDEN)
    return text


@lru_cache(64)
def _spelled(secrets: frozenset[str]) -> tuple[str, ...]:
    """Return all forms of the secrets that are long enough, the longest first."""
    forms = {
        form
        for secret in secrets
        if len(secret) >= LEAST
        for form in (
            secret,
            json.dumps(secret)[1:-1],
            secret.replace("/", r"\/"),
            quote(secret, safe="", errors="replace"),
        )
    }
    return tuple(sorted(forms, key=len, reverse=True))
