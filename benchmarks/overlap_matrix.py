"""Check that overlapping buffers never change an output, with any compiler of the C.

    python benchmarks/overlap_matrix.py MODEL ...
    python benchmarks/overlap_matrix.py --suite [--part I/N] [--share N] [--runs N]

Each model, or with --suite each model with one operator, is built with inputs and outputs in the
workspace, by gcc and clang at -O0, -O2 and -O3, with AddressSanitizer and
UndefinedBehaviorSanitizer, as an object file by LLVM, with dead bytes overwritten, and without
overlap. All outputs must equal those of TFLite Micro's reference kernels, or for float models those
without overlap. Print for each model the bytes of its workspace without and with overlap, and the
ways that fail.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.built_ways import (
    ALL,
    DISJOINT,
    LEVELS,
    Matrix,
    Way,
    available,
    model_of_suite,
    real_model,
)
from support.quantized_models import CATALOG


def main() -> None:
    """Print a line for each model; fail if any output differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--suite", action="store_true", help="the models of one operator")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th of the suite")
    parser.add_argument(
        "--share", type=int, default=1, metavar="N", help="every N-th way, in turn (1: all)"
    )
    parser.add_argument("--runs", type=int, default=4, help="random inputs of each model (4)")
    options = parser.parse_args()
    start, ways = time.monotonic(), available(ALL)
    count = built = failed = 0
    for name, matrix, expected in models(options):
        chosen = ways[count % options.share :: options.share]
        failures = matrix.failures(chosen, expected)
        disjoint, overlapping = (workspace_bytes(matrix, way) for way in (DISJOINT, LEVELS[0]))
        print(f"{name}: {disjoint} -> {overlapping} bytes", flush=True)
        for failure in failures:
            print(f"{name}: FAILED: {failure}", flush=True)
        count, built, failed = count + 1, built + len(chosen), failed + len(failures)
    seconds = time.monotonic() - start
    print(f"{count} models, {built} programs, {failed} failures, {seconds:.0f} s")
    sys.exit(1 if failed else 0)


def workspace_bytes(matrix: Matrix, way: Way) -> int:
    """Return the bytes of the planned workspace."""
    return matrix.factory(way).interface.workspace_size_bytes


def models(options: argparse.Namespace) -> Iterator[tuple[str, Matrix, bytes]]:
    """Yield the name, the model and the expected outputs of each model."""
    for path in options.models:
        yield path.stem, *real_model(path, options.runs)
    if options.suite:
        part, parts = map(int, options.part.split("/"))
        for model in CATALOG[part - 1 :: parts]:
            yield model.name, *model_of_suite(model, options.runs)


if __name__ == "__main__":
    main()
