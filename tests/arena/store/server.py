"""A PostgreSQL server of the tests' own on loopback, gone after them, or one that runs already."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import URL, make_url

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian keeps its releases, off the path."""
SETTINGS = {
    # What is thrown away need not outlast a power cut.
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}


class Server:
    """A server in which databases are made and dropped."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._made = 0

    def do(self, statement: str) -> None:
        """Execute a statement outside a transaction."""
        with psycopg.connect(plain(self._url), autocommit=True) as connection:
            connection.execute(statement)

    @contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """Make a database, a copy of `template`, and drop it at the end; give its address."""
        self._made += 1
        name = f"arena_test_{os.getpid()}_{self._made}"
        self.do(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self._url.set(database=name).render_as_string(hide_password=False)
        finally:
            self.do(f"DROP DATABASE {name} WITH (FORCE)")


class Breakable(Server):
    """One that is started here, and can be broken."""

    def __init__(self, url: URL, begun: Callable[[], AbstractContextManager[Any]]) -> None:
        """`begun` gives a process that is started, answers, and is stopped in order."""
        super().__init__(url)
        self._begun, self._running = begun, ExitStack()
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = self._running.enter_context(self._begun())

    def crash(self) -> None:
        """End it as a power cut would, but for what it wrote to disk."""
        self._process.send_signal(signal.SIGQUIT)  # its "immediate" shutdown
        self._process.wait(60)

    def stop(self) -> None:
        """Stop it in order."""
        self._running.close()


@contextmanager
def serving() -> Iterator[Server]:
    """Give the server that ARENA_TEST_POSTGRES names (the address of a database on it, whose user may
    create others), else one that is started here. Skips where none is installed."""
    given = os.environ.get("ARENA_TEST_POSTGRES")
    if given:
        yield Server(make_url(given))
        return
    with breakable() as server:
        yield server


@contextmanager
def breakable() -> Iterator[Breakable]:
    """Give a server that is started here. Skips where none is installed."""
    programs = _programs()
    with tempfile.TemporaryDirectory(prefix="arena-postgres-") as made, socket.socket() as free:
        folder, who = Path(made), _nobody()
        if who:
            os.chown(folder, who["user"], who["group"])
        # Under this collation text does not sort as its bytes do, as on most servers.
        collation = ("--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en")
        access = ("--username=arena", "--auth=trust", "--no-sync")
        command = [programs / "initdb", "--pgdata", folder / "data", *collation, *access]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **who)
        assert done.returncode == 0, done.stderr
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        free.close()
        url = URL.create("postgresql+psycopg", "arena", None, "127.0.0.1", port, "postgres")
        server = Breakable(url, lambda: _process(programs / "postgres", folder, url, who))
        try:
            yield server
        finally:
            server.stop()


def plain(url: URL) -> str:
    """Return the address as the driver itself takes it."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def _programs() -> Path:
    """Return the folder of the server's programs, the newest release's where several are installed."""
    on_path = shutil.which("postgres")
    if on_path:
        return Path(on_path).resolve().parent
    found = [path.parent for path in INSTALLED.glob("*/bin/postgres")]
    if not found:
        pytest.skip("no PostgreSQL is installed (Debian: apt install postgresql)")
    return max(found, key=lambda folder: float(folder.parent.name))


def _nobody() -> dict[str, Any]:
    """Return as whom to run a server, which refuses to run as root."""
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


@contextmanager
def _process(
    program: Path, folder: Path, url: URL, who: dict[str, Any]
) -> Iterator["subprocess.Popen[bytes]"]:
    settings = SETTINGS | {"unix_socket_directories": str(folder), "listen_addresses": "127.0.0.1"}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = [program, "-D", folder / "data", "-p", str(url.port), *options]
    with open(folder / "log", "ab") as log:
        # In a session of its own: Ctrl-C is for the tests, which then stop it in order.
        own = {"start_new_session": True, "preexec_fn": _ending_with_parent()}
        process = subprocess.Popen(command, stderr=log, cwd="/", **own, **who)
    try:
        _wait(url, process, folder / "log")
        yield process
    finally:
        process.send_signal(signal.SIGINT)  # its "fast" shutdown
        process.wait(60)


def _ending_with_parent() -> Callable[[], object] | None:
    """Return what a child calls so that Linux stops it if the tests are killed; None elsewhere."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _wait(url: URL, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until the server answers."""
    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(plain(url), connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
