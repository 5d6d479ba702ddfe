"""Import damaged TFLite files: a property of the tests, with more files.

Each file is a copy of a small quantized model or of a real one, with some bytes or fields of its
tables changed. It must be imported, or refused with one clear message. No import may crash, hang,
use unbounded memory or write to stderr. A share of the imported files is built with sanitizers,
run, and compared with tflite-micro. Print the number of files by outcome, and the seed, the change
and the message of each that fails.

    python benchmarks/fuzz_tflite.py [--mutants N] [--first SEED] [--real SHARE] [--built SHARE]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.tflite_fuzzing import CLEAN, Outcome, sweep


def print_outcomes(outcomes: list[Outcome]) -> None:
    """Print a line for each kind of outcome, failures last."""
    counts = Counter(outcome.kind for outcome in outcomes)
    for kind in sorted(counts, key=lambda kind: (kind not in CLEAN, -counts[kind])):
        slowest = max(outcome.seconds for outcome in outcomes if outcome.kind == kind)
        print(f"{counts[kind]:8d}  {kind:24s} slowest {slowest:6.1f} s")


def main() -> None:
    """Import the mutants of consecutive seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--real", type=float, default=0.05, metavar="SHARE")
    parser.add_argument("--built", type=float, default=0.02, metavar="SHARE")
    parser.add_argument("--messages", action="store_true", help="print every message")
    arguments = parser.parse_args()
    start, outcomes = time.monotonic(), []
    for outcome in sweep(arguments.first, arguments.mutants, arguments.real, arguments.built):
        outcomes.append(outcome)
        if arguments.messages or not outcome.is_clean:
            print(f"seed {outcome.seed}: {outcome.kind}: {outcome.what}\n    {outcome.message}")
            sys.stdout.flush()
    print(f"{len(outcomes)} mutants in {time.monotonic() - start:.0f} s")
    print_outcomes(outcomes)
    if not all(outcome.is_clean for outcome in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main()
