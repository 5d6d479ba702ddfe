"""Ctrl-C, also where a library swallows it, or where it only ends a search."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticed_interrupts() -> Iterator[Callable[[], bool]]:
    """Raise `KeyboardInterrupt` as ever, and yield what tells whether it was raised.

    NumPy that is interrupted while PyTorch loads it goes on half-made, and fails later with an
    error of another kind.
    """
    noticed: list[int] = []

    def notice(number: int, frame: FrameType | None) -> None:
        noticed.append(number)
        signal.default_int_handler(number, frame)

    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or (
        threading.current_thread() is not threading.main_thread()
    ):
        # Somebody else decides what an interrupt does.
        yield lambda: False
        return
    signal.signal(signal.SIGINT, notice)
    try:
        yield lambda: bool(noticed)
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Yield what tells whether there was an interrupt; only the second one is raised."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        # Somebody else decides what an interrupt does.
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
