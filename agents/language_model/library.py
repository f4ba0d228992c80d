"""LiteLLM, which is slow to import, and the keys that it is given. Only the first call imports it."""

import gc
import logging
import os
import warnings
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, wraps
from typing import Any

from agents import loading
from agents.agent import MOST_TOKENS
from agents.spec import Connection

NO_KEY = "no-key"
"""Sent to an `api_base` for which no key is named: local servers take anything."""
HERE = ("127.0.0.1", "localhost", "::1")
"""This machine, which is never asked through a proxy."""
NEW_OBJECTS = 20_000
"""So many more are made than freed before garbage is looked for: some thirty answers' worth, 10 MB in
all."""


@cache
def library() -> Any:
    """Import LiteLLM: offline price map, no `.env` file read, no logs, no telemetry."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    # LiteLLM takes a stream that repeats itself for a failure of the server: it is the model's doing.
    os.environ["REPEATED_STREAMING_CHUNK_LIMIT"] = str(10**9)
    # How much goes at once is the endpoint's to say; who waits for a connection loses time meanwhile.
    os.environ["AIOHTTP_CONNECTOR_LIMIT"] = os.environ["AIOHTTP_CONNECTOR_LIMIT_PER_HOST"] = "10000"
    spare_this_machine()
    # It leaves one behind where a call is cancelled before it began, as at Ctrl-C.
    left = r"coroutine '\w+\.a(sync_)?(completion|streaming)\w*' was never awaited"
    warnings.filterwarnings("ignore", left, RuntimeWarning)
    # Of a usage that is no numbers; the next lines say what becomes of it.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with loading.shown("LiteLLM"):
        import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.turn_off_message_logging = True
    _count_only_counts(litellm.Usage)
    return litellm


def spare_this_machine() -> None:
    """Have servers on this machine asked without the proxy that variables name: it has no way here."""
    name = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"
    os.environ[name] = ",".join(filter(None, (os.environ.get(name), *HERE)))


def _count_only_counts(usage: Any) -> None:
    """Have LiteLLM take an answer with a usage that is no whole numbers as one without any, which it has
    as 0 tokens: it would refuse the answer for most of them, and charge a negative one."""
    as_it_comes = usage.__init__

    @wraps(as_it_comes)
    def counted(self: Any, *given: Any, **more: Any) -> None:
        tokens = (*given[:2], more.get("prompt_tokens"), more.get("completion_tokens"))
        with suppress(TypeError, ValueError, OverflowError):
            if all(count is None or _is_count(count) for count in tokens):
                as_it_comes(self, *given, **more)
                return
        as_it_comes(self)

    usage.__init__ = counted


def _is_count(told: Any) -> bool:
    """Return whether it is a number of tokens, as 12.0 and "12" are, which clients read as 12."""
    number = float(told)
    return 0 <= number <= MOST_TOKENS and number.is_integer()


@contextmanager
def loaded() -> Generator[None]:
    """Load LiteLLM, and have garbage looked for more seldom, and not in what is in memory then: to go
    through its half a million objects after every few calls takes a sixth of a run's time."""
    library()
    gc.collect()
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def unlogged() -> AbstractContextManager[None]:
    """Return what makes calls in it without LiteLLM's own logging of them, to which nobody listens here.

    That takes a fifth of a call's time, and while it lags behind holds on to what was said. There is no
    setting for it; calls within LiteLLM's calls are not logged, and so pass these for such.
    """
    library()  # or the import below would be of LiteLLM as it comes, which asks the network for prices
    from litellm._internal_context import internal_sub_call

    return internal_sub_call()


def api_key(connection: Connection, address: str | None) -> str | None:
    """Return the key to send, read now; None leaves it to LiteLLM's own environment variables.

    An `address` with no key named gets a dummy, so that no key meant for another provider is sent.
    """
    if connection.api_key_env is not None:
        return os.environ.get(connection.api_key_env) or None
    return NO_KEY if address is not None else None
