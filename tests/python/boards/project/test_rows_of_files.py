"""The `main.c` of a board whose model has inputs and outputs by rows, whatever these are called."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support.compilers import run_compiler
from usmp.boards.board import board_named
from usmp.boards.project import project_files
from usmp.runtime.write_files import write_files

NAMES = ["inputs", "outputs", "file", "x", "x_rows", "row_of_x"]


@pytest.mark.slow
@pytest.mark.cc
def test_names_that_other_functions_and_variables_have(tmp_path):
    builder = relax.BlockBuilder()
    tensors = [relax.Var(name, relax.TensorType((1, 4, 8), "int8")) for name in NAMES]
    with builder.function("main", tensors):
        with builder.dataflow():
            total = tensors[0]
            for tensor in tensors[1:]:
                total = builder.emit(relax.op.add(total, tensor))
            total = builder.emit_output(relax.op.add(total, total))
        builder.emit_func_output(total)
    with PassContext(config={"tir.usmp.stream_inputs": NAMES}):
        factory = usmp.build(builder.get(), "c")
    board = board_named("mps2-an386")
    write_files(factory.files() | project_files(factory.interface, board), tmp_path)
    folders = [f"-I{tmp_path / name}" for name in ("project", "codegen/host/include")]
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *folders]
    run_compiler([*command, str(tmp_path / "project" / "main.c")])
