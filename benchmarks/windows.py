"""Compare networks that take the new rows of a window of time with those that take all rows.

    python benchmarks/windows.py MODEL.tflite:HOP ...

For each model with one input, on an emulated Cortex-M4 (mps2-an386), print the bytes of the
workspace with inputs and outputs, the bytes of it that are kept between runs, the bytes of
constants, and the multiply-accumulates and instructions of a run. The outputs of several runs must
equal those of the whole window; before the first run the window is full of the input's zero point.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table
from tvm.ir.transform import PassContext

import usmp
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.executor_factory import AOTExecutorFactoryModule

BOARD = "mps2-an386"
RUNS = 6


def main(arguments: list[str]) -> None:
    """Print the table."""
    table = Table(title=f"One run on {BOARD}", title_justify="left")
    headings = ("rows", "workspace", "state", "constants", "MACs", "instructions", "outputs")
    for heading in ("model", *headings):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    for argument in arguments:
        path, _, hop = argument.rpartition(":")
        for row in rows_of(path, int(hop)):
            table.add_row(*map(str, row))
    Console(width=150).print(table)


def rows_of(path: str, hop: int) -> list[tuple[object, ...]]:
    """Return the rows of the table for the whole window, and for `hop` new rows of it."""
    mod = usmp.import_model(path)
    (param,) = mod["main"].params
    whole, sliding = built(path, []), built(path, [f"{param.name}:hop={hop}"])
    shape = [int(extent) for extent in param.ty.shape]
    axis = next(axis for axis, extent in enumerate(shape) if extent > 1)
    zero_point = whole.interface.inputs[0].info.zero_point
    window = np.full(shape, int(zero_point or 0), str(param.ty.dtype))
    random = np.random.default_rng(0)
    new_rows, windows = [], []
    for _ in range(RUNS):
        extents = [hop if index == axis else extent for index, extent in enumerate(shape)]
        new_rows.append(random.integers(-128, 128, extents).astype(window.dtype))
        joined = np.concatenate([window, new_rows[-1]], axis)
        window = np.ascontiguousarray(np.take(joined, range(hop, hop + shape[axis]), axis))
        windows.append(window)
    name = str(param.name)
    expected, of_whole = run(whole, [{name: value} for value in windows])
    results, of_sliding = run(sliding, [{name: value} for value in new_rows])
    same = all(
        value.tobytes() == result[output].tobytes()
        for outputs, result in zip(expected, results, strict=True)
        for output, value in outputs.items()
    )
    model = path.rpartition("/")[2].removesuffix(".tflite")
    described = sliding.metadata["modules"]["default"]["windows"]
    verdict = "identical" if same else "DIFFERENT"
    return [
        (model, shape[axis], *sizes(whole), described["window_macs"], of_whole, ""),
        ("", hop, *sizes(sliding), described["macs"], of_sliding, verdict),
    ]


def built(path: str, inputs: list[str]) -> AOTExecutorFactoryModule:
    """Build the model for the board, with the options `inputs` of windows."""
    with PassContext(config={"tir.usmp.stream_inputs": inputs}):
        return usmp.build(path, board=BOARD)


def run(
    factory: AOTExecutorFactoryModule, inputs: list[dict[str, np.ndarray]]
) -> tuple[list[dict[str, np.ndarray]], int]:
    """Return the outputs of all runs, and the instructions of the last one."""
    metadata = factory.metadata["modules"]["default"]
    module = EmulatedModule(factory.files(), metadata, board_named(BOARD))
    done = module.run(inputs)
    return done.outputs, done.instructions[-1]


def sizes(factory: AOTExecutorFactoryModule) -> tuple[int, int, int]:
    """Return the bytes of the workspace, of its states, and of constants."""
    memory = factory.metadata["modules"]["default"]["memory"]
    constants = sum(pool["peak_bytes"] for pool in memory["pools"] if pool["kind"] == "constant")
    return memory["ram"]["workspace_size_bytes"], memory["ram"]["state_size_bytes"], constants


if __name__ == "__main__":
    main(sys.argv[1:])
