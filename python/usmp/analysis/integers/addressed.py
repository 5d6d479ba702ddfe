"""Buffers with uses besides loads and stores of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, TensorLoad, Var

from usmp.tir.identity import identity
from usmp.tir.op_names import is_op


def addressed(body: tirx.Stmt) -> set[Var]:
    """Return the buffers whose address is taken or that have another view, and all variables that
    are not buffers."""
    aliased: set[Var] = set()
    # By identity, because comparing two objects of one variable is slow.
    mentioned: dict[int, Var] = {}

    def on_load(load: TensorLoad, visitor: tvm_ffi.StructuralVisitor) -> None:
        visitor.visit(load.indices)

    def on_store(store: tirx.BufferStore, visitor: tvm_ffi.StructuralVisitor) -> None:
        visitor.visit(store.value)
        visitor.visit(store.indices)

    def on_allocation(_: tirx.AllocBuffer, __: tvm_ffi.StructuralVisitor) -> None:
        """Skip allocations, because they use no buffer."""

    def on_block(block: s_tir.SBlock, visitor: tvm_ffi.StructuralVisitor) -> None:
        """Visit the body, which does all reads and writes of a block; `match_buffers` are views."""
        for region in block.match_buffers:
            aliased.add(region.source.source)
        for part in (block.init, block.body):
            if part is not None:
                visitor.visit(part)

    def on_call(call: Call, visitor: tvm_ffi.StructuralVisitor) -> None:
        if is_op(call, "tirx.address_of"):
            aliased.add(call.args[0].source)
        visitor.default_visit(call)

    def on_variable(var: Var, visitor: tvm_ffi.StructuralVisitor) -> None:
        if identity(var) not in mentioned:
            mentioned[identity(var)] = var
            visitor.default_visit(var)

    callbacks: list[tuple[type, Callable[[Any, tvm_ffi.StructuralVisitor], None]]] = [
        (TensorLoad, on_load),
        (tirx.BufferStore, on_store),
        (tirx.AllocBuffer, on_allocation),
        (s_tir.SBlock, on_block),
        (Call, on_call),
        (Var, on_variable),
    ]
    tvm_ffi.structural_visit(body, callbacks)
    return aliased.union(mentioned.values())
