"""Programs of the tests' own for boards: many models in one program, or any `main`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.compilers import require
from support.levels import sample
from support.relax_models import PARAMS, Attention
from usmp.boards.board import BOARDS, Board, board_named
from usmp.boards.emulator import build_project, run_emulator
from usmp.boards.project import project_files
from usmp.runtime.write_files import write_files

Tensors = Mapping[str, np.ndarray]


def require_board(board: Board) -> None:
    """Skip the test, and say why, where a tool for the board is not installed."""
    for program in ("make", board.toolchain.compiler, board.emulator.program):
        require(program)


@cache
def small_model(board: Board) -> usmp.AOTExecutorFactoryModule:
    """A model for a board of which only the project matters, or that there is one."""
    return usmp.build(Attention, params=PARAMS, board=board)


every_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)

SOME_BOARDS = (
    # Of the Armv7-M ones, one; of the Armv8-M ones, that with vectors.
    *sample([board_named(f"mps2-{name}") for name in ("an385", "an386", "an500")], 1),
    *sample([board_named("mps2-an505")], 0),
    board_named("mps3-an547"),
    board_named("riscv32-virt"),
)
"""For what another test sees on every board: `test_a_model` of test_emulator.py."""
some_boards = pytest.mark.parametrize("board", SOME_BOARDS, ids=lambda board: board.name)


def build_program(
    board: Board, factories: Sequence[usmp.AOTExecutorFactoryModule], main: str, directory: Path
) -> Path:
    """The project's folder of a program of several models and a `main` of its own."""
    files = {}
    for factory in factories:
        files |= {k: v for k, v in factory.files().items() if k.startswith("codegen/")}
    files |= project_files(factories[0].interface, board) | {"project/main.c": main.encode()}
    write_files(files, directory)
    build_project(directory / "project", board, {})
    return directory / "project"


def run_program(board: Board, project: Path, inputs: bytes = b"") -> tuple[str, bytes]:
    """What the program prints, and what it writes to outputs.bin."""
    (project / "inputs.bin").write_bytes(inputs)
    printed = run_emulator(board, project, "model.elf", timeout_seconds=120)
    outputs = project / "outputs.bin"
    return printed, outputs.read_bytes() if outputs.exists() else b""


def run_models(
    board: Board,
    models: Sequence[tuple[usmp.AOTExecutorFactoryModule, Sequence[Tensors]]],
    directory: Path,
) -> list[list[dict[str, np.ndarray]]]:
    """The outputs of several models, each run on its inputs, in one program."""
    factories = [factory for factory, _ in models]
    headers = "\n".join(f'#include "{f.interface.prefix}.h"' for f in factories)
    calls = "\n".join(f"  {_all_runs(f, len(runs))}" for f, runs in models)
    main = f"""#include "semihosting.h"
{headers}
int main(void) {{
  const int32_t in = semihosting_open("inputs.bin", SEMIHOSTING_READ);
  const int32_t out = semihosting_open("outputs.bin", SEMIHOSTING_WRITE);
{calls}
  semihosting_close(out);
  return 0;
}}
"""
    project = build_program(board, factories, main, directory)
    names = [[str(t.info.name) for t in f.interface.inputs] for f in factories]
    content = b"".join(
        run[name].tobytes()
        for (_, runs), inputs in zip(models, names, strict=True)
        for run in runs
        for name in inputs
    )
    _, output = run_program(board, project, content)
    return _split(models, output)


def _all_runs(factory: usmp.AOTExecutorFactoryModule, runs: int) -> str:
    """C that runs a model several times; inputs and outputs are in its workspace."""
    interface = factory.interface
    p, macro = interface.prefix, interface.macro_prefix

    def transfer(what: str, call: str) -> str:
        tensors = interface.inputs if what == "inputs" else interface.outputs
        file = "in" if what == "inputs" else "out"
        return " ".join(
            f"semihosting_{call}({file}, {what}.{t.c_name}, {macro}_{t.c_name.upper()}_SIZE);"
            for t in tensors
        )

    return (
        f"for (int run = 0; run < {runs}; ++run) {{ struct {p}_inputs inputs = {p}_map_inputs(); "
        f"struct {p}_outputs outputs = {p}_map_outputs(); (void)inputs; "
        f"{transfer('inputs', 'read')} if ({p}_run() != 0) return 1; "
        f"{transfer('outputs', 'write')} }}"
    )


def _split(
    models: Sequence[tuple[usmp.AOTExecutorFactoryModule, Sequence[Tensors]]], output: bytes
) -> list[list[dict[str, np.ndarray]]]:
    start = 0
    results = []
    for factory, runs in models:
        results.append([])
        for _ in runs:
            arrays = {}
            for tensor in factory.interface.outputs:
                info = tensor.info
                shape = [int(extent) for extent in info.shape]
                array = np.frombuffer(output, str(info.dtype), int(np.prod(shape)), start)
                arrays[str(info.name)] = array.reshape(shape)
                start += array.nbytes
            results[-1].append(arrays)
    assert start == len(output)
    return results
