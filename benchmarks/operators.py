"""Compare every operator of a front end with its reference: random attributes, types and shapes.

The references are onnxruntime, LiteRT or TFLite Micro, and PyTorch. Print a line for each operator:
the number of trials that gave the reference's elements, or floats close to them, that were refused
with a clear message, and that were wrong or crashed, with the attributes of the first one. Then
print the operators that were never compared. The exit status is 1 if a trial was wrong or crashed.

    python benchmarks/operators.py onnx|tflite|pytorch [--seeds N] [--first SEED] [OPERATOR ...]

With --mutate, one number of each ONNX model is changed, mostly to an invalid one. A model that
onnxruntime refuses must be refused here, too; other models must give its elements.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.operator_trials.sweep import (
    FRONT_ENDS,
    VERDICTS,
    Row,
    generators,
    never_compared,
    sweep,
)


def print_row(row: Row, all_faults: bool, refusals: bool) -> None:
    """Print the counts of an operator, then its faults."""
    counts = "".join(f"{row.verdicts[verdict]:14d}" for verdict in VERDICTS)
    print(f"{row.operator:32s}{row.verdicts.total():8d}{counts}")
    for fault in row.faults[: None if all_faults else 1]:
        print(f"    {fault}")
    for message, count in row.refusals.items() if refusals else ():
        print(f"    refused {count}: {message}")
    sys.stdout.flush()


def main() -> None:
    """Sweep the operators of one front end."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("front_end", choices=FRONT_ENDS)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="all if none is named")
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--all-faults", action="store_true", help="not only the first of each")
    parser.add_argument("--refusals", action="store_true", help="print the messages")
    parser.add_argument("--mutate", action="store_true", help="change a number of each model")
    parser.add_argument("--cflags", default="-O1", help="options of the C compiler")
    arguments = parser.parse_intermixed_args()
    known = generators(arguments.front_end)
    if arguments.mutate and arguments.front_end != "onnx":
        parser.error("--mutate is for onnx")
    unknown = sorted(set(arguments.operators) - set(known))
    if unknown:
        parser.error(f"no trials of {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
    print(f"{'operator':32s}{'trials':>8s}" + "".join(f"{verdict:>14s}" for verdict in VERDICTS))
    has_faults = False
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    operators = arguments.operators or sorted(known)
    flags = arguments.cflags.split()
    for row in sweep(arguments.front_end, operators, seeds, flags, arguments.mutate):
        print_row(row, arguments.all_faults, arguments.refusals)
        has_faults = has_faults or bool(row.faults)
    if not arguments.operators:
        print("never compared:", ", ".join(never_compared(arguments.front_end)) or "none")
    sys.exit(1 if has_faults else 0)


if __name__ == "__main__":
    main()
