"""Work for several workers, each of which does one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

_Worker = TypeVar("_Worker")
_Case = TypeVar("_Case")
_Result = TypeVar("_Result")


def map_with_workers(
    workers: Sequence[_Worker],
    function: Callable[[_Worker, _Case], _Result],
    cases: Iterable[_Case],
) -> Iterator[_Result]:
    """What `function` returns of an idle worker and each case, in the order of the cases."""
    idle: SimpleQueue[_Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def call(case: _Case) -> _Result:
        worker = idle.get()
        try:
            return function(worker, case)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(len(workers)) as threads:
        yield from threads.map(call, cases)
