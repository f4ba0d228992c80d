"""``python -m agents.local.leash COMMAND ...`` runs a command until standard input ends.

Whoever starts it holds the other end of that pipe. However that process ends, killed outright included,
the pipe closes, and the command is ended with all its children: no server outlives the arena, and keeps
a GPU's memory.

Nor does one outlive its leash. Linux, asked to, kills the command with it; the command's children, which
that does not reach, are in the leash's process group, which whoever started it kills
(:mod:`agents.local.server`). Elsewhere that is all there is.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

GRACE_S = 10.0
"""From asking the command to end until it is killed."""
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(command: list[str]) -> None:
    """Run `command`; once it has ended, kill what is left of this process's group, itself included."""
    if os.getpgrp() != os.getpid():  # started by hand: others are in the group
        os.setpgrp()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_ending_with_parent())
    threading.Thread(target=_end_with_input, args=(process,), daemon=True).start()
    process.wait()
    os.killpg(0, signal.SIGKILL)


def _ending_with_parent() -> Callable[[], None] | None:
    """Return what a child calls before it becomes the command, so that Linux kills it when the thread
    that started it ends; None elsewhere."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended already
            os._exit(1)

    return ask


def _end_with_input(process: "subprocess.Popen[bytes]") -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    process.terminate()
    time.sleep(GRACE_S)
    process.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
