"""Writes docs/operators.md: every operator that a front end takes, with the types of its inputs.

The names are those of the registries of the front ends. Types are those of the inputs in the random
trials of benchmarks/operators.py that are imported, so that the page says what was compared.

    python benchmarks/operators_page.py [--seeds N]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

import usmp
from support.operator_trials.sweep import operators, trial_of
from support.operator_trials.trial import ENDINGS, Trial

PAGE = Path(__file__).resolve().parents[1] / "docs/operators.md"
TITLES = {"tflite": "TFLite", "onnx": "ONNX", "pytorch": "PyTorch"}
TYPES = """float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool
complex64""".split()

_HEAD = """\
# Operators

Every operator that can be compiled, by front end, with the types of its inputs, indices and shapes
among them. This page is written by `benchmarks/operators_page.py` from the registries of the front
ends, and the types are those of random models that were compared with other runtimes. What an
operator does not take of these, and what is refused, is on the page of the front end. A Relax
module of your own may have any operator that TVM lowers to loops.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=40, metavar="N", help="trials of an operator")
    seeds = parser.parse_args().seeds
    sections = [_HEAD]
    for front_end, title in TITLES.items():
        rows = [row(front_end, name, seeds) for name in operators(front_end)]
        table = ["| operator | types |", "|---|---|", *rows]
        sections.append(
            f"## {title}\n\n{len(table) - 2} operators; see also [{title} operators]"
            f"({front_end}-operators.md).\n\n" + "\n".join(table) + "\n"
        )
    PAGE.write_text("\n".join(sections))


def row(front_end: str, operator: str, seeds: int) -> str:
    """A row of the table."""
    types = set()
    for seed in range(seeds):
        trial = trial_of(front_end, operator, seed)
        if is_imported(trial):
            types.update(str(array.dtype) for array in trial.runs[0].values())
    print(operator, *sorted(types), flush=True)
    return f"| `{operator}` | {', '.join(_in_order(types))} |"


def is_imported(trial: Trial) -> bool:
    """Whether the front end takes the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{ENDINGS[trial.front_end]}"
        path.write_bytes(trial.model)
        try:
            usmp.import_model(path)
        except usmp.UnsupportedModelError:
            return False
    return True


def _in_order(types: Iterable[str]) -> Iterator[str]:
    found = set(types)
    yield from (name for name in TYPES if name in found)
    yield from sorted(found - set(TYPES))


if __name__ == "__main__":
    main()
