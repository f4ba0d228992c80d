"""Ctrl-C and SIGTERM end a run in good order."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruptible(interrupt: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C or SIGTERM call `interrupt`; a second one ends the run at once. Outside the
    main thread, where no signal arrives, nothing is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def answer(signum: int, frame: object) -> None:
        nonlocal interrupted
        if interrupted:
            raise KeyboardInterrupt
        interrupted = True
        interrupt()

    before = {number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
