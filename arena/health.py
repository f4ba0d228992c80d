"""What this machine lends the arena, and what to do about what is missing."""

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from arena.store import MissingDatabase, Registration, Store, StoreError

LEAST_GB = 1.0
"""Of free disk, below which a night's run may not end. This and the next are this project's choices."""
KNOCK_S = 2.0
"""A server of a registered agent answers to a connection within so long."""
EXTRAS = {
    "local": ("xllamacpp", "serves GGUF models by llama.cpp"),
    "train": ("trl", "trains sellers, and plays weights"),
    "ray": ("ray", "plays on the machines of a cluster"),
    "postgres": ("psycopg", "keeps the record on PostgreSQL"),
    "vllm": ("vllm", "serves weights on a GPU"),
}
"""What each adds, by a module of it."""


class State(StrEnum):
    """How something is."""

    OK = "ok"
    ABSENT = "absent"
    """Not there, and needed only by those who want what it is for."""
    BAD = "bad"
    """In the way of what was registered or asked for."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `remedy` is what to do, where there is something to do."""

    what: str
    state: State
    found: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON-ready data."""
        return asdict(self)


def python() -> Finding:
    """Say which Python and which release of the arena run."""
    running = ".".join(map(str, sys.version_info[:3]))
    return Finding(
        "python", State.OK, f"Python {running}, bargaining-arena {version('bargaining-arena')}"
    )


def extras() -> Iterator[Finding]:
    """Say which extras are installed."""
    for extra, (module, purpose) in EXTRAS.items():
        if find_spec(module) is not None:
            yield Finding(f"extra {extra}", State.OK, f"installed; {purpose}")
        else:
            remedy = f"to have it: pip install 'bargaining-arena[{extra}]'"
            yield Finding(f"extra {extra}", State.ABSENT, f"not installed; {purpose}", remedy)


def gpus(named: Sequence[str]) -> Finding:
    """Say which GPUs there are, given their names."""
    if named:
        return Finding("gpu", State.OK, ", ".join(named))
    remedy = "train --size tiny, llama.cpp and models of providers need none"
    return Finding("gpu", State.ABSENT, "the NVIDIA driver tells of none", remedy)


def database(address: str | None) -> tuple[Finding, list[Registration]]:
    """Open the database; say how that went, and return the agents that are registered in it and not
    withdrawn. Creates none; an older one is migrated, as every command does."""
    try:
        with Store.open(address, create=False) as store:
            agents = [agent for agent in store.registrations() if agent.withdrawn_at is None]
            found = f"{store.address}; designs: {len(store.designs())}, registered agents: {len(agents)}"
            return Finding("database", State.OK, found), agents
    except MissingDatabase:
        remedy = "the first command that writes makes it; --db names another"
        return Finding("database", State.ABSENT, "none yet", remedy), []
    except StoreError as error:
        return Finding("database", State.BAD, "cannot be used", str(error)), []


def disk(folder: Path) -> Finding:
    """Say what is free where the database is, and whether it may be written there."""
    free_gb = shutil.disk_usage(folder).free / 1e9
    found = f"{free_gb:,.1f} GB free in {folder.resolve()}"
    if not os.access(folder, os.W_OK):
        return Finding("disk", State.BAD, f"{found}, which may not be written to", "choose another --db")
    if free_gb < LEAST_GB:
        return Finding("disk", State.BAD, found, "make room, or choose another --db")
    return Finding("disk", State.OK, found)


def keys(agents: Iterable[Registration]) -> Iterator[Finding]:
    """Say which keys of registered agents are set, never what they are. Where one names no variable,
    it is the one after its provider, as most are called."""
    named: dict[str, list[str]] = {}
    likely: dict[str, list[str]] = {}
    for agent in agents:
        provider, _, model = (agent.spec.model or "").partition("/")
        if variable := agent.connection.api_key_env:
            named.setdefault(variable, []).append(agent.name)
        elif agent.spec.kind == "model" and model and not _has_address(agent):
            likely.setdefault(f"{provider.upper()}_API_KEY", []).append(agent.name)
    for variable in sorted({*named, *likely}):
        users = ", ".join(named.get(variable, []) + likely.get(variable, []))
        what, remedy = f"key {variable}", f"export {variable}=..."
        if os.environ.get(variable):
            yield Finding(what, State.OK, f"set; for {users}")
        elif variable in named:
            yield Finding(what, State.BAD, f"not set; {users} cannot be played", remedy)
        else:
            unsure = f"{remedy}, unless its key is called otherwise: arena check tells"
            yield Finding(what, State.ABSENT, f"not set; {users} may need it", unsure)


def _has_address(agent: Registration) -> bool:
    """Whether it is reached at an address of its own, or served here."""
    return agent.connection.api_base is not None or agent.connection.server is not None


def servers(agents: Iterable[Registration]) -> list[Finding]:
    """Say which addresses of registered agents take a connection; all are asked at once."""
    users: dict[str, list[str]] = {}
    for agent in agents:
        for address in filter(None, (agent.connection.api_base, *agent.connection.api_bases)):
            users.setdefault(address, []).append(agent.name)
    if not users:
        return []
    with ThreadPoolExecutor(len(users)) as pool:
        return list(pool.map(_server, users, users.values()))


def _server(address: str, users: Sequence[str]) -> Finding:
    parts, names = urlsplit(address), ", ".join(users)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    what = f"server {parts.hostname}:{port}"
    try:
        socket.create_connection((parts.hostname or "", port), KNOCK_S).close()
    except OSError as error:
        remedy = "start it, or register the agent with its new --api-base"
        return Finding(
            what, State.BAD, f"does not answer ({error.strerror or error}); for {names}", remedy
        )
    return Finding(what, State.OK, f"answers; for {names}")


def clock(written_at: float | None, now: float | None = None) -> Finding:
    """Say what time it is; `written_at`, the time of the last write to the database where that is known,
    cannot lie ahead. Both in seconds since 1970."""
    now = time.time() if now is None else now
    shown = time.strftime("%d %b %Y, %H:%M:%S UTC", time.gmtime(now))
    if written_at is not None and written_at > now + 60:
        ahead = f"{shown}; the database was written {written_at - now:,.0f} s later than that"
        return Finding("clock", State.BAD, ahead, "set the clock: the order of matches is kept by it")
    return Finding("clock", State.OK, shown)
