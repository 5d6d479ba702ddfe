"""Measure the access cycles that placement by cost saves with tightly coupled and external memory.

    python benchmarks/placement_cost.py [--fast-bytes=32768] [--latency=8] MODEL.tflite ...

There are two workspace pools and two constant pools. One of each kind is small and has no latency
(tightly coupled memory), the other is large and has latency (external RAM and flash). All are 4
bytes wide, and the user prefers the small ones. "bound" is the planner's lower bound. "optimum" is
the proved optimum of a solver that shares no code with the planner (OR-Tools CP-SAT, offsets
included), or after a minute its lower bound and best solution. Cycles are estimates for one run.
"planning" is CPU time of the build from Relax, and the part that placement by cost adds.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import tvm
from ortools.sat.python import cp_model
from rich.console import Console
from rich.table import Table
from tvm.ir import IRModule

import usmp
from usmp.algorithms.access_cost import AccessCosts
from usmp.objects import AccessEstimate, BufferInfo
from usmp.transform import unified_static_memory_planner as planner

BYTES_PER_CYCLE = 4
SOLVER_SECONDS = 60


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--fast-bytes", type=int, default=32 << 10, help="of each fast pool")
    parser.add_argument("--latency", type=int, default=8, help="of the slow pools, in cycles")
    options = parser.parse_args()
    table = Table(
        title=f"Estimated access cycles, {options.fast_bytes} bytes of fast memory of each kind, "
        f"{options.latency} cycles of latency in the other",
        title_justify="left",
    )
    headings = ("buffers", "by preference", "by cost", "saved", "bound", "optimum", "planning s")
    for heading in ("model", *headings):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in options.models:
        table.add_row(path.stem, *row(path, options.fast_bytes, options.latency))
    Console(width=140).print(table)


def row(path: Path, fast_bytes: int, latency: int) -> list[str]:
    """Return the cells of a model: the planner's estimates, and the solver's optimum."""
    placements: list[tuple[list[BufferInfo], AccessCosts]] = []
    place = planner.place

    def watched(buffers: list[BufferInfo], *arguments: Any) -> Any:
        placements.append((buffers, arguments[-1]))
        return place(buffers, *arguments)

    mod = usmp.import_model(path)
    without = compile_seconds(mod, fast_bytes, latency, speeds=False)[1]
    planner.place = watched
    try:
        estimate, seconds = compile_seconds(mod, fast_bytes, latency, speeds=True)
    finally:
        planner.place = place
    assert estimate is not None
    assert estimate.cycles_by_preference is not None
    buffers, costs = placements[0]
    saved = 1 - estimate.cycles_by_cost / estimate.cycles_by_preference
    return [
        str(len(buffers)),
        str(estimate.cycles_by_preference),
        str(estimate.cycles_by_cost),
        f"{saved:.1%}",
        str(estimate.lower_bound_cycles),
        optimum(buffers, costs),
        f"{without:.2f} + {seconds - without:.2f}",
    ]


def compile_seconds(
    mod: IRModule, fast_bytes: int, latency: int, speeds: bool
) -> tuple[AccessEstimate | None, float]:
    """Return the access estimate, and the CPU time of the build without the import."""
    start = time.process_time()
    with tvm.transform.PassContext(config={"tir.usmp.placement": "cost"} if speeds else {}):
        factory = usmp.build(mod, "c", **pools(fast_bytes, latency, speeds))
    return factory.memory_plan.access_estimate, time.process_time() - start


def pools(fast_bytes: int, latency: int, speeds: bool) -> dict[str, Any]:
    """Return the pools of `usmp.build`, with their speeds if `speeds` is set."""
    wide = {f"{way}_bandwidth_bytes_per_cycle": BYTES_PER_CYCLE for way in ("read", "write")}
    late = {f"{way}_latency_cycles": latency for way in ("read", "write")}
    fast = usmp.PoolInfoProperties(fast_bytes, **(wide if speeds else {}))
    slow = usmp.PoolInfoProperties(-1, **(wide | late if speeds else {}))
    return {
        "workspace_memory_pools": usmp.WorkspaceMemoryPools(
            [usmp.WorkspacePoolInfo("dtcm", "c", fast), usmp.WorkspacePoolInfo("sdram", "c", slow)]
        ),
        "constant_memory_pools": usmp.ConstantMemoryPools(
            [
                usmp.ConstantPoolInfo("itcm", "c", None, fast),
                usmp.ConstantPoolInfo("flash", "c", None, slow),
            ]
        ),
    }


def optimum(buffers: list[BufferInfo], costs: AccessCosts) -> str:
    """Return the fewest cycles of any placement within the size hints, offsets included."""
    model = cp_model.CpModel()
    total = []
    offsets: dict[tuple[int, str], cp_model.IntVar] = {}
    chosen: dict[tuple[int, str], cp_model.IntVar] = {}
    for i, buffer in enumerate(buffers):
        for pool in buffer.pool_candidates:
            key = (i, str(pool.pool_name))
            chosen[key] = model.new_bool_var("")
            total.append(costs.cost(buffer, pool) * chosen[key])
            last_offset = int(pool.size_hint_bytes) - buffer.size_bytes
            if pool.size_hint_bytes >= 0 and last_offset < 0:
                model.add(chosen[key] == 0)
            elif pool.size_hint_bytes >= 0:
                unit = model.new_int_var(0, last_offset // buffer.alignment, "")
                offsets[key] = model.new_int_var(0, last_offset, "")
                model.add(offsets[key] == buffer.alignment * unit)
        model.add_exactly_one(chosen[i, str(p.pool_name)] for p in buffer.pool_candidates)
    for name in sorted({name for _, name in offsets}):
        add_disjoint(model, buffers, name, offsets, chosen)
    model.minimize(sum(total))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = SOLVER_SECONDS
    status = solver.solve(model)
    least, bound = costs.cycles(int(solver.objective_value)), int(solver.best_objective_bound)
    return str(least) if status == cp_model.OPTIMAL else f"{costs.cycles(bound)}..{least}"


def add_disjoint(
    model: cp_model.CpModel,
    buffers: list[BufferInfo],
    pool: str,
    offsets: dict[tuple[int, str], cp_model.IntVar],
    chosen: dict[tuple[int, str], cp_model.IntVar],
) -> None:
    """Add the constraint that buffers of a pool do not overlap, as boxes of time and bytes."""
    times, places = [], []
    for i, buffer in enumerate(buffers):
        if (i, pool) not in offsets:
            continue
        for live in buffer.live_ranges:
            length = live.stop - live.start
            times.append(
                model.new_optional_fixed_size_interval_var(live.start, length, chosen[i, pool], "")
            )
            places.append(
                model.new_optional_fixed_size_interval_var(
                    offsets[i, pool], buffer.size_bytes, chosen[i, pool], ""
                )
            )
    model.add_no_overlap_2d(times, places)


if __name__ == "__main__":
    main()
