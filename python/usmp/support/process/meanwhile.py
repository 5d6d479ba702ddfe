"""Computation in a second process while this one goes on, where that is safe and useful."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from usmp.support.process.termination import (
    is_own_process,
    postponed_signals,
    undo_at_signal,
    use_default_signals,
)
from usmp.support.process.usable_cpus import usable_cpus

_LEAST_PATIENCE = 10.0
"""Shortest time to wait for the result, in seconds."""

_Result = TypeVar("_Result")


@contextmanager
def meanwhile(
    compute: Callable[[], _Result], *, late: bool = False
) -> Iterator[Callable[[], _Result]]:
    """Yield a function that returns the result of `compute`, which runs beside the context.

    If this is a process of `tvmc` on Linux with a second CPU, a forked copy runs `compute`. Other
    programs make no copy, because a thread of another library may hold a lock. Without a copy, this
    process runs `compute` when the context begins. If the copy fails, or takes twice as long as the
    rest of the context (and at least some seconds), this process runs `compute` when the result is
    needed.

    Parameters
    ----------
    compute
        a function that does not print or write files; its result is pickled.
    late
        whether this process, without a copy, runs `compute` only when the result is needed, because
        the rest of the context is urgent.

    Raises
    ------
    Exception
        an error of `compute`, at the beginning or from the yielded function.
    """
    copy = None
    if _may_copy():
        # Go on without a copy if the system has too little memory or too many processes.
        with suppress(OSError):
            copy = _Copy(compute)
    if copy is None and late:
        yield compute
        return
    if copy is None:
        computed = compute()
        yield lambda: computed
        return
    try:
        yield partial(_result, copy, compute)
    finally:
        copy.end()


def _result(copy: _Copy, compute: Callable[[], _Result]) -> _Result:
    try:
        result: _Result = copy.result()
    except EOFError:
        return compute()
    return result


class _Copy:
    """A forked copy of this process that runs a function."""

    def __init__(self, compute: Callable[[], object]) -> None:
        self._begin = time.monotonic()
        context = get_context("fork")
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_send, args=(compute, sender))
        with postponed_signals():
            self._process.start()
            self._forget = undo_at_signal(self._process.kill)
        sender.close()

    def result(self) -> Any:
        """Return the result of the function.

        Raises
        ------
        EOFError
            the copy has failed, or is too late.
        """
        patience = max(_LEAST_PATIENCE, time.monotonic() - self._begin)
        if not self._receiver.poll(patience):
            raise EOFError
        return self._receiver.recv()

    def end(self) -> None:
        """End the copy, if it still runs."""
        self._process.kill()
        self._process.join()
        self._forget()
        self._receiver.close()


def _may_copy() -> bool:
    # Workers make no copies, because their number already matches the CPUs.
    is_free = is_own_process() and parent_process() is None
    return sys.platform == "linux" and is_free and usable_cpus() > 1


def _send(compute: Callable[[], object], sender: Connection) -> None:
    """Send the result of a function from the copy, and exit without exit handlers."""
    try:
        use_default_signals()
        sender.send(compute())
    finally:
        # Exit before Python prints an exception; the waiting process will raise it itself.
        os._exit(0)
