"""Addresses of model servers: what may be stored of them, and whether they are near."""

import ipaddress
from urllib.parse import urlsplit


def checked_address(text: str) -> str:
    """Return an address that may be stored. Raises ValueError where it is none, or holds a secret."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("api_base must be a full address, such as http://host:8000/v1")
    if parts.username or parts.password or parts.query:
        raise ValueError(
            "api_base may hold no password, key or query, which would be stored: name the environment "
            "variable with the key in api_key_env"
        )
    return text


def is_private(address: str) -> bool:
    """Return whether an address is on this machine or in a private network."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))
