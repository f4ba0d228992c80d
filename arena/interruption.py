"""Ctrl-C and SIGTERM end a run in good order."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruptible(interrupt: Callable[[], bool]) -> Iterator[None]:
    """Have Ctrl-C and SIGTERM call `interrupt`, which returns whether they changed anything; one that
    does not ends the run at once. Outside the main thread, where no signal arrives, nothing is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(signum: int, frame: object) -> None:
        if not interrupt():
            raise KeyboardInterrupt

    before = {number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
