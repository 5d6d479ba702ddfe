"""Measure models on emulated boards: instructions, RAM beyond the pools, stack, flash.

    python benchmarks/boards.py MODEL.tflite ...

Each model is compiled for each board without interleaved operators, built with -O2 by the board's
compiler, and run on random inputs in QEMU. Outputs are compared with TFLite Micro's. All numbers
are exact: the emulator counts instructions, and bytes are those of the ELF file and of the painted
stack. "code" is everything in flash but constant pools: the model, the start-up code, semihosting
and the C library. "-Os" is "code" of a build for size.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from random_inputs import random_inputs
from rich.console import Console
from rich.table import Table
from tflite_micro.python.tflite_micro import runtime
from tvm.ir.transform import PassContext

import usmp
from usmp.boards.board import BOARDS, Board
from usmp.boards.board_run import ProgramMemory, program_memory
from usmp.boards.emulator import EmulatedModule

ARENA_BYTES = 16 << 20
HEADINGS = ("outputs", "instructions", "pools", "other RAM", "stack", "constants", "code", "-Os")


def main(paths: list[str]) -> None:
    """Print the table."""
    table = Table(title="Models on boards (bytes)", title_justify="left")
    for heading in ("model", "board", *HEADINGS):
        justify = "left" if heading in ("model", "board", "outputs") else "right"
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for path in map(Path, paths):
        mod = usmp.import_model(path)
        for board in BOARDS:
            table.add_row(path.stem, board.name, *measured(path, mod, board))
    Console(width=150).print(table)


def measured(path: Path, mod: object, board: Board) -> list[str]:
    """Return the cells of one model on one board."""
    with PassContext(disabled_pass=["StreamOperators"]):
        factory = usmp.build(mod, board=board)
    fast, small = (program(factory, board, option) for option in ("-O2", "-Os"))
    inputs = random_inputs(factory)
    runs = fast.run([inputs])
    memory = memory_of(fast)
    same = difference(runs.outputs[0], tflite_micro_outputs(path, inputs))
    numbers = (
        *(runs.instructions[0], memory.pools, memory.variables, runs.stack_used_bytes),
        *(memory.constants, memory.code, memory_of(small).code),
    )
    return [same, *map(str, numbers)]


def program(
    factory: usmp.AOTExecutorFactoryModule, board: Board, optimization: str
) -> EmulatedModule:
    """Return the model as a program for the board."""
    metadata = factory.metadata["modules"]["default"]
    return EmulatedModule(factory.files(), metadata, board, {"OPTIMIZATION": optimization})


def memory_of(module: EmulatedModule) -> ProgramMemory:
    """Return the memory of the program by purpose."""
    return program_memory(module.sections(), module.board)


def tflite_micro_outputs(path: Path, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the first output of TFLite Micro."""
    interpreter = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=ARENA_BYTES)
    for index, value in enumerate(inputs.values()):
        interpreter.set_input(value, index)
    interpreter.invoke()
    return [interpreter.get_output(0)]


def difference(outputs: Mapping[str, np.ndarray], expected: list[np.ndarray]) -> str:
    """Return "equal", or the largest difference of the first outputs."""
    first = next(iter(outputs.values())).astype(np.float64)
    largest = np.abs(first - expected[0].astype(np.float64)).max()
    return "equal" if largest == 0 else f"{largest:.1e}"


if __name__ == "__main__":
    main(sys.argv[1:])
