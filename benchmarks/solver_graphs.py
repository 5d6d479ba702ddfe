"""Compare the solver with CP-SAT on random conflict graphs, which are not graphs of intervals.

Each problem is solved through the Python API and by CP-SAT of OR-tools, one after the other, each
on one thread. All pairs of buffers conflict with equal probability; sizes are random up to 100000
bytes. Print the peak, whether it is proved optimal, and CPU seconds.

    python benchmarks/solver_graphs.py [--seconds N]
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Callable

from ortools.sat.python import cp_model
from rich.console import Console
from rich.table import Table

from usmp_solver import Buffer, Problem, solve

MOST_BYTES = 100_000
GRAPHS = ((30, 0.5), (40, 0.5), (50, 0.5), (60, 0.2), (80, 0.2), (100, 0.1), (200, 0.05))
"""Number of buffers, and probability that a pair conflicts."""

Edges = list[tuple[int, int]]


def draw(count: int, part: float) -> tuple[list[int], Edges]:
    """Return random sizes and conflicts."""
    random_numbers = random.Random(count)
    sizes = [random_numbers.randint(1, MOST_BYTES) for _ in range(count)]
    pairs = itertools.combinations(range(count), 2)
    return sizes, [pair for pair in pairs if random_numbers.random() < part]


def by_usmp(sizes: list[int], conflicts: Edges, seconds: float) -> tuple[int, bool]:
    """Return the solver's peak, and whether it is proved optimal."""
    others: list[list[str]] = [[] for _ in sizes]
    for first, second in conflicts:
        others[first].append(str(second))
    buffers = [
        Buffer(str(number), size, conflicts=others[number]) for number, size in enumerate(sizes)
    ]
    solution = solve(Problem.from_buffers(buffers), algorithm="exact", time_budget=seconds)
    return sum(solution.peaks.values()), solution.is_optimal


def by_cp_sat(sizes: list[int], conflicts: Edges, seconds: float) -> tuple[int, bool]:
    """Return CP-SAT's peak, and whether it is proved optimal."""
    model = cp_model.CpModel()
    most = sum(sizes)
    peak = model.new_int_var(0, most, "peak")
    starts = [model.new_int_var(0, most - size, "start") for size in sizes]
    for start, size in zip(starts, sizes, strict=True):
        model.add(start + size <= peak)
    for first, second in conflicts:
        order = model.new_bool_var("order")
        model.add(starts[first] + sizes[first] <= starts[second]).only_enforce_if(order)
        model.add(starts[second] + sizes[second] <= starts[first]).only_enforce_if(~order)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    return int(solver.objective_value), status == cp_model.OPTIMAL


def timed(solver: Callable[..., tuple[int, bool]], *question: object) -> list[str]:
    """Return the cells of a solver: peak, whether it is proved optimal, CPU seconds."""
    begin = time.process_time()
    peak, is_proved = solver(*question)
    return [str(peak), "yes" if is_proved else "no", f"{time.process_time() - begin:.3f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30, help="for each problem and solver")
    seconds = parser.parse_args().seconds
    table = Table("buffers", "conflicts", title=f"Random conflict graphs, at most {seconds:g} s")
    for name in ("", "CP-SAT "):
        for column in ("peak", "proved", "seconds"):
            table.add_column(f"{name}{column}", justify="right")
    for count, part in GRAPHS:
        sizes, conflicts = draw(count, part)
        question = (sizes, conflicts, seconds)
        cells = [*timed(by_usmp, *question), *timed(by_cp_sat, *question)]
        table.add_row(str(count), str(len(conflicts)), *cells)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
