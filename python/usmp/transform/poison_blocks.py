"""Blocks of dynamic size that are overwritten while they are dead, for PoisonDeadBytes."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Var

from usmp.tir.dynamic_allocator import allocated_bytes, is_allocation, is_release, released_block
from usmp.tir.nodes import nodes_of


def poison_blocks(func: tirx.PrimFunc, poison: int) -> tirx.PrimFunc:
    """Overwrite all bytes of a block when a buffer begins to use it, and before its release.

    Parameters
    ----------
    func
        a PrimFunc after `LowerDynamicAllocations`; without allocations, it stays as it is.
    poison
        the value of the bytes.
    """
    blocks = {
        bind.var: _BlockBytes(bind.var, allocated_bytes(bind.value))
        for bind in nodes_of(func.body, tirx.Bind)
        if is_allocation(bind.value)
    }
    if not blocks:
        return func
    declared: set[Var] = set()

    def poisoned(stmt: tirx.Stmt) -> list[tirx.Stmt]:
        if isinstance(stmt, tirx.Evaluate) and is_release(stmt.value):
            return [blocks[released_block(stmt.value)].fill(poison), stmt]
        if not (isinstance(stmt, tirx.DeclBuffer) and stmt.data in blocks):
            return [stmt]
        block, is_first = blocks[stmt.data], stmt.data not in declared
        declared.add(stmt.data)
        return [*([block.declaration] if is_first else []), stmt, block.fill(poison)]

    def on_sequence(sequence: tirx.SeqStmt) -> tirx.Stmt:
        return tirx.SeqStmt([new for stmt in sequence.seq for new in poisoned(stmt)])

    return func.with_body(tvm_ffi.structural_map(func.body, (tirx.SeqStmt, on_sequence)))


class _BlockBytes:
    """A block as bytes.

    Parameters
    ----------
    block
        address of the block.
    size_bytes
        number of bytes in the block.
    """

    def __init__(self, block: Var, size_bytes: tirx.Expr) -> None:
        # Remove the cast to the unsigned type that some allocators take.
        self.size_bytes = size_bytes.value if isinstance(size_bytes, tirx.Cast) else size_bytes
        self.buffer = tirx.decl_buffer((self.size_bytes,), "uint8", f"{block.name}_poisoned")
        self.declaration = tirx.DeclBuffer(self.buffer, data=block)

    def fill(self, value: int) -> tirx.Stmt:
        """Return a loop that overwrites the block."""
        index = tirx.Var("poisoned", "int64")
        store = tirx.BufferStore(self.buffer, tirx.const(value, "uint8"), [index])
        begin = tirx.IntImm("int64", 0)
        return tirx.For(index, begin, self.size_bytes, tirx.ForKind.SERIAL, store)
