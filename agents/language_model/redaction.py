"""No key ever appears in a message: errors of providers are cleaned before anyone sees them."""

import os
import re

LENGTH = 400
"""Characters of a cleaned message."""
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_LIBRARY = re.compile(r"\blitellm\.(?=[A-Z])")  # before the name of an exception, not in docs.litellm.ai
_PATTERNS = (
    (re.compile(r"(?<=://)[^/\s@]+@"), "[hidden]@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.+/=*-]{6,}"), r"\1 [hidden]"),
    (re.compile(r"(?i)(key|token|secret)(['\"]?\s*[=:]\s*['\"]?)[\w.+/*-]{6,}"), r"\1\2[hidden]"),
    (re.compile(r"\b(?:(?:sk|pk|gsk|hf|xai)[-_]|AIza)[\w*-]{6,}"), "[hidden]"),
)


def clean(text: str, key: str | None = None) -> str:
    """Return `text` as one line of at most LENGTH characters, without anything that looks secret.

    Hidden are `key`, the value of every environment variable whose name speaks of a key, token,
    secret, password or credential, and what has the shape of one.
    """
    secrets = {value for name, value in os.environ.items() if _NAMES.search(name)} | {key or ""}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 6:
            text = text.replace(secret, "[hidden]")
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    line = " ".join(_LIBRARY.sub("", text).split())
    return line if len(line) <= LENGTH else line[: LENGTH - 1] + "…"
