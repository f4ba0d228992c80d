"""Where a model's requests really go: LiteLLM and its clients follow variables of the environment."""

import os
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agents.language_model.library import HERE
from agents.language_model.sent import Reader
from agents.spec import AgentSpec, Connection

_NAMES = re.compile(r"(BASE|URL|ENDPOINT|HOST)$", re.IGNORECASE)
"""How variables are called that LiteLLM takes a provider's address from, such as ANTHROPIC_API_BASE."""


class Route(NamedTuple):
    """The way of a model's requests. Hosts have their port where one is given, and never a password."""

    host: str | None
    """Who is asked; None where LiteLLM does not show it, or the arena serves the model."""
    by: str | None = None
    """The variable that names `host`; None where it is the provider's own, or registered."""
    proxy: str | None = None
    """Through whom, where variables (HTTPS_PROXY and the like) say so."""

    @property
    def words(self) -> str | None:
        """How variables change it, in words; None where they do not."""
        parts = [] if self.by is None else [f"at {self.host}, as {self.by} says"]
        if self.proxy is not None:
            parts.append(f"through the proxy {self.proxy}, as a variable such as HTTPS_PROXY says")
        return ", ".join(parts) or None


def route(spec: AgentSpec, connection: Connection) -> Route:
    """Return where requests to a served model go now; may import LiteLLM, which takes seconds."""
    if connection.server is not None:
        return Route(None)
    if connection.api_base is not None:
        return Route(_host(connection.api_base), None, _proxy(connection.api_base))
    said = tuple(sorted((n, v) for n, v in os.environ.items() if _NAMES.search(n) and _host(v)))
    address = _asked(spec.model or "", said)
    host = _host(address or "")
    if address is None or host is None:
        return Route(None)
    provider = (spec.model or "").partition("/")[0].upper()
    named = sorted((n for n, v in said if _host(v) == host), key=lambda n: not n.startswith(provider))
    return Route(host, named[0] if named else None, _proxy(address))


def redirected(spec: AgentSpec, connection: Connection) -> Route | None:
    """Return :func:`route` where variables change it; None where they do not. LiteLLM is not imported
    where no variable could."""
    if not getproxies().keys() - {"no"} and not any(
        _NAMES.search(n) and _host(v) for n, v in os.environ.items()
    ):
        return None
    found = route(spec, connection)
    return found if found.words is not None else None


@lru_cache(256)
def _asked(model: str, variables: tuple[tuple[str, str], ...]) -> str | None:
    """Return the address of requests to a model; what else it depends on are the `variables`."""
    return Reader(AgentSpec(kind="model", model=model)).address()


def _proxy(address: str) -> str | None:
    """Return through whom LiteLLM's clients ask an address."""
    parts = urlsplit(address)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    host = parts.hostname or ""
    if named is None or host in HERE or proxy_bypass(host):
        return None
    return _host(named if "://" in named else f"http://{named}")


def _host(address: str) -> str | None:
    """Return an address's host, with its port where it has one; None where it is no address."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
