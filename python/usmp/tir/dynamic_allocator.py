"""TIR calls that allocate and release memory at run time."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import tirx
from tvm.ir import Call, PointerType, PrimType

from usmp.names import ARENA
from usmp.tir.nodes import int32
from usmp.tir.op_names import op_name

ALLOCATE_IN_ARENA = "usmp_arena_allocate"
"""(void* arena, int64 bytes, int32 alignment) -> void*: a block, or NULL if none is left."""

RELEASE_IN_ARENA = "usmp_arena_release"
"""(void* arena, void* block) -> int32: releases the block that was allocated last."""

ALLOCATE_WORKSPACE = "TVMBackendAllocWorkspace"
"""(int32 device type, int32 device, uint64 bytes, int32 type code, int32 bits) -> void*: a block
that is aligned to `WORKSPACE_ALIGNMENT` or more, or NULL."""

FREE_WORKSPACE = "TVMBackendFreeWorkspace"
"""(int32 device type, int32 device, void* block) -> int32: releases the block allocated last."""

ALLOCATOR_FUNCTIONS = (ALLOCATE_IN_ARENA, RELEASE_IN_ARENA, ALLOCATE_WORKSPACE, FREE_WORKSPACE)

WORKSPACE_ALIGNMENT = 64
"""Alignment of blocks of TVM's runtime, in bytes (`kTempAllocaAlignment`)."""

_CPU = 1
"""DLPack's device type of a CPU."""


def is_allocation(expr: object) -> bool:
    """Return whether an expression is a call that allocates."""
    return _calls(expr, (ALLOCATE_IN_ARENA, ALLOCATE_WORKSPACE))


def is_release(expr: object) -> bool:
    """Return whether an expression is a call that releases."""
    return _calls(expr, (RELEASE_IN_ARENA, FREE_WORKSPACE))


def _calls(expr: object, symbols: Sequence[str]) -> bool:
    if not isinstance(expr, Call) or op_name(expr) != "tirx.call_extern":
        return False
    return str(getattr(expr.args[0], "value", "")) in symbols


def allocated_bytes(call: Call) -> tirx.Expr:
    """Return the number of bytes that an allocating call requests."""
    return call.args[2 if _calls(call, (ALLOCATE_IN_ARENA,)) else 3]


def released_block(call: Call) -> tirx.Expr:
    """Return the address of the block that a releasing call releases."""
    return call.args[-1]


class DynamicAllocator:
    """An emitter of calls that allocate and release memory at run time.

    Parameters
    ----------
    kind
        one of `usmp.names.DYNAMIC_ALLOCATORS`.
    arena
        the parameter with the arena; None for allocators without an arena.
    """

    def __init__(self, kind: str, arena: tirx.Var | None) -> None:
        self.kind = kind
        self.arena = arena

    def allocate(
        self, pointer: tirx.Var, size_bytes: tirx.Expr, alignment: int, dtype: str
    ) -> tirx.Stmt:
        """Return the statement that binds `pointer` to a new block, or to NULL.

        Parameters
        ----------
        size_bytes
            an int64; may be negative only for an arena.
        alignment
            alignment of the address, in bytes.
        dtype
            element type.
        """
        if self.kind == ARENA:
            arguments = [ALLOCATE_IN_ARENA, self.arena, size_bytes, int32(alignment)]
        else:
            known = tvm.DataType(dtype)
            size = tirx.Cast("uint64", size_bytes)
            kind = [int32(int(known.type_code)), int32(int(known.bits))]
            arguments = [ALLOCATE_WORKSPACE, int32(_CPU), int32(0), size, *kind]
        call = tirx.call_extern("handle", *arguments)
        return tirx.Bind(pointer, call)

    def release(self, pointer: tirx.Var) -> tirx.Stmt:
        """Return the statement that releases a block, which must be the one allocated last."""
        if self.kind == ARENA:
            arguments = [RELEASE_IN_ARENA, self.arena, pointer]
        else:
            arguments = [FREE_WORKSPACE, int32(_CPU), int32(0), pointer]
        return tirx.Evaluate(tirx.call_extern("int32", *arguments))


def arena_parameter() -> tirx.Var:
    """Return a new parameter for the arena of a PrimFunc."""
    return tirx.Var("arena", PointerType(PrimType("void")))
