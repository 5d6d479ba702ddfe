"""Compare the RAM of compiled models, inputs and outputs included, with TFLite Micro's.

    python benchmarks/memory.py MODEL.tflite ...
    python benchmarks/memory.py --proofs MODEL ...

All numbers are exact bytes. "TFLM tensors" is the planned part ("head") of TFLite Micro's arena,
"TFLM arena" is all memory of its interpreter at run time. The columns of algorithms are the
workspace of the emitted C with `tir.usmp.use_workspace_io`, which needs only the stack besides.

With --proofs, the table shows, for models of any format, whether `auto` proved the peaks optimal,
and the CPU time of the algorithm on this machine.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tflite_micro.python.tflite_micro import runtime
from tvm.ir.transform import PassContext

import usmp
from usmp.algorithms import watched
from usmp.algorithms.search import Watch
from usmp.objects import MemoryPlan
from usmp_solver import Progress

ALGORITHMS = ("greedy_by_size", "greedy_by_conflicts", "hill_climb", "auto")
ARENA_BYTES = 16 << 20


ONE_AFTER_THE_OTHER = ["StreamOperators"]
"""Disabled passes: without interleaved operators, so that all algorithms place the same buffers."""


def main(arguments: list[str]) -> None:
    """Print one of the tables."""
    if arguments[:1] == ["--proofs"]:
        print_proofs(arguments[1:])
    else:
        print_peaks(arguments)


def print_proofs(paths: list[str]) -> None:
    """Print whether the plans are proved optimal, and the time of the search."""
    table = Table(title="Peaks in bytes, and their lower bounds", title_justify="left")
    for heading in ("model", "pools", "lower bounds", "optimal", "buffers", "CPU ms of auto"):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in paths:
        plan, seconds = searched_plan(path)
        peaks: dict[str, int] = {}
        for buffer in plan.buffers:
            end = buffer.byte_offset + buffer.size_bytes
            peaks[buffer.pool_name] = max(end, peaks.get(buffer.pool_name, 0))
        bounds = plan.pool_bounds
        table.add_row(
            Path(path).stem,
            ", ".join(str(peaks[name]) for name in bounds),
            ", ".join(str(bound.lower_bound_bytes) for bound in bounds.values()),
            "yes" if all(bound.optimal for bound in bounds.values()) else "unknown",
            str(len(plan.buffers)),
            f"{1000 * seconds:.2f}",
        )
    Console(width=140).print(table)


def searched_plan(path: str) -> tuple[MemoryPlan, float]:
    """Return the plan by `auto`, and the CPU seconds of the search alone."""
    seconds = 0.0

    @contextmanager
    def timed() -> Iterator[Watch]:
        nonlocal seconds
        start = time.process_time()
        yield go_on
        seconds += time.process_time() - start

    config = {"tir.usmp.use_workspace_io": True, "tir.usmp.algorithm": "auto"}
    with PassContext(opt_level=3, config=config, disabled_pass=ONE_AFTER_THE_OTHER), watched(timed):
        plan = usmp.build(usmp.import_model(path)).memory_plan
    return plan, seconds


def go_on(progress: Progress) -> bool:
    """Return True, so that no search is ended."""
    return True


def print_peaks(paths: list[str]) -> None:
    """Print the peaks by algorithm."""
    table = Table(title="RAM in bytes, inputs and outputs counted", title_justify="left")
    for heading in ("model", "TFLM arena", "TFLM tensors", "lower bound", *ALGORITHMS):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in paths:
        arena, head = tflite_micro_bytes(Path(path))
        peaks, bounds = zip(*(planned_bytes(path, a) for a in ALGORITHMS), strict=True)
        # Use the bound of `auto`, because schedules, and so bounds, depend on the algorithm.
        numbers = (arena, head, bounds[ALGORITHMS.index("auto")], *peaks)
        table.add_row(Path(path).stem, *(str(n) for n in numbers))
    Console(width=140).print(table)


def planned_bytes(path: str, algorithm: str) -> tuple[int, int]:
    """Return the peak of the workspace and its lower bound, in bytes."""
    config = {"tir.usmp.use_workspace_io": True, "tir.usmp.algorithm": algorithm}
    with PassContext(opt_level=3, config=config, disabled_pass=ONE_AFTER_THE_OTHER):
        factory = usmp.build(usmp.import_model(path))
    plan = factory.memory_plan
    pools = [pool.name for pool in factory.interface.pools if not pool.is_constant]
    bound = sum(int(plan.pool_bounds[name].lower_bound_bytes) for name in pools)
    return factory.interface.workspace_size_bytes, bound


def tflite_micro_bytes(path: Path) -> tuple[int, int]:
    """Return the bytes of TFLite Micro's arena and of its head. It prints them from C, so the file
    descriptors of stdout and stderr are redirected."""
    interpreter = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=ARENA_BYTES)
    with tempfile.TemporaryFile() as log:
        saved = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in saved:
                os.dup2(log.fileno(), number)
            interpreter.print_allocations()
        finally:
            for number, copy in saved:
                os.dup2(copy, number)
        log.seek(0)
        text = log.read().decode()
    total = re.search(r"allocation total (\d+)", text)
    head = re.search(r"allocation head (\d+)", text)
    assert total and head, text
    return int(total[1]), int(head[1])


if __name__ == "__main__":
    main(sys.argv[1:])
