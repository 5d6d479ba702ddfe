"""Measure runs on this host: `--print-time`, `--repeat` and `--number` of `tvmc run`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.whole_number import whole_number

_MOST_RUNS = 1_000_000


def add_time_options(group: Any) -> None:
    """Add `--print-time`, `--repeat` and `--number`."""
    group.add_argument(
        "--print-time",
        action="store_true",
        help="print mean, median, maximum, minimum and standard deviation of the times of --repeat",
    )
    group.add_argument(
        "--repeat",
        type=whole_number(1, _MOST_RUNS),
        default=1,
        metavar="N",
        help="with --print-time: how many times to measure, on this host",
    )
    group.add_argument(
        "--number",
        type=whole_number(1, _MOST_RUNS),
        default=1,
        metavar="N",
        help="with --print-time: how many runs each of these times is the mean of",
    )


def check_time_options(options: argparse.Namespace) -> None:
    """Raise UsageError if `--repeat` or `--number` is combined with a board or a device."""
    if options.repeat == options.number == 1 or not (options.board or options.serial):
        return
    where = "--board" if options.board else "--serial"
    alternative = "its report has the instructions of a run" if options.board else "run it again"
    raise UsageError(f"--repeat and --number measure this host; with {where}, {alternative}")


def measured_times(run: Callable[[], object], repeat: int, number: int) -> list[float]:
    """Return `repeat` times in seconds, each the mean of `number` runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            run()
        times.append((time.perf_counter() - start) / number)
    return times


def print_times(seconds: Sequence[float]) -> None:
    """Print the statistics of times in seconds, in the table of TVM's tvmc."""
    from tvm.runtime.module import BenchmarkResult

    print(BenchmarkResult(seconds))
