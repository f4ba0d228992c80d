"""Content identity: the same content gives the same digest on any machine.

A digest is the SHA-256 of canonical JSON (sorted keys, no spaces, UTF-8, no NaN). Everything that has
an identity here, from a domain to a match key, gets it from :func:`digest`.
"""

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(content: Any) -> str:
    """Return `content` as canonical JSON. Raises ValueError for NaN or infinity."""
    return _ENCODER.encode(content)


def digest(content: Any, length: int = 64) -> str:
    """Return the first `length` (1 to 64) hexadecimal digits of the content's SHA-256."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:length]
