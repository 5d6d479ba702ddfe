"""Measure how time and memory of the solver grow with the number of buffers.

Buffers are random intervals; each conflicts with about 74 others, independent of their number. Each
problem is solved through the Python API in a separate process. Time is the CPU seconds of the call
alone, and memory is the increase of the process's peak. `growth` is the ratio of the time to that
of the previous problem, divided by the ratio of n log n: 1 means growth with n log n.

    python benchmarks/solver_scaling.py [--largest N] [--plot FILE.svg]
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from usmp_solver import Pool as MemoryPool
from usmp_solver import Problem, solve

COUNTS = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
CONFLICTS_OF_A_BUFFER = 74
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Measured:
    """The measurements of a problem: CPU seconds; memory, peak, load and lower bound in bytes."""

    buffers: int
    seconds: float
    memory: int
    peak: int
    load: int
    lower_bound: int


def draw_problem(count: int) -> Problem:
    """Return random live ranges of 1 to 2d units that begin within n units, so that two of them
    overlap with probability 2d / n."""
    draw = np.random.default_rng(count)
    duration = CONFLICTS_OF_A_BUFFER // 2
    starts = draw.integers(0, count, count)
    return Problem(
        names=range(count),  # type: ignore[arg-type]
        pools=(MemoryPool("memory"),),
        sizes=draw.integers(1, 1 << 16, count) * 64,
        live_first=np.arange(count + 1),
        live_starts=starts,
        live_stops=starts + draw.integers(1, 2 * duration, count),
    )


def load_of(problem: Problem) -> int:
    """Return the most bytes that are live together."""
    change = np.zeros(int(problem.live_stops.max()) + 1, np.int64)
    np.add.at(change, problem.live_starts, problem.sizes)
    np.subtract.at(change, problem.live_stops, problem.sizes)
    return int(np.cumsum(change).max())


def memory_now() -> int:
    """Return the resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def memory_at_most() -> int:
    """Return the peak resident memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(count: int) -> Measured:
    """Solve a random problem of `count` buffers, and return its measurements."""
    problem = draw_problem(count)
    before = memory_now()
    start = time.process_time()
    solution = solve(problem)
    seconds = time.process_time() - start
    memory = memory_at_most() - before
    return Measured(count, seconds, memory, solution.peak, load_of(problem), solution.lower_bound)


def growth(smaller: Measured, larger: Measured) -> float:
    """Return the growth of the time, divided by that of n log n."""
    work = [m.buffers * math.log(m.buffers) for m in (smaller, larger)]
    return larger.seconds / smaller.seconds / (work[1] / work[0])


def plot(measured: list[Measured], path: Path) -> None:
    """Plot seconds over buffers, both logarithmic, with a line that grows as n log n."""
    try:
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    counts = [m.buffers for m in measured]
    last = measured[-1]
    scale = last.seconds / (last.buffers * math.log(last.buffers))
    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.loglog(counts, [m.seconds for m in measured], "o-", label="solver")
    axes.loglog(counts, [scale * n * math.log(n) for n in counts], "--", label="n log n")
    axes.set(xlabel="buffers", ylabel="CPU seconds")
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Print the table, and draw the plot if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--largest", type=int, default=COUNTS[-1], metavar="N")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    table = Table(title="Random intervals", title_justify="left")
    for heading in ("buffers", "CPU s", "growth", "memory MiB", "peak / load", "proved"):
        table.add_column(heading, justify="right", no_wrap=True)
    measured: list[Measured] = []
    for count in COUNTS:
        if count > arguments.largest:
            break
        with multiprocessing.get_context("spawn").Pool(1) as process:
            result = process.apply(measure, (count,))
        table.add_row(
            str(count),
            f"{result.seconds:.3f}",
            f"{growth(measured[-1], result):.2f}" if measured else "",
            f"{result.memory / MEBIBYTE:.0f}",
            f"{result.peak / result.load:.5f}",
            "yes" if result.peak == result.lower_bound else "no",
        )
        measured.append(result)
    Console(width=100).print(table)
    if arguments.plot:
        plot(measured, arguments.plot)


if __name__ == "__main__":
    main()
