"""Measure the solver on public instances: peaks, proofs of optimality, and CPU seconds.

Every instance is solved through the Python API in a separate process on one thread; only the call
is timed. With `--rival supermalloc`, the strongest public solver (package omnimalloc) runs after
each instance, so that the machine has a similar load.

    python benchmarks/solver.py [TABLE ...] [--seconds N]
        [--rival supermalloc --rival-python PYTHON [--rival-threads N]]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from solver_instances import (
    CAPACITY,
    FOLDER,
    Answer,
    answer,
    challenging,
    from_tvm,
    load_of,
    require_instances,
    title,
)

KIBIBYTE = 1024


class Rival:
    """SuperMalloc, run by a Python interpreter that has omnimalloc, if there is one."""

    def __init__(self, python: str | None, threads: int) -> None:
        self.python = python
        self.threads = threads

    def run(self, path: Path, *question: object) -> Answer | None:
        """Return its answer for an instance; None without an interpreter."""
        if self.python is None:
            return None
        script = Path(__file__).with_name("supermalloc.py")
        command = [self.python, script, path, *map(str, question)]
        result = json.loads(subprocess.check_output(command, text=True))
        status = "optimal" if result["is_optimal"] else "feasible"
        return Answer(result["peak"], 0, status, result["seconds"])

    @property
    def headings(self) -> list[str]:
        """The headings of its columns in a table."""
        return [] if self.python is None else ["SuperMalloc peak", "proved", "seconds"]


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def cells(result: Answer | None) -> list[str]:
    """Return the cells of an answer: peak in KiB, whether it is proved optimal, seconds."""
    if result is None:
        return []
    peak = f"{result.peak / KIBIBYTE:g}" if result.peak else "none"
    return [peak, "yes" if result.is_optimal else "no", f"{result.seconds:.3f}"]


def new_table(heading: str, columns: list[str]) -> Table:
    """Return an empty table; all columns but the first are numbers."""
    table = Table(title=heading, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    return table


def add_total(table: Table, ours: list[Answer], theirs: list[Answer], columns: int) -> None:
    """Add a row with the sums of seconds and their ratio."""
    total = sum(result.seconds for result in ours)
    row = ["total", *[""] * (columns - 2), f"{total:.2f}"]
    if theirs:
        rival = sum(result.seconds for result in theirs)
        row += ["", f"ratio {total / rival:.2f}", f"{rival:.2f}"]
    table.add_row(*row)


def capacity_table(rival: Rival, seconds: float) -> Table:
    """Return the table of whether the published capacity suffices."""
    heading = f"A plan within {CAPACITY} bytes, CPU seconds on one thread"
    table = new_table(heading, ["instance", "peak", "fits", "seconds", *rival.headings])
    ours, theirs = [], []
    for path in challenging():
        result = answer(path, work_seconds=seconds, capacity=CAPACITY)
        other = rival.run(path, "capacity", CAPACITY)
        ours.append(result)
        theirs += [other] if other else []
        table.add_row(title(path), *cells(result), *cells(other))
    add_total(table, ours, theirs, 4)
    return table


def peak_table(rival: Rival, seconds: float) -> Table:
    """Return the table of the lowest peaks."""
    heading = f"Lowest peak in KiB after at most {seconds:g} s of work, one thread"
    if rival.python is not None:
        heading += f"; SuperMalloc on {rival.threads} threads"
    columns = ["instance", "load", "bound", "peak", "proved", "seconds"]
    table = new_table(heading, columns + rival.headings)
    ours, theirs = [], []
    for path in challenging():
        result = answer(path, work_seconds=seconds)
        other = rival.run(path, "peak", seconds, rival.threads)
        # Sum only instances that both prove, because others use the whole time limit.
        if result.is_optimal and (other is None or other.is_optimal):
            ours.append(result)
            theirs += [other] if other else []
        bounds = [f"{bytes_ / KIBIBYTE:g}" for bytes_ in (load_of(path), result.lower_bound)]
        table.add_row(title(path), *bounds, *cells(result), *cells(other))
    add_total(table, ours, theirs, len(columns))
    return table


def anytime_table(_: Rival, __: float) -> Table:
    """Return the table of peaks after 1 and 10 seconds of work."""
    table = new_table("Peak over load", ["instance", "1 s of work", "CPU s", "10 s", "CPU s"])
    ratios: list[list[float]] = [[], []]
    for path in challenging():
        row = [title(path)]
        for index, work_seconds in enumerate((1, 10)):
            result = answer(path, work_seconds=work_seconds)
            ratios[index].append(result.peak / load_of(path))
            row += [f"{ratios[index][-1]:.4f}", f"{result.seconds:.2f}"]
        table.add_row(*row)
    means = [f"{geometric_mean(column):.4f}" for column in ratios]
    table.add_row("geometric mean", means[0], "", means[1], "")
    return table


def bytes_table(heading: str, paths: list[Path]) -> Table:
    """Return a table of peaks in bytes, for small instances."""
    columns = ["instance", "load", "bound", "peak", "proved", "seconds"]
    table = new_table(heading, columns)
    for path in paths:
        result = answer(path, work_seconds=10)
        proved = "yes" if result.is_optimal else "no"
        numbers = (load_of(path), result.lower_bound, result.peak, proved)
        table.add_row(title(path), *map(str, numbers), f"{result.seconds:.4f}")
    return table


def tvm_table(_: Rival, __: float) -> Table:
    """Return the table of problems of TVM's models."""
    return bytes_table("TVM 0.18's problems, bytes", from_tvm())


def resnet_table(_: Rival, __: float) -> Table:
    """Return the table of a training step."""
    return bytes_table("A training step of ResNet-50, bytes", [FOLDER / "idealloc-resnet50.csv"])


TABLES = {
    "capacity": capacity_table,
    "peak": peak_table,
    "anytime": anytime_table,
    "tvm": tvm_table,
    "resnet50": resnet_table,
}


def main() -> None:
    """Print the chosen tables, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--seconds", type=float, default=60, help="of work, where not said")
    parser.add_argument("--rival", choices=["supermalloc"])
    parser.add_argument("--rival-python", metavar="PYTHON", help="interpreter that has omnimalloc")
    parser.add_argument("--rival-threads", type=int, default=12, metavar="N")
    arguments = parser.parse_args()
    if unknown := set(arguments.tables) - TABLES.keys():
        parser.error(f"unknown table {', '.join(sorted(unknown))}; known: {', '.join(TABLES)}")
    if (arguments.rival is None) != (arguments.rival_python is None):
        parser.error("--rival and --rival-python go together")
    require_instances()
    rival = Rival(arguments.rival_python, arguments.rival_threads)
    for name in arguments.tables or TABLES:
        Console(width=140).print(TABLES[name](rival, arguments.seconds))


if __name__ == "__main__":
    main()
