"""How fast the C of quantized models is beside TFLite Micro's reference kernels, on this host.

    python benchmarks/speed.py [--flags=-O2] MODEL.tflite ...

Both run the same inputs in turn, in one process and one run; a number is the least CPU time of a
run. TFLite Micro is the package `tflite-micro`, the C is built with the flags that
docs/benchmarks.md recommends. Outputs are compared byte for byte on the way.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from random_inputs import random_inputs
from rich.console import Console
from rich.table import Table
from tflite_micro.python.tflite_micro import runtime

import usmp
from usmp.runtime import HostModule

ROUNDS = 41
ARENA_BYTES = 16 << 20


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--flags", default="-O2", help="for the C compiler (-O2)")
    options = parser.parse_args()
    table = Table(title=f"CPU time of one run, C built with {options.flags}", title_justify="left")
    for heading in ("model", "outputs", "TFLM ms", "C ms", "TFLM / C"):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in options.models:
        table.add_row(path.stem, *compare(path, options.flags.split()))
    Console(width=100).print(table)


def compare(path: Path, flags: list[str]) -> tuple[str, str, str, str]:
    """Outputs identical or not, both times in ms, and their ratio."""
    factory = usmp.build(usmp.import_model(path))
    module = HostModule(factory.files(), factory.metadata["modules"]["default"], flags)
    interpreter = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=ARENA_BYTES)
    inputs = random_inputs(factory)
    times: tuple[list[float], list[float]] = ([], [])
    same = True
    for _ in range(ROUNDS):
        for index, value in enumerate(inputs.values()):
            interpreter.set_input(value, index)
        start = time.process_time()
        interpreter.invoke()
        middle = time.process_time()
        outputs = module.run(inputs)
        times[0].append(middle - start)
        times[1].append(time.process_time() - middle)
        same &= all(
            np.array_equal(value, interpreter.get_output(index))
            for index, value in enumerate(outputs.values())
        )
    theirs, ours = (1e3 * min(t) for t in times)
    verdict = "identical" if same else "DIFFERENT"
    return verdict, f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.2f}"


if __name__ == "__main__":
    main()
