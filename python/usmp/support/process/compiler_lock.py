"""A lock for all uses of TVM, because TVM has stacks per process, not per thread.

Two threads that build Relax at once would push onto one stack of block builders, and tag operators
in one scope. Streams and warning filters of Python belong to the process as well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property, wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from usmp.support.process.rare_collections import rare_collections

_Parameters = ParamSpec("_Parameters")
_Value = TypeVar("_Value")


def process_lock(forget_lost: Callable[[], None] | None = None) -> RLock:
    """Return a re-entrant lock for a resource of the process.

    If a process is forked while another thread holds the lock, the lock is released in the child,
    which has no such thread. A thread that holds the lock and forks holds it in both processes.

    Parameters
    ----------
    forget_lost
        removes state of the lost thread in the forked process.
    """
    lock = RLock()

    def free_lost_lock() -> None:
        if lock.acquire(blocking=False):
            lock.release()
        else:
            # Reset the same object, because other modules have imported it by name.
            lock._at_fork_reinit()  # type: ignore[attr-defined]
            if forget_lost is not None:
                forget_lost()

    if sys.platform != "win32":
        os.register_at_fork(after_in_child=free_lost_lock)
    return lock


def _forget_lost_scopes() -> None:
    """Clear the stacks of TVM that a lost thread has left."""
    builders = sys.modules.get("tvm.relax.block_builder")
    if builders is not None:
        builders.BlockBuilder._stack.clear()
    tags = sys.modules.get("tvm.te.tag")
    if tags is not None:
        tags.TagScope._current = None


compiler_lock = process_lock(_forget_lost_scopes)
"""The re-entrant lock of the compiler: one thread at a time imports, builds or emits a model.

Hold it around your own uses of TVM's importers, `BlockBuilder` and passes while other threads
build: `with usmp.compiler_lock: ...`.
"""


def one_at_a_time(
    function: Callable[_Parameters, _Value],
) -> Callable[_Parameters, _Value]:
    """Let one thread at a time call a function; others wait before its first line.

    The function runs in the thread that calls it, so that it sees the thread's `PassContext`.
    """

    @wraps(function)
    def locked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Value:
        with compiler_lock, rare_collections():
            return function(*args, **kwargs)

    return locked


class locked_property(cached_property[_Value]):
    """A cached property that one thread computes, under the compiler lock.

    Take the compiler lock first, because `cached_property` of Python 3.11 has a lock of its own: a
    build in another thread may hold the compiler lock and wait for the property's lock.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Return the value, or the property itself of a class."""
            with compiler_lock:
                return super().__get__(instance, owner)
