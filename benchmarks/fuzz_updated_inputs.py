"""Compare random PyTorch programs that update their inputs in place with PyTorch.

Print the number of programs, and of those whose outputs or updated inputs differ in some run, for
each way to call them.

    python benchmarks/fuzz_updated_inputs.py [--programs N] [--first SEED]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.updating_programs import INTERFACES, built, compare, imported, random_program


def failures(seed: int) -> list[str]:
    """Return the faults of the program of a seed, for each interface."""
    function, inputs = random_program(Random(seed))
    faults = []
    for interface in INTERFACES:
        try:
            compare(function, built(imported(function, *inputs), interface), *inputs)
        except Exception as error:  # any error is a failure
            faults.append(f"{interface}: {type(error).__name__}: {error}")
    return faults


def main() -> None:
    """Try the programs of consecutive seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.first, arguments.first + arguments.programs):
        faults = failures(seed)
        failed += bool(faults)
        for text in faults:
            print(f"seed {seed}: {text}", flush=True)
    print(f"{arguments.programs} programs, {failed} that fail")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
