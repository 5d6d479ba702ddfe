"""The plan of buffers without a model, as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from rich.console import Console

from usmp.report.counts import shown_ratio
from usmp.report.plan_formats import name_cell
from usmp.report.text_tables import TextTable, print_table, print_text
from usmp.support.text.plain_text import shown
from usmp_solver.solution import Solution
from usmp_solver.solver import SEARCHES


def print_solution(
    file: str,
    solution: Solution,
    algorithm: str,
    recorded: Sequence[str] = (),
    console: Console | None = None,
) -> None:
    """Print peak, lower bound, ratio and capacity of each pool, the sentences in `recorded`, and
    whether the plan is optimal."""
    console = console or Console(highlight=False)
    rows = []
    for pool in solution.problem.pools:
        peak, bound = solution.peaks[pool.name], solution.lower_bounds[pool.name]
        capacity = "-" if pool.limit is None else str(pool.limit)
        rows.append([pool.name, str(peak), str(bound), shown_ratio(peak, bound), capacity])
    table = TextTable(
        f"Memory of {shown(file)} ({shown(algorithm)})",
        ("pool", "peak bytes", "lower bound", "peak / bound", "capacity"),
        rows,
        numbers=frozenset({1, 2, 3, 4}),
    )
    print_table(table, console)
    for line in recorded:
        print_text(f"{line}.", console)
    count = len(solution.problem)
    placed = f"{count} buffers are placed" if count != 1 else "1 buffer is placed"
    advice = "more time may help (--usmp-time-budget)"
    if algorithm not in SEARCHES:
        advice = "--usmp-algorithm=auto may find a better one"
    proved = "the plan is optimal: proved"
    if not solution.is_optimal:
        proved = f"whether the plan is optimal is not proved; {advice}"
    print_text(f"{placed}; {proved}.", console)


def solution_json(solution: Solution, algorithm: str) -> str:
    """Return the plan and its lower bounds as JSON, with sizes and offsets in bytes."""
    problem = solution.problem
    pools = [
        {
            "name": pool.name,
            "capacity_bytes": pool.limit,
            "peak_bytes": solution.peaks[pool.name],
            "lower_bound_bytes": solution.lower_bounds[pool.name],
        }
        for pool in problem.pools
    ]
    rows = zip(
        problem.names,
        problem.sizes.tolist(),
        solution.pools.tolist(),
        solution.offsets.tolist(),
        strict=True,
    )
    buffers = [
        {"id": name, "pool": problem.pools[pool].name, "offset": offset, "size": size}
        for name, size, pool, offset in rows
    ]
    plan = {
        "algorithm": algorithm,
        "is_optimal": solution.is_optimal,
        "work": solution.work,
        "pools": pools,
        "buffers": buffers,
    }
    return json.dumps(plan, indent=2) + "\n"


def solution_csv(solution: Solution) -> str:
    """Return the buffers of a problem with one pool and one live range for each buffer, as CSV for
    `tvmc plan --buffers`. Sizes, alignments and offsets are in bytes."""
    problem = solution.problem
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "lower", "upper", "size", "alignment", "offset"))
    columns = (problem.live_starts, problem.live_stops, problem.sizes, problem.alignments)
    numbers = zip(*(column.tolist() for column in (*columns, solution.offsets)), strict=True)
    writer.writerows(
        [name_cell(name), *row] for name, row in zip(problem.names, numbers, strict=True)
    )
    return text.getvalue()
