"""Measure the effect of each rule of the exact search, by leaving out one rule at a time.

The problems ask whether the published capacity of MiniMalloc's instances suffices. Compile
`solver_ablation.cc`, which names the rules, with the sources of the solver.

    python benchmarks/solver_ablation.py [--seconds N] [--instances ABC...] [--rules RULE ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table
from solver_instances import (
    CAPACITY,
    STEPS_A_SECOND,
    challenging,
    lives_of,
    require_instances,
    title,
)

ROOT = Path(__file__).resolve().parents[1]
SOLVER = ROOT / "src/usmp_solver"


def compiled(folder: Path) -> Path:
    """Build the program in a folder, and return its path."""
    compiler = shutil.which("c++") or sys.exit("no C++ compiler; install g++")
    solver = [path for path in sorted(SOLVER.rglob("*.cc")) if path.parent.name != "tests"]
    sources = [*solver, Path(__file__).with_suffix(".cc")]

    def compile_one(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        flags = ("-std=c++17", "-O3", "-DNDEBUG", f"-I{SOLVER.parent}")
        subprocess.run([compiler, *flags, "-c", source, "-o", target], check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        objects = list(workers.map(compile_one, sources))
    program = folder / "solver_ablation"
    subprocess.run([compiler, *objects, "-o", program], check=True)
    return program


def solve(program: Path, path: Path, steps: int, left_out: list[str]) -> tuple[str, int, float]:
    """Return the verdict, steps and CPU seconds for one instance."""
    command = [program, "solve", str(CAPACITY), str(steps), *left_out]
    text = "\n".join(f"{lower} {upper} {size}" for _, lower, upper, size in lives_of(path))
    finished = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    verdict, spent, seconds = finished.stdout.split()
    return verdict, int(spent), float(seconds)


def main() -> None:
    """Print the table with a row for every left-out rule."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="of work for each instance")
    parser.add_argument("--instances", default="ABCDEFGHIJK", metavar="LETTERS")
    parser.add_argument("--rules", nargs="*", metavar="RULE", help="to leave out one by one")
    arguments = parser.parse_args()
    require_instances()
    paths = [path for path in challenging() if title(path) in arguments.instances]
    steps = int(arguments.seconds * STEPS_A_SECOND)
    heading = f"CPU seconds (million steps) within {CAPACITY} bytes; -: undecided"
    table = Table("left out", title=heading, title_justify="left")
    for path in paths:
        table.add_column(title(path), justify="right", no_wrap=True)
    table.add_column("decided", justify="right")
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        rules = subprocess.check_output([program, "rules"], text=True).split()
        if unknown := set(arguments.rules or ()) - set(rules):
            sys.exit(f"unknown rule {', '.join(sorted(unknown))}; known: {', '.join(rules)}")
        for left_out in ([], *([rule] for rule in arguments.rules or rules)):
            cells, decided = [], 0
            for path in paths:
                verdict, spent, seconds = solve(program, path, steps, left_out)
                decided += verdict != "undecided"
                is_open = verdict == "undecided"
                cells.append("-" if is_open else f"{seconds:.2f} ({spent / 1e6:.1f})")
            table.add_row(" ".join(left_out) or "nothing", *cells, f"{decided}/{len(paths)}")
    Console(width=30 + 16 * len(paths)).print(table)


if __name__ == "__main__":
    main()
