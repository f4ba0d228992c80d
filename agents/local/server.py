"""A server of our own on this machine: started on a free port, waited for, and stopped.

It listens on the loopback interface only, and ends when this process closes it or ends itself, even if
it is killed (:mod:`agents.local.leash`).
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

READY_S = 1800.0
"""How long a server may take to come up: large weights are read from a disk, and graphs are captured."""
SHARE = 0.9
"""Of the GPU's memory, for all servers together."""
LAST_WORDS = 300
"""Characters of what a server said last that messages repeat."""
LONGEST_LOG = 2**20
"""Bytes, its last ones, of a log that is kept."""


class Server:
    """A process that answers HTTP, and says at ``/health`` when it is ready to."""

    def __init__(self, called: str, command: Sequence[str]) -> None:
        """Start `command`, which is given ``--port N`` besides. `called` is what errors call it."""
        self._called = called
        port = _free_port()
        self.address = f"http://127.0.0.1:{port}"
        # A file, not a pipe: nobody reads while the server runs, and a full pipe would stop it.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "agents.local.leash", *command, "--port", str(port)],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        atexit.register(self.close)

    @property
    def runs(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """Return the end of what it has printed, empty once it is closed."""
        return self._said(4 * LAST_WORDS)[-LAST_WORDS:]

    def kept_log(self) -> Path:
        """Return a file, which stays, with all that it has printed, once it is closed nothing."""
        with tempfile.NamedTemporaryFile("w", prefix="arena-", suffix=".log", delete=False) as file:
            file.write(self._said(LONGEST_LOG))
        return Path(file.name)

    def _said(self, most: int) -> str:
        if self._log.closed:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        # Read at a place of its own: the server goes on writing where the file's own place is.
        said = os.pread(self._log.fileno(), most, max(0, size - most))
        return said.decode(errors="replace").strip()

    def wait_until_ready(self, limit_s: float) -> None:
        """Wait until it answers. Raises RuntimeError, with its last words, where it ends instead, and
        where it is not ready after `limit_s` seconds; it is then left to be closed."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            if not self.runs:
                raise RuntimeError(f"{self._called} ended: {self.last_words()}")
            if self.answers(5):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self._called} was not ready after {limit_s:g} s: {self.last_words()}")

    def answers(self, limit_s: float) -> bool:
        """Return whether it says within `limit_s` seconds that it is well."""
        try:
            with urllib.request.urlopen(f"{self.address}/health", timeout=limit_s):
                return True
        except (OSError, HTTPException):
            return False

    def kill(self) -> None:
        """End it at once, with its children, although it hangs. What it said can still be read."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Stop the server, and wait until it has ended with all its children."""
        atexit.unregister(self.close)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()  # the leash: it ends the server, and then itself
        self._process.wait()
        with suppress(ProcessLookupError):  # it kills its group itself, unless it was killed
            os.killpg(self._process.pid, signal.SIGKILL)
        self._log.close()


def vllm(folder: Path, name: str, share: float) -> list[str]:
    """Return the command of a vLLM server for the weights in `folder`, which it calls `name`, with a
    `share` (0 to 1) of the GPU's memory."""
    return [
        *(sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(folder)),
        *("--host", "127.0.0.1", "--served-model-name", name),
        *("--generation-config", "vllm"),  # no sampling settings from the folder
        *("--gpu-memory-utilization", f"{share:.3f}"),
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
