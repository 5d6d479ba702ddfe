"""Plan and run random programs: the properties of the tests, with more programs.

Print the numbers of programs, of plans, of plans that do not fit into pools (which may be too
small), and of programs that fail. A program fails if planning changes its results, the planner
refuses it, or buffers that hold values at the same time do not conflict. The first program that
fails is printed in reduced form.

    python benchmarks/fuzz_planner.py [--programs N] [--first SEED]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.planned_programs import check_planned, expected_results, missing_conflicts
from support.tir_programs import Program, draw_program
from support.tir_reducer import reduce_program
from usmp_solver import ALGORITHMS


def failure(program: Program) -> tuple[str | None, int]:
    """Return the fault of a program, or None, and the number of its plans that do not fit."""
    expected = expected_results(program)
    if missing := missing_conflicts(program):
        return f"no conflicts: {sorted(missing)}", 0
    misfits = 0
    for algorithm in ALGORITHMS:
        try:
            misfits += not check_planned(program, algorithm, expected)
        except Exception as error:  # any error is a failure
            return f"{algorithm}: {type(error).__name__}: {error}", misfits
    return None, misfits


def main() -> None:
    """Try the programs of consecutive seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    arguments = parser.parse_args()
    misfits = 0
    failed: list[int] = []
    for seed in range(arguments.first, arguments.first + arguments.programs):
        fault, count = failure(draw_program(Random(seed)))
        misfits += count
        if fault:
            print(f"seed {seed}: {fault}", flush=True)
            failed.append(seed)
    plans = arguments.programs * len(ALGORITHMS)
    print(
        f"{arguments.programs} programs, {plans} plans, {misfits} that do not fit, "
        f"{len(failed)} programs that fail"
    )
    if failed:
        program = draw_program(Random(failed[0]))
        reduced = reduce_program(program, lambda smaller: failure(smaller)[0] is not None)
        print(f"seed {failed[0]}, reduced: {failure(reduced)[0]}\n{reduced.mod.script()}")
        sys.exit(1)


if __name__ == "__main__":
    main()
