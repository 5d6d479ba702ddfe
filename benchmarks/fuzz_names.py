"""Fuzz the names in models, which must not become code: a property of the tests, with more models.

Models are `.tflite`, ONNX, Relax and TIR. Every name in them is drawn from pieces of C, trigraphs,
comments, terminal escapes, writing directions, keywords and macros. The emitted files must compile
without warnings, and must not contain code from a name. Print the seed and the error of each model
that fails or is refused.

    python benchmarks/fuzz_names.py [--models N] [--first SEED]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.hostile_models import FORMATS, check_model, draw_model


def outcome(form: str, seed: int) -> str:
    """Compile and check one model; return the outcome."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            factory = draw_model(Random(f"{form} {seed}"), form, Path(folder))
            factory.files()
        except ValueError as error:
            print(f"{form} {seed}: refused: {str(error)!a}")
            return "refused"
        try:
            check_model(factory)
        except Exception as error:
            print(f"{form} {seed}: {type(error).__name__}: {str(error)[:2000]!a}")
            return "wrong"
    return "well"


def main() -> None:
    """Compile the models of consecutive seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    arguments = parser.parse_args()
    start, counts = time.monotonic(), Counter()
    for number in range(arguments.models):
        form = FORMATS[number % len(FORMATS)]
        counts[outcome(form, arguments.first + number)] += 1
        sys.stdout.flush()
    print(f"{dict(counts)} in {time.monotonic() - start:.0f} s")
    if counts["wrong"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
