"""Count the models of a folder that compile and give the outputs of their own runtimes.

Each `.tflite`, `.onnx` and `.pt2` file is compiled, its C is built and run on random inputs, and
the outputs are compared with a reference: TFLite Micro, or LiteRT for files that it does not
support; onnxruntime or ONNX's own evaluator; PyTorch. For an ONNX model with folders
`test_data_set_*` beside it, the reference is the data in these folders. Print a line for each
model, then the most frequent reasons of refusals. The exit status is 1 if outputs differ, a build
fails with a signal or another error, or a model takes too long.

    python benchmarks/coverage.py FOLDER|MODEL ... [--runs N] [--timeout SECONDS] [--wanted N]
    python benchmarks/coverage.py --onnx-node-tests

With --onnx-node-tests, the models are ONNX's backend tests of single operators with fixed shapes
and element types of C, and the reference is the outputs of these tests.
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
    """Judge the models of the command line."""
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
    for judgment in judgments(arguments):
        judged.append(judgment)
        print_row(judgment)
    print_summary(judged, arguments.wanted)
    sys.exit(1 if any(judgment.verdict in FAULTS for judgment in judged) else 0)


def judgments(arguments: argparse.Namespace) -> Iterator[Judged]:
    """Yield the judgment of each model of the command line."""
    for case in cases_of(arguments.paths):
        yield judge(case, arguments.runs, arguments.timeout)
    if arguments.onnx_node_tests:
        yield from judged_node_tests(expanded=False)


def print_row(one: Judged) -> None:
    """Print the line of a model, with its fault if it has one."""
    workspace = str(one.workspace_bytes) if one.workspace_bytes else ""
    row = f"{one.case.name:60s}{one.verdict:>13s}{workspace:>11s}{one.seconds:7.1f} s"
    print(f"{row}  {one.reference}{one.detail and ': ' if one.reference else ''}{one.detail}")
    sys.stdout.flush()


def print_summary(judged: Sequence[Judged], wanted: int) -> None:
    """Print the counts of verdicts, then the most frequent reasons of refusals."""
    counts = Counter(judgment.verdict for judgment in judged)
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
