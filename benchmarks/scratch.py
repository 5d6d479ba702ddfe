"""Measure how scheduling for memory changes scratch memory of operators, and the speed of the C.

    python benchmarks/scratch.py MODEL.tflite ...

"scratch" sums the allocations inside all operators. "speed" is the time of the unscheduled C
divided by that of the scheduled C; both are built with -O2 and run in turn.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from random_inputs import random_inputs
from rich.console import Console
from rich.table import Table
from tvm.ir.transform import PassContext

import usmp
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME

ROUNDS = 21


def main(paths: list[str]) -> None:
    """Print the table."""
    table = Table(title="Scheduling operators for memory", title_justify="left")
    for heading in ("model", "scratch before", "scratch after", "outputs", "speed"):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in paths:
        mod = usmp.import_model(path)
        with PassContext(disabled_pass=["usmp.ScheduleOperators"]):
            before = usmp.build(mod)
        after = usmp.build(mod)
        inputs = random_inputs(after)
        same = all(
            np.array_equal(value, after.run(inputs)[name])
            for name, value in before.run(inputs).items()
        )
        table.add_row(
            Path(path).stem,
            str(scratch_bytes(before)),
            str(scratch_bytes(after)),
            "identical" if same else "DIFFERENT",
            f"{speed_ratio(before, after, inputs):.2f}",
        )
    Console(width=100).print(table)


def scratch_bytes(factory: usmp.AOTExecutorFactoryModule) -> int:
    """Return the bytes allocated inside operators."""
    buffers = factory.memory_plan.buffers
    return sum(int(b.size_bytes) for b in buffers if b.function != MAIN_FUNCTION_NAME)


def speed_ratio(
    first: usmp.AOTExecutorFactoryModule,
    second: usmp.AOTExecutorFactoryModule,
    inputs: dict[str, np.ndarray],
) -> float:
    """Return the median ratio of the CPU times of two models that run in turn."""
    ratios = []
    for _ in range(ROUNDS):
        times = []
        for factory in (first, second):
            start = time.process_time()
            factory.run(inputs)
            times.append(time.process_time() - start)
        ratios.append(times[0] / times[1])
    return float(np.median(ratios))


if __name__ == "__main__":
    main(sys.argv[1:])
