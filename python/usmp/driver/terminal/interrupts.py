"""Ctrl-C during a search: the first one ends the search.

Elsewhere, `usmp.support.process.termination` handles Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Defer the first Ctrl-C, and yield a function that returns whether it came.

    A second Ctrl-C calls the previous handler.
    """
    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous) or threading.current_thread() is not threading.main_thread():
        # Another thread, or a handler outside of Python, handles interrupts.
        yield lambda: False
        return
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        if received:
            previous(number, frame)
        received.append(number)

    signal.signal(signal.SIGINT, receive)
    try:
        yield lambda: bool(received)
    finally:
        signal.signal(signal.SIGINT, previous)
