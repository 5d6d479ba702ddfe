"""Compare the bytes of constants in the emitted C with those in the model file.

    python benchmarks/constants.py MODEL.tflite ...

"file" sums the buffers of the model file: weights, biases, and the shapes and axes that operators
read. "C" is the constant pool: weights, tables of activations, and biases packed with the factors
of requantization, which the file keeps as scales outside its buffers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tflite
from rich.console import Console
from rich.table import Table

import usmp


def main(paths: list[str]) -> None:
    """Print the table."""
    table = Table(title="Constants in bytes", title_justify="left")
    for heading in ("model", "file", "C", "more", "C / file"):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for path in map(Path, paths):
        file, ours = file_bytes(path), constant_bytes(path)
        table.add_row(path.stem, str(file), str(ours), f"{ours - file:+}", f"{ours / file:.3f}")
    Console(width=100).print(table)


def file_bytes(path: Path) -> int:
    """Return the total bytes of the model file's buffers."""
    model = tflite.Model.GetRootAsModel(path.read_bytes(), 0)
    return sum(model.Buffers(index).DataLength() for index in range(model.BuffersLength()))


def constant_bytes(path: Path) -> int:
    """Return the total bytes of the constant pools in the emitted C."""
    factory = usmp.build(usmp.import_model(path))
    return sum(int(pool.size_bytes) for pool in factory.interface.pools if pool.is_constant)


if __name__ == "__main__":
    main(sys.argv[1:])
