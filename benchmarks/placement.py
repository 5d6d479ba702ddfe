"""Compare the peaks of the algorithms on TVM's own placement problems with TVM's peaks.

    python benchmarks/placement.py PROBLEM.json ...

A problem is the input of TVM v0.18's algorithms for one model: `buffers` with name, size,
alignment, pools and conflicts, `usmp_results` with the results of its algorithms, and `clique_lb`,
the weight of the heaviest clique in the conflict graph, which is a lower bound. All numbers are
exact bytes, summed over the pools.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from usmp.algorithms import get_algorithm
from usmp.analysis import check_plan
from usmp.objects import BufferInfo, WorkspacePoolInfo

ALGORITHMS = ("greedy_by_size", "greedy_by_conflicts", "hill_climb")


def main(paths: list[str]) -> None:
    """Print the table."""
    table = Table(title="Peaks in bytes: TVM 0.18 -> usmp", title_justify="left")
    for heading in ("problem", "buffers", "lower bound", *ALGORITHMS):
        table.add_column(heading, justify="left" if heading == "problem" else "right", no_wrap=True)
    for path in sorted(paths):
        problem = json.loads(Path(path).read_text())
        cells = [f"{tvm_peak(problem, a)} -> {peak(problem, a)}" for a in ALGORITHMS]
        name = Path(path).stem.removeprefix("tvm018-")
        table.add_row(name, str(len(problem["buffers"])), str(problem["clique_lb"]), *cells)
    Console(width=140).print(table)


def tvm_peak(problem: dict[str, Any], algorithm: str) -> int:
    """Return the peak of TVM's algorithm."""
    return sum(problem["usmp_results"][algorithm]["pool_sizes"].values())


def peak(problem: dict[str, Any], algorithm: str) -> int:
    """Return the peak of our algorithm, whose plan is checked."""
    pools = {name: WorkspacePoolInfo(name, []) for b in problem["buffers"] for name in b["pools"]}
    buffers = {
        b["name"]: BufferInfo(
            b["name"], b["size"], [pools[name] for name in b["pools"]], b["alignment"]
        )
        for b in problem["buffers"]
    }
    for b in problem["buffers"]:
        buffers[b["name"]].set_conflicts([buffers[other] for other in b["conflicts"]])
    plan = get_algorithm(algorithm)(list(buffers.values()), problem["clique_lb"])
    check_plan(buffers.values(), plan)
    ends: dict[str, int] = {}
    for buffer, place in plan.items():
        name = str(place.pool_info.pool_name)
        ends[name] = max(ends.get(name, 0), place.byte_offset + buffer.size_bytes)
    return sum(ends.values())


if __name__ == "__main__":
    main(sys.argv[1:])
