"""Ctrl-C where it only ends a search; elsewhere it does what `usmp.support.termination` says."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Yield what returns whether there was an interrupt; the second one does what it always
    does."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        # Another part of the process decides what an interrupt does.
        yield lambda: False
        return
    noticed: list[int] = []

    def notice(number: int, frame: FrameType | None) -> None:
        if noticed:
            usual(number, frame)
        noticed.append(number)

    signal.signal(signal.SIGINT, notice)
    try:
        yield lambda: bool(noticed)
    finally:
        signal.signal(signal.SIGINT, usual)
