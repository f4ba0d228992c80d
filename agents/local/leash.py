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
import time
from contextlib import suppress

GRACE_S = 10.0
"""From asking the command to end until it is killed."""


def main(command: list[str]) -> int:
    """Run `command`; return its exit status. Children that it leaves behind are killed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    status = process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return status


def _end_with_input(process: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    process.terminate()
    time.sleep(GRACE_S)
    process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
