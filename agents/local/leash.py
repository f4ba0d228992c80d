"""``python -m agents.local.leash COMMAND ...`` runs a command until standard input ends.

Whoever starts it holds the other end of that pipe. However that process ends, killed outright included,
the pipe closes, and the command is ended with all its children: no server outlives the arena, and keeps
a GPU's memory.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

GRACE_S = 10.0
"""From asking the command to end until it is killed."""


def main(command: list[str]) -> int:
    """Run `command`; return its exit status."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    return process.wait()


def _end_with_input(process: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    with suppress(ProcessLookupError):  # children that it left behind
        os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
