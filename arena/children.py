"""Processes of ours that play: they leave signals to their parent, and end when it does."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing import connection

_STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_held_back() -> Generator[None]:
    """Start processes that no Ctrl-C or SIGTERM ends: a blocked signal stays blocked in a new process,
    until it ignores it. Such signals go to the whole group, and only the parent should answer them; it
    does so when this context ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def obey_parent() -> None:
    """Have this new process leave signals to its parent, and end when the parent does."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
