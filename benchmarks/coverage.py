"""How many models of a folder compile, and compute what their own runtimes compute.

Each `.tflite`, `.onnx` and `.pt2` file is compiled, its C is built and run on random inputs, and
the outputs are compared with those of TFLite Micro, or of LiteRT where that does not take the file;
of onnxruntime or ONNX's own evaluator; of PyTorch. An ONNX model with folders `test_data_set_*`
beside it is compared with these. Prints a line a model, then what most of the others are refused
for. The exit status is 1 if a model was different, ended by a signal or another error, or took too
long.

    python benchmarks/coverage.py FOLDER|MODEL ... [--runs N] [--timeout SECONDS] [--wanted N]
    python benchmarks/coverage.py --onnx-node-tests

With --onnx-node-tests, the models are those of the tests of ONNX's backends, of single operators
on elements of C types with fixed shapes, and outputs are compared with theirs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.model_coverage.case import cases_of
from support.model_coverage.judge import FAULTS, VERDICTS, Judged, judge
from support.model_coverage.node_tests import judged_node_tests
from support.model_coverage.wanted import most_wanted


def main() -> None:
    """Judge the models that are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="FOLDER|MODEL")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="of each")
    parser.add_argument(
        "--timeout", type=int, default=600, metavar="SECONDS", help="for each model"
    )
    parser.add_argument("--wanted", type=int, default=20, metavar="N", help="kinds of refusals")
    parser.add_argument("--onnx-node-tests", action="store_true", help="those that ONNX has")
    arguments = parser.parse_args()
    missing = [str(path) for path in arguments.paths if not path.exists()]
    if missing:
        parser.error(f"there is no {', '.join(missing)}")
    judged = []
    for one in judgments(arguments):
        judged.append(one)
        print_row(one)
    print_summary(judged, arguments.wanted)
    sys.exit(1 if any(one.verdict in FAULTS for one in judged) else 0)


def judgments(arguments: argparse.Namespace) -> Iterator[Judged]:
    """What becomes of the models that are named, one by one."""
    for case in cases_of(arguments.paths):
        yield judge(case, arguments.runs, arguments.timeout)
    if arguments.onnx_node_tests:
        yield from judged_node_tests(expanded=False)


def print_row(one: Judged) -> None:
    """A model, with what is wrong if anything is."""
    workspace = str(one.workspace_bytes) if one.workspace_bytes else ""
    row = f"{one.case.name:60s}{one.verdict:>13s}{workspace:>11s}{one.seconds:7.1f} s"
    print(f"{row}  {one.reference}{one.detail and ': ' if one.reference else ''}{one.detail}")
    sys.stdout.flush()


def print_summary(judged: Sequence[Judged], wanted: int) -> None:
    """The counts, then what would make most models compile."""
    counts = Counter(one.verdict for one in judged)
    print(
        f"\n{len(judged)} models: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
    )
    groups = most_wanted(judged)
    if groups:
        print("\nMost wanted:")
    for kind, refused in groups[:wanted]:
        print(f"{len(refused):5d}  {kind}\n       first: {refused[0].case.name}")


if __name__ == "__main__":
    main()
