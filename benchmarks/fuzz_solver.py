"""Fuzz the solver with libFuzzer, AddressSanitizer and UBSan.

Every problem of the fuzzer, well formed or not, is solved and judged by a reference that shares no
code with the solver (src/usmp_solver/tests). It checks the placement rule, the bounds, the optimum
of small problems, and that a second run gives the same answer. Print the number of problems, and
the first one that failed.

    python benchmarks/fuzz_solver.py [--seconds N] [--seed SEED] [--corpus FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.solver_fuzzing import build, can_build, fuzz


def main() -> None:
    """Build the harness and run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="inputs to begin with")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not can_build(folder):
            sys.exit("clang++ with libFuzzer is needed (apt-get install clang libclang-rt-dev)")
        program = build(folder)
        corpus = arguments.corpus or folder / "corpus"
        start = time.perf_counter()
        outcome = fuzz(program, seconds=arguments.seconds, seed=arguments.seed, corpus=corpus)
    seconds = time.perf_counter() - start
    print(f"{outcome.executions} problems in {seconds:.0f} s", flush=True)
    if outcome.failure:
        sys.exit(outcome.failure)
    print("none failed")


if __name__ == "__main__":
    main()
