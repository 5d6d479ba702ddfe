"""Compare the solver with OR-tools CP-SAT on random small problems.

The problems combine several pools with limits, alignments, pins, several live ranges, conflicts
without common live ranges, and safe overlaps. Print the numbers of problems and of those without a
plan, and the first problem on which the two solvers differ.

    python benchmarks/solver_oracle.py [--problems N] [--first SEED]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.solver_judge import assert_best, drawn


def main() -> None:
    """Try the problems of consecutive seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    arguments = parser.parse_args()
    plans = 0
    start = time.process_time()
    for seed in range(arguments.first, arguments.first + arguments.problems):
        try:
            plans += assert_best(drawn(seed))
        except AssertionError:
            print(f"seed {seed}: {drawn(seed)}")
            raise
    seconds = time.process_time() - start
    print(
        f"{arguments.problems} problems in {seconds:.0f} CPU seconds: {plans} with the same "
        f"optimum, {arguments.problems - plans} with no plan by both"
    )


if __name__ == "__main__":
    main()
