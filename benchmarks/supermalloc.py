"""Run SuperMalloc on one instance for `solver.py`, with an interpreter that has omnimalloc.

    python benchmarks/supermalloc.py INSTANCE.csv capacity BYTES
    python benchmarks/supermalloc.py INSTANCE.csv peak SECONDS THREADS

Print JSON: the peak in bytes, 0 if there is no plan; whether it is proved optimal; the CPU seconds
of all threads.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Sequence

from omnimalloc._cpp import Partition, try_solve_many
from omnimalloc.allocators.supermalloc import DEFAULT_HEURISTICS, SupermallocAllocator
from omnimalloc.primitives.allocation import Allocation


def fit(buffers: Sequence[Allocation], capacity: int) -> tuple[int, bool]:
    """Search for a plan within a capacity, on one thread: try the orders in turn, and double the
    limit of nodes."""
    base = Partition.from_allocations(buffers)
    orders = [base.reorder("".join(order)).with_bound(capacity + 1) for order in DEFAULT_HEURISTICS]
    nodes = 2 * len(buffers)
    while True:
        for partition in orders:
            solution = try_solve_many(
                [partition],
                capacity + 1,
                nodes,
                canonical=True,
                dominance=True,
                floor_inference=True,
                monotonic_floor=True,
                decompose=True,
                timeout=None,
                num_threads=1,
            )
            if solution is not None:
                return solution.peak, False
        nodes *= 2


def minimize(buffers: Sequence[Allocation], seconds: float, threads: int) -> tuple[int, bool]:
    """Return the lowest peak solution in the given seconds, and whether it is proved optimal."""
    solution = SupermallocAllocator(timeout=seconds, num_threads=threads).solve(tuple(buffers))
    return solution.peak, solution.proved_optimal


def main(path: str, question: str, *numbers: str) -> None:
    """Solve an instance, and print the result as JSON."""
    with open(path, newline="") as file:
        buffers = [
            Allocation(row["id"], int(row["size"]), int(row["lower"]), int(row["upper"]))
            for row in csv.DictReader(file)
        ]
    start = time.process_time()
    if question == "capacity":
        peak, is_optimal = fit(buffers, int(numbers[0]))
    else:
        peak, is_optimal = minimize(buffers, float(numbers[0]), int(numbers[1]))
    seconds = time.process_time() - start
    print(json.dumps({"peak": peak, "is_optimal": is_optimal, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
