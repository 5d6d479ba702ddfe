"""Plans random programs, and runs them before and after."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from support.planned_places import check_places
from support.tir_interpreter import Interpreter
from support.tir_lifetimes import Recorder
from support.tir_memory import Pointer
from support.tir_programs import Program
from usmp.analysis import extract_buffer_info
from usmp.objects import ConstantPoolInfo, TensorInfo
from usmp.objects.attributes.module_attributes import (
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    MAIN_FUNCTION_NAME,
    POOL_ARGS_ATTR,
)
from usmp.transform import AssignPoolInfo, CreateAllocatesForIO, UnifiedStaticMemoryPlanner

POISON = 0xA5
DOES_NOT_FIT = "the space available in the provided pools exceeded"


def expected_results(program: Program) -> list[list[int]]:
    """What the program computes with every buffer in memory of its own, in whatever order the
    things happen that have no order."""
    expected = run(program, program.mod)
    assert run(program, program.mod, backwards=True, interleaved=False) == expected
    assert all(None not in content for content in expected)
    return expected


def check_planned(
    program: Program,
    algorithm: str,
    expected: list[list[int]],
    orders: tuple[bool, ...] = (False, True),
    **options: str,
) -> bool:
    """Plan the program and look whether it still computes the same, forwards and backwards; False
    if the buffers do not fit in the pools, where that may be."""
    planned = plan(program, algorithm, **options)
    if planned is None:
        return False
    check_places(program, planned)
    for backwards in orders:
        assert run(program, planned, backwards=backwards) == expected, algorithm
    return True


def plan(program: Program, algorithm: str, **options: str) -> IRModule | None:
    """The planned module, or None if the buffers do not fit in the pools, where that may be."""
    config = {"tir.usmp.algorithm": algorithm, "tir.usmp.use_workspace_io": program.workspace_io}
    config |= {f"tir.usmp.{name}": value for name, value in options.items()}
    try:
        with tvm.transform.PassContext(config=config):
            planned = UnifiedStaticMemoryPlanner()(program.mod)
    except ValueError as error:
        if program.may_not_fit and DOES_NOT_FIT in str(error):
            return None
        raise
    assert tirx.analysis.verify_well_formed(planned)
    return planned


def run(
    program: Program, mod: IRModule, interpreter: Interpreter | None = None, **how: bool
) -> list[list[int | None]]:
    """The outputs after a run of `mod`, which is `program.mod` or what the planner made of it; the
    inputs too, where they are in memory of their own.

    Pools are poisoned, then all inputs are written, then the program runs, then all outputs are
    read.
    """
    pools = {
        str(arg.pool_info.pool_name): _content(arg)
        for arg in mod[MAIN_FUNCTION_NAME].attrs.get(POOL_ARGS_ATTR.name, [])
    }
    places = mod.attrs.get(IO_TENSOR_POOL_ALLOCATIONS_ATTR.name, {})

    def place(info: TensorInfo) -> Pointer:
        if info.name in places:
            allocation = places[info.name]
            return Pointer(pools[str(allocation.pool_info.pool_name)], int(allocation.byte_offset))
        return Pointer([None] * info.size_bytes)

    tensors = [place(info) for info in program.tensors()]
    spans = [
        slice(pointer.offset, pointer.offset + info.size_bytes)
        for pointer, info in zip(tensors, program.tensors(), strict=True)
    ]
    for pointer, span, (_, data) in zip(tensors, spans, program.inputs, strict=False):
        pointer.memory[span] = data
    arguments = [*([] if places else tensors), *_handles(program), *map(Pointer, pools.values())]
    (interpreter or Interpreter(mod, **how)).call(MAIN_FUNCTION_NAME, arguments)
    contents = [pointer.memory[span] for pointer, span in zip(tensors, spans, strict=True)]
    return contents[len(program.inputs) :] if program.workspace_io else contents


def missing_conflicts(program: Program) -> set[tuple[str, str]]:
    """Pairs of planned buffers that the planner may put in one place, though one of them is written
    while the other holds a value that is still to be read."""
    names, apart = conflicts(program)
    together = held_together(program) | held_together(program, backwards=True)
    return {(a, b) for a, b in together - apart if a != b and {a, b} <= names}


def held_together(program: Program, **how: bool) -> set[tuple[str, str]]:
    """Pairs of buffers of which the first is written while the second holds a value that is still
    to be read; constants are not among them."""
    recorder = Recorder(program.mod, **how)
    tensors = [Pointer([None] * info.size_bytes) for info in program.tensors()]
    if program.workspace_io:
        for info, pointer in zip(program.tensors(), tensors, strict=True):
            recorder.watch(str(info.name), pointer)
    for (_, data), pointer in zip(program.inputs, tensors, strict=False):
        for index, byte in enumerate(data):
            recorder.store(pointer, index, 1, byte)
    recorder.call(MAIN_FUNCTION_NAME, [*tensors, *_handles(program)])
    for pointer in tensors[len(program.inputs) :]:
        for index in range(len(pointer.memory)):
            recorder.load(pointer, index, 1)
    return recorder.held_together()


def conflicts(program: Program) -> tuple[set[str], set[tuple[str, str]]]:
    """The buffers that the planner places, and the pairs that it keeps apart."""
    mod = CreateAllocatesForIO()(program.mod) if program.workspace_io else program.mod
    mod = AssignPoolInfo()(mod)
    buffers = extract_buffer_info(mod[MAIN_FUNCTION_NAME], mod).buffer_info_stmts
    names = {str(buffer.name_hint) for buffer in buffers}
    return names, {(str(a.name_hint), str(b.name_hint)) for a in buffers for b in a.conflicts}


def _content(arg: tvm_ffi.Object) -> list[int] | tuple[int, ...]:
    """A pool before the run: poison, and constants where there are some."""
    memory = [POISON] * int(arg.allocated_size)
    if not isinstance(arg.pool_info, ConstantPoolInfo):
        return memory
    for constant in arg.pool_info.constant_info_array:
        data = constant.data.numpy().tobytes()
        start = int(constant.byte_offset)
        assert start + len(data) <= len(memory), "constant outside of its pool"
        memory[start : start + len(data)] = data
    return tuple(memory)


def _handles(program: Program) -> list[None]:
    """The arguments of `__tvm_main__` after inputs and outputs: a handle that nothing reads."""
    return [None] * (len(program.mod[MAIN_FUNCTION_NAME].params) - len(program.tensors()))
