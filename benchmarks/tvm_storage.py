"""Compare `PlanStorage` with TVM's `StaticPlanBlockMemory` for TVM's virtual machine.

    python benchmarks/tvm_storage.py [--seconds S] [MODEL ...]
    python benchmarks/tvm_storage.py --tensors N

Models are those of `tests/python/support/vm_models`, lowered as TVM's pipeline for CPUs does; needs
PyTorch. Bytes are those of all storages of all functions, at the upper bounds of symbolic sizes;
"with all else" includes tensors of the virtual machine's allocator, such as outputs. Outputs are
compared bit by bit. "time" is CPU time of a run divided by that with TVM's plan, the median over
pairs of runs in alternating order. "planning" is CPU time of the pass.

With --tensors: CPU time to plan a function of that many tensors.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import Pass

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.storage_plans import allocated, lowered_as_fused, planned
from support.storages import machine_of
from support.vm_models.catalog import MODELS, VmModel
from support.vm_models.synthetic import many_tensors
from usmp.relax.storage.storage_plan import storage_plan
from usmp.relax.transform import PlanStorage

LEAST_PAIRS = 11
COLUMNS = (
    "model",
    "TVM: storages",
    "bytes",
    "usmp: storages",
    "bytes",
    "lower bound",
    "optimal",
    "ratio",
    "with all else",
    "planning (s)",
    "time",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, or the time for one function."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], metavar="MODEL")
    parser.add_argument("--seconds", type=float, default=4.0, help="to run each model")
    parser.add_argument("--tensors", type=int, help="of one function, which is planned only")
    options = parser.parse_args(arguments)
    if options.tensors:
        print_planning(options.tensors)
        return
    table = Table(title="Storage of TVM's virtual machine", title_justify="left", box=MARKDOWN)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "model" else "right")
    results = [compared(MODELS[name], options.seconds) for name in options.models or MODELS]
    for name, (cells, _, _) in zip(options.models or MODELS, results, strict=True):
        table.add_row(name, *cells)
    means = [f"{geometric_mean(c):.2f}" for c in zip(*(r[1] for r in results), strict=True)]
    time_mean = f"{geometric_mean(result[2] for result in results):.3f}"
    table.add_row("geometric mean", *[""] * 6, *means, "", time_mean)
    Console(width=160).print(table)


def compared(model: VmModel, seconds: float) -> tuple[list[str], tuple[float, float], float]:
    """Return the cells of a row, the ratios of planned and of total bytes, and that of time."""
    before = lowered_as_fused(model.build())
    theirs = planned(before, relax.transform.StaticPlanBlockMemory())
    ours, our_time = timed(PlanStorage(), before)
    their, our = allocated(theirs), allocated(ours)
    plans = [storage for function in storage_plan(ours) for storage in function.storages]
    ratios = (our.storage_bytes / their.storage_bytes, our.total_bytes / their.total_bytes)
    ratio_of_time = run_in_turn(model, theirs, ours, seconds)
    cells = [
        *map(str, (their.storages, their.storage_bytes, our.storages, our.storage_bytes)),
        str(our.storage_bytes - sum(plan.bytes - plan.lower_bound for plan in plans)),
        "yes" if all(plan.is_optimal for plan in plans) else "no",
        *(f"{ratio:.2f}" for ratio in ratios),
        f"{our_time:.2f}",
        f"{ratio_of_time:.3f}",
    ]
    return cells, ratios, ratio_of_time


def timed(planner: Pass, mod: IRModule) -> tuple[IRModule, float]:
    """Return the planned module, and the CPU seconds of planning."""
    start = time.process_time()
    result = planned(mod, planner)
    return result, time.process_time() - start


def run_in_turn(model: VmModel, theirs: IRModule, ours: IRModule, seconds: float) -> float:
    """Check that results are equal; return the CPU time of ours divided by that of theirs."""
    machines = [machine_of(mod) for mod in (theirs, ours)]
    expected, results = (model.run(machine) for machine in machines)
    for value, other in zip(expected, results, strict=True):
        if value.tobytes() != other.tobytes():
            largest = np.abs(value - other).max()
            raise SystemExit(f"tvm_storage.py: outputs differ by {largest}")
    ratios: list[float] = []
    end = time.monotonic() + seconds
    while len(ratios) < LEAST_PAIRS or time.monotonic() < end:
        times = [0.0, 0.0]
        for which in (0, 1) if len(ratios) % 2 else (1, 0):
            times[which] = cpu_seconds(lambda which=which: model.run(machines[which]))
        ratios.append(times[1] / times[0])
    return median(ratios)


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the CPU seconds of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def print_planning(tensors: int) -> None:
    """Print the time to plan a function of that many tensors, and the planned bytes."""
    before = lowered_as_fused(many_tensors(tensors))
    for planner in (relax.transform.StaticPlanBlockMemory(), PlanStorage()):
        result, seconds = timed(planner, before)
        print(f"{planner.info.name}: {seconds:.2f} s, {allocated(result).storage_bytes} bytes")


if __name__ == "__main__":
    main()
