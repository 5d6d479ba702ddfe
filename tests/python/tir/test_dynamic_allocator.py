"""Calls that allocate and release memory while a model runs."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import PointerType, PrimType

from usmp.tir.dynamic_allocator import (
    DynamicAllocator,
    allocated_bytes,
    arena_parameter,
    is_allocation,
    is_release,
    released_block,
)

BLOCK = tirx.Var("block", "handle")
SIZE = tirx.Var("size", PrimType("int64"))


def arguments(call) -> list:
    return [getattr(each, "value", each) for each in call.args]


def test_an_arena_allocates_and_releases():
    arena = arena_parameter()
    assert (arena.name, arena.ty) == ("arena", PointerType(PrimType("void")))
    allocator = DynamicAllocator("arena", arena)
    allocated = allocator.allocate(BLOCK, SIZE, 16, "float32")
    assert allocated.var.same_as(BLOCK)
    name, where, size, alignment = arguments(allocated.value)
    assert (name, alignment) == ("usmp_arena_allocate", 16)
    assert where.same_as(arena) and size.same_as(SIZE)
    assert allocated_bytes(allocated.value).same_as(SIZE)
    released = allocator.release(BLOCK).value
    assert str(released.ty.dtype) == "int32"
    assert arguments(released)[0] == "usmp_arena_release"
    assert released.args[1].same_as(arena)
    assert released_block(released).same_as(BLOCK)


@pytest.mark.parametrize(
    ("dtype", "code", "bits"), [("float32", 2, 32), ("int8", 0, 8), ("uint16", 1, 16)]
)
def test_the_runtime_of_tvm_is_told_the_type(dtype, code, bits):
    """TVMBackendAllocWorkspace(kDLCPU, 0, bytes, code, bits)."""
    allocator = DynamicAllocator("workspace", None)
    call = allocator.allocate(BLOCK, SIZE, 16, dtype).value
    name, device, index, size, *kind = arguments(call)
    assert (name, device, index, kind) == ("TVMBackendAllocWorkspace", 1, 0, [code, bits])
    assert size.same_as(SIZE) and str(call.args[3].ty.dtype) == "uint64"
    assert allocated_bytes(call).value.same_as(SIZE)
    released = allocator.release(BLOCK).value
    assert arguments(released)[:3] == ["TVMBackendFreeWorkspace", 1, 0]
    assert released_block(released).same_as(BLOCK)


@pytest.mark.parametrize("kind", ["arena", "workspace"])
def test_calls_are_known(kind):
    allocator = DynamicAllocator(kind, arena_parameter())
    allocated = allocator.allocate(BLOCK, SIZE, 16, "float32").value
    released = allocator.release(BLOCK).value
    other = tirx.call_extern("int32", "f", "usmp_arena_release", "usmp_arena_allocate")
    found = [(is_allocation(e), is_release(e)) for e in (allocated, released, other, SIZE, None)]
    assert found == [(True, False), (False, True), *[(False, False)] * 3]


def test_another_operation_on_such_a_name_is_no_allocation():
    call = tirx.call_packed("usmp_arena_allocate", 1)
    assert not is_allocation(call)
