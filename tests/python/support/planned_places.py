"""Where a plan put the buffers of a program: aligned, in one of their pools, within the limits."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, IRModule, Op

from support.tir_interpreter import CONCURRENT
from support.tir_programs import Program
from usmp.objects.attributes.annotations import CANDIDATE_MEMORY_POOL_ATTR, CONSTANT_DATA_ATTR
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME, POOL_ARGS_ATTR
from usmp.transform import AssignPoolInfo, CreateAllocatesForIO


@dataclass(frozen=True)
class Place:
    """Bytes of a pool that a buffer is a view of."""

    pool: str
    offset: int
    size: int
    itemsize: int


def check_places(program: Program, planned: IRModule) -> None:
    """Every buffer is aligned, within the pool, and in one of its candidates; every pool is within
    its size hint. What is still allocated in main is the scratch of parallel and vectorized loops,
    and perhaps that of unrolled ones."""
    candidates = _candidates(program)
    sizes = {}
    for arg in planned.attrs[POOL_ARGS_ATTR.name]:
        sizes[str(arg.pool_info.pool_name)] = int(arg.allocated_size)
        limit = int(arg.pool_info.size_hint_bytes)
        assert limit == -1 or arg.allocated_size <= limit, arg.pool_info.pool_name
    for func in planned.functions.values():
        for name, place in _places(func).items():
            assert place.offset % max(place.itemsize, program.alignment) == 0, name
            assert 0 <= place.offset <= sizes[place.pool] - place.size, name
            assert place.pool in candidates[name], name
    before, after = program.mod[MAIN_FUNCTION_NAME], planned[MAIN_FUNCTION_NAME]
    stayed = _allocations(after.body)
    assert stayed >= _scratch_of_loops(before.body, CONCURRENT)
    assert stayed <= _scratch_of_loops(before.body, (*CONCURRENT, tirx.ForKind.UNROLLED))


def _candidates(program: Program) -> dict[str, list[str]]:
    """For each buffer, by name, the pools that may hold it."""
    mod = CreateAllocatesForIO()(program.mod) if program.workspace_io else program.mod
    found: dict[str, list[str]] = {}

    def on_allocation(stmt: tirx.AllocBuffer) -> None:
        pools = stmt.annotations[CANDIDATE_MEMORY_POOL_ATTR]
        found[str(stmt.buffer.name)] = [str(pool.pool_name) for pool in pools]

    for func in AssignPoolInfo()(mod).functions.values():
        tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, on_allocation))
    return found


def _places(func: tirx.PrimFunc) -> dict[str, Place]:
    """The buffers of a planned PrimFunc that are in pools, by name."""
    args = func.attrs.get(POOL_ARGS_ATTR.name, [])
    pointers = list(func.params)[len(func.params) - len(args) :]
    names = {p: str(a.pool_info.pool_name) for p, a in zip(pointers, args, strict=True)}
    pools: dict[tirx.Var, str] = {}
    places: dict[str, Place] = {}

    def on_declaration(stmt: tirx.DeclBuffer) -> None:
        if stmt.data in names:
            pools[stmt.buffer] = names[stmt.data]
        elif isinstance(stmt.data, Call) and stmt.data.op == Op.get("tirx.address_of"):
            element = stmt.data.args[0]
            if element.source in pools:
                itemsize = tvm.DataType(str(stmt.buffer.dtype)).itemsize
                size = int(stmt.buffer.shape[0]) * itemsize
                offset = int(element.indices[0])
                places[str(stmt.buffer.name)] = Place(pools[element.source], offset, size, itemsize)

    tvm_ffi.structural_walk(func.body, (tirx.DeclBuffer, on_declaration))
    return places


def _allocations(stmt: tirx.Stmt) -> set[str]:
    """Names of the buffers that are allocated in `stmt`, but for constants."""
    names: set[str] = set()

    def on_allocation(stmt: tirx.AllocBuffer) -> None:
        if CONSTANT_DATA_ATTR.name not in stmt.annotations:
            names.add(str(stmt.buffer.name))

    tvm_ffi.structural_walk(stmt, (tirx.AllocBuffer, on_allocation))
    return names


def _scratch_of_loops(stmt: tirx.Stmt, kinds: tuple[tirx.ForKind, ...]) -> set[str]:
    """Names of the buffers that are allocated in loops of these kinds."""
    names: set[str] = set()

    def on_loop(loop: tirx.For) -> None:
        if loop.kind in kinds:
            names.update(_allocations(loop.body))

    tvm_ffi.structural_walk(stmt, (tirx.For, on_loop))
    return names
