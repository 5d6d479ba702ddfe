"""What a second process computes while this one goes on, where that is safe and of use."""

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

from usmp.support.termination import (
    is_own_process,
    postponed_signals,
    undo_at_signal,
    use_default_signals,
)
from usmp.support.usable_cpus import usable_cpus

_LEAST_PATIENCE = 10.0
"""Seconds that the result is waited for at least."""

_Result = TypeVar("_Result")


@contextmanager
def meanwhile(
    compute: Callable[[], _Result], *, late: bool = False
) -> Iterator[Callable[[], _Result]]:
    """Yield what returns what `compute` does, which is computed beside all else in the context.

    A copy of this process computes it: one on Linux, with a second CPU, and only in a process of
    `tvmc`, in which no thread of another library holds a lock. It only spares time: everywhere else
    this process computes it when the context begins, and where the copy fails, or takes twice as
    long as all else in the context (and longer than some seconds), when the result is asked for.

    Parameters
    ----------
    compute
        what is to be computed, without printing or writing files; the result is pickled.
    late
        whether this process, if it has to, computes it when the result is asked for: all else in
        the context has no time to lose.

    Raises
    ------
    Exception
        what `compute` raises, at the beginning or from what is yielded.
    """
    copy = None
    if _may_copy():
        # Without it, if the system has no memory or no process left.
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
        found: _Result = copy.result()
    except EOFError:
        return compute()
    return found


class _Copy:
    """A copy of this process, which computes something."""

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
        """What it has computed.

        Raises
        ------
        EOFError
            it has failed, or is too late.
        """
        patience = max(_LEAST_PATIENCE, time.monotonic() - self._begin)
        if not self._receiver.poll(patience):
            raise EOFError
        return self._receiver.recv()

    def end(self) -> None:
        """End it, if it still runs."""
        self._process.kill()
        self._process.join()
        self._forget()
        self._receiver.close()


def _may_copy() -> bool:
    # A worker is one of as many processes as there are to be.
    is_free = is_own_process() and parent_process() is None
    return sys.platform == "linux" and is_free and usable_cpus() > 1


def _send(compute: Callable[[], object], sender: Connection) -> None:
    """Compute it in the copy, and end there: nothing that this process would do at its end."""
    try:
        use_default_signals()
        sender.send(compute())
    finally:
        # Python would print an exception. The process that waits meets it itself.
        os._exit(0)
