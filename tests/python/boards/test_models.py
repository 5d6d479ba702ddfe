"""Real models on emulated boards, against the bytes that tflite-micro computes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

import usmp
from support.board_programs import (
    Tensors,
    build_program,
    require_board,
    run_models,
    run_program,
    some_boards,
)
from support.levels import in_long_run, sample, seeds
from support.micro import Micro
from support.quantized_models import CATALOG
from support.quantized_models.model import Spec
from support.quantized_models.shapes import transpose
from support.small_digits import small_convolutions, small_digits
from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.boards.board import BOARDS, board_named
from usmp.boards.board_run import program_memory
from usmp.boards.emulator import EmulatedModule
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.board

RUNS = 3
SEARCHED_LESS = {"tir.usmp.algorithm": "hill_climb"}
"""Where outputs matter and bytes do not: without proofs, a model is planned sooner."""


class Pools(NamedTuple):
    """Bytes that a program has for a model."""

    workspace: int
    constant: int


POOLS = {
    "ad01": Pools(768, 277568),
    "kws": Pools(4316, 27104),
    "resnet8": Pools(11136, 80452),
    "strww": Pools(3760, 53144),
    "vww_96": Pools(27760, 38404),
}
VECTOR_POOLS = {
    "ad01": Pools(768, 277576),
    "kws": Pools(6108, 27104),
    "resnet8": Pools(14528, 80676),
    "strww": Pools(3664, 53260),
    "vww_96": Pools(27760, 41544),
}
"""Where weights are laid out for vectors."""


@cache
def imported(model: Path) -> IRModule:
    return usmp.import_model(model)


def emulated(model, board, **arguments) -> EmulatedModule:
    require_board(board)
    factory = usmp.build(imported(model), board=board, **arguments)
    return EmulatedModule(factory.files(), factory.metadata["modules"]["default"], board)


def loaded_segments(module: EmulatedModule) -> list[tuple[int, int, int]]:
    """Address, address that it is loaded to, and bytes of what the ELF file has content for."""
    elf = (module._project / "model.elf").read_bytes()
    (table,) = struct.unpack_from("<I", elf, 28)
    size, count = struct.unpack_from("<2H", elf, 42)
    segments = [struct.unpack_from("<6I", elf, table + size * i) for i in range(count)]
    return [
        (address, loaded_to, length)
        for kind, _, address, loaded_to, length, _ in segments
        if kind == 1 and length
    ]


def as_bytes(runs: Sequence[Tensors]) -> list[dict[str, bytes]]:
    return [{name: value.tobytes() for name, value in run.items()} for run in runs]


OTHERS = [(name, board) for name in POOLS for board in ("mps2-an385", "mps3-an547")]
OTHERS.remove(("kws", "mps3-an547"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "board"), [("kws", "mps3-an547"), *in_long_run(OTHERS)])
def test_mlperf_tiny(shared_model, name, board):
    model, board = shared_model(f"mlperf_{name}_int8"), board_named(board)
    module, reference = emulated(model, board), Micro(model)
    inputs = [reference.random_inputs(seed) for seed in range(RUNS)]
    runs = module.run(inputs)
    assert as_bytes(runs.outputs) == as_bytes([reference.run(one) for one in inputs])
    memory = program_memory(module.sections(), board)
    has_vectors = board.name == "mps3-an547"
    pools = (VECTOR_POOLS if has_vectors else POOLS)[name]
    assert memory.pools == pools.workspace
    assert memory.constants == pools.constant
    assert memory.variables <= 32
    assert memory.code <= (16 if has_vectors else 44) << 10
    assert runs.stack_used_bytes <= (848 if has_vectors else 576)
    memories = [memory for memory in board.memories if memory.is_read_only]
    for address, loaded_to, size_bytes in loaded_segments(module):
        assert address == loaded_to, "the program would have to copy it"
        assert any(
            memory.base <= address <= address + size_bytes <= memory.base + memory.size_bytes
            for memory in memories
        )


KWS, STRWW, AD01 = "mlperf_kws_int8", "mlperf_strww_int8", "mlperf_ad01_int8"
STREAMING, FLOAT = "mww_okay_nabu_v2_int8", "mlperf_ad01_float"


QUANTIZED = [
    (KWS, "mps2-an386", None),
    (KWS, "mps2-an500", None),
    (AD01, "mps2-an505", None),
    (STRWW, "mps2-an505", None),
    (KWS, "riscv32-virt", None),
    (STREAMING, "mps3-an547", None),
    (STREAMING, "mps3-an547", "isram"),
]
FLOATS = [(FLOAT, board.name, None) for board in BOARDS]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "board", "state_pool"), sample([*QUANTIZED, *FLOATS], 1))
def test_some_models_on_some_boards(shared_model, name, board, state_pool):
    """Small ones run on all boards: here, in test_emulator.py and in test_entries.py."""
    model = shared_model(name)
    with PassContext(config=SEARCHED_LESS):
        module = emulated(model, board_named(board), state_memory_pool=state_pool)
    reference = Micro(model)
    inputs = [reference.random_inputs(seed) for seed in range(RUNS)]
    outputs, expected = module.run(inputs).outputs, [reference.run(one) for one in inputs]
    if name == FLOAT:
        for found, wanted in zip(outputs, expected, strict=True):
            for key, value in wanted.items():
                np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-5)
    else:
        assert as_bytes(outputs) == as_bytes(expected)


def test_an_operator_that_the_compiler_could_take_for_nothing(tmp_path):
    """GCC 12 dropped the call: it believed that a copy of the function for constant addresses wrote
    nothing."""
    path, board = tmp_path / "model.tflite", board_named("mps2-an385")
    path.write_bytes(transpose(Spec((1, 16, 16, 32)), 0, 3, 1, 2))
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        module = emulated(path, board)
    reference = Micro(path)
    inputs = [reference.random_inputs(seed) for seed in range(RUNS)]
    assert as_bytes(module.run(inputs).outputs) == as_bytes([reference.run(one) for one in inputs])


@pytest.mark.slow
@some_boards
def test_an_object_file_for_the_board(board):
    """Target llvm alone means the board's processor."""
    require_board(board)
    content = small_digits()
    factory = usmp.build(import_tflite(content), target="llvm", board=board)
    assert "codegen/host/lib/default_lib1.o" in factory.files()
    metadata = factory.metadata["modules"]["default"]
    module, reference = EmulatedModule(factory.files(), metadata, board), Micro(content)
    inputs = [reference.random_inputs(seed) for seed in range(RUNS)]
    assert as_bytes(module.run(inputs).outputs) == as_bytes([reference.run(one) for one in inputs])


@pytest.mark.slow
@some_boards
def test_operators_in_one_program(tmp_path, board):
    """A part of the catalog, another one on each board and for each seed of the samples."""
    require_board(board)
    of_micro = [model for model in CATALOG if model.oracle == "micro"]
    first = BOARDS.index(board) + seeds(1, 1)[0] * len(BOARDS)
    chosen = sample(of_micro[first % 60 :: 60], 4)
    models, expected = [], []
    for number, model in enumerate(chosen):
        content = model.make()
        factory = usmp.build(import_tflite(content), module_name=f"m{number}", board=board)
        reference = Micro(content)
        inputs = [reference.random_inputs(seed) for seed in range(4)]
        models.append((factory, inputs))
        expected.append(as_bytes([reference.run(one) for one in inputs]))
    outputs = run_models(board, models, tmp_path)
    different = [
        model.name
        for model, runs, wanted in zip(chosen, outputs, expected, strict=True)
        if as_bytes(runs) != wanted
    ]
    assert different == []


@pytest.mark.slow
def test_vectors_of_known_conditions(tmp_path):
    """GCC 12 takes one of the conditions by which four rows of a window exist for all of them."""
    board = board_named("mps3-an547")
    require_board(board)
    name = "depthwise_conv_2d_more_rows_than_data"
    path = tmp_path / "model.tflite"
    path.write_bytes(next(model for model in CATALOG if model.name == name).make())
    factory, reference = usmp.build(usmp.import_model(path), board=board), Micro(path)
    inputs = [reference.random_inputs(seed) for seed in range(RUNS)]
    (outputs,) = run_models(board, [(factory, inputs)], tmp_path)
    assert as_bytes(outputs) == as_bytes([reference.run(one) for one in inputs])


SHARED_WORKSPACE = """#include "semihosting.h"
#include "tvmgen_first.h"
#include "tvmgen_second.h"
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
static uint8_t sram[LARGER(TVMGEN_FIRST_SRAM_WORKSPACE_POOL_SIZE,
                           TVMGEN_SECOND_SRAM_WORKSPACE_POOL_SIZE)] __attribute__((aligned(16)));
static uint8_t first_input[TVMGEN_FIRST_{FIRST_INPUT}_SIZE];
static uint8_t first_output[TVMGEN_FIRST_{FIRST_OUTPUT}_SIZE];
static uint8_t second_input[TVMGEN_SECOND_{SECOND_INPUT}_SIZE];
static uint8_t second_output[TVMGEN_SECOND_{SECOND_OUTPUT}_SIZE];
int main(void) {
  struct tvmgen_first_workspace_pools first_pools = {sram};
  struct tvmgen_second_workspace_pools second_pools = {sram};
  struct tvmgen_first_inputs first_inputs = {first_input};
  struct tvmgen_first_outputs first_outputs = {first_output};
  struct tvmgen_second_inputs second_inputs = {second_input};
  struct tvmgen_second_outputs second_outputs = {second_output};
  const int32_t in = semihosting_open("inputs.bin", SEMIHOSTING_READ);
  const int32_t out = semihosting_open("outputs.bin", SEMIHOSTING_WRITE);
  semihosting_read(in, first_input, sizeof(first_input));
  semihosting_read(in, second_input, sizeof(second_input));
  for (int round = 0; round < 2; ++round) {
    if (tvmgen_first_run(&first_inputs, &first_outputs, &first_pools) != 0) return 1;
    if (tvmgen_second_run(&second_inputs, &second_outputs, &second_pools) != 0) return 2;
    semihosting_write(out, first_output, sizeof(first_output));
    semihosting_write(out, second_output, sizeof(second_output));
  }
  semihosting_close(out);
  return 0;
}
"""


@pytest.mark.slow
def test_two_models_share_one_workspace(tmp_path):
    """Use case U2 of the RFC: run after one another, in the same bytes."""
    board = board_named("mps3-an547")
    require_board(board)
    contents = {"first": small_digits(), "second": small_convolutions()}
    pools = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])])
    factories, expected, given, main = [], b"", b"", SHARED_WORKSPACE
    for name, content in contents.items():
        mod = import_tflite(content)
        factory = usmp.build(mod, workspace_memory_pools=pools, module_name=name)
        reference = Micro(content)
        inputs = reference.random_inputs(0)
        given += b"".join(value.tobytes() for value in inputs.values())
        expected += b"".join(value.tobytes() for value in reference.run(inputs).values())
        for what, tensors in (
            ("INPUT", factory.interface.inputs),
            ("OUTPUT", factory.interface.outputs),
        ):
            main = main.replace(f"{{{name.upper()}_{what}}}", tensors[0].c_name.upper())
        factories.append(factory)
    project = build_program(board, factories, main, tmp_path)
    _, outputs = run_program(board, project, given)
    assert outputs == expected * 2
