"""The builds of a sweep in several processes of this computer, each of which loads TVM once."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias

from usmp.support.process.termination import (
    end_by_signals,
    postponed_signals,
    settle,
    undo_at_signal,
)

Evaluate: TypeAlias = Callable[[Any, tuple[str, ...]], dict[str, Any]]
"""A function that takes shared data and the arguments of a configuration, builds the configuration,
and returns `Result.as_json()`, also if the build fails. The function can be pickled."""

IsInterrupted: TypeAlias = Callable[[], bool]

_TICK_SECONDS = 0.2
_PATIENCE_SECONDS = 3.0
_TERMINATED = 143


class WorkersLost(RuntimeError):
    """The error of processes that end before their configurations are built."""


_own: list[Any] = []
"""In a worker: the function, and the data that all configurations share."""


def in_processes(
    evaluate: Evaluate,
    shared: Any,
    tasks: Sequence[tuple[str, ...]],
    jobs: int,
    is_interrupted: IsInterrupted,
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield each task with its result, in the order of completion.

    Processes are spawned, not forked, because TVM has threads. They end when the iteration ends, or
    when this process does.

    Parameters
    ----------
    evaluate, shared
        the function, and the data that it takes besides a task; both can be pickled.
    tasks
        arguments of each configuration.
    jobs
        most processes at once.
    is_interrupted
        returns whether to stop.

    Raises
    ------
    WorkersLost
        a process ended, such as for lack of memory.
    KeyboardInterrupt
        `is_interrupted` returns true.
    """
    others = set(multiprocessing.active_children())
    stop = partial(_stop, others)
    with postponed_signals():
        executor = ProcessPoolExecutor(
            min(jobs, len(tasks)),
            multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(evaluate, shared),
        )
        forget = undo_at_signal(stop)
    try:
        pending: dict[Future[dict[str, Any]], tuple[str, ...]] = {
            executor.submit(_evaluate, task): task for task in tasks
        }
        while pending:
            done, _ = wait(pending, _TICK_SECONDS, FIRST_COMPLETED)
            if is_interrupted():
                raise KeyboardInterrupt
            for future in done:
                yield pending.pop(future), future.result()
    except BrokenProcessPool as error:
        raise WorkersLost(
            "a process that builds configurations was ended, perhaps for lack of memory; try fewer "
            f"at once, as --jobs {max(1, jobs // 2)}"
        ) from error
    finally:
        stop()
        executor.shutdown(cancel_futures=True)
        forget()


def _stop(others: set[BaseProcess]) -> None:
    """End all child processes except `others` by SIGTERM, and kill those that do not end soon."""
    own = [process for process in multiprocessing.active_children() if process not in others]
    for process in own:
        process.terminate()
    for process in own:
        process.join(_PATIENCE_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()


def _begin(evaluate: Evaluate, shared: Any) -> None:
    """Prepare a worker. It ignores Ctrl-C, because its parent handles that. At SIGTERM it ends its
    compilers and removes its temporary files."""
    end_by_signals("tvmc")
    settle(_TERMINATED)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _own[:] = [evaluate, shared]
    _watch_parent()


def _watch_parent() -> None:
    """End this process when its parent ends, even if the parent is killed."""
    from threading import Thread

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        from os import getpid, kill

        parent.join()
        kill(getpid(), signal.SIGTERM)

    Thread(target=watch, daemon=True).start()


def _evaluate(task: tuple[str, ...]) -> dict[str, Any]:
    evaluate, shared = _own
    result: dict[str, Any] = evaluate(shared, task)
    return result
