"""How often operators store, counted in their TIR."""

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad


def stores(func, chosen=lambda store: True):
    """How often the function stores anything, all iterations of all loops counted."""

    def count(stmt):
        if isinstance(stmt, tirx.SeqStmt):
            return sum(count(child) for child in stmt.seq)
        if isinstance(stmt, tirx.For):
            return int(stmt.extent) * count(stmt.body)
        if isinstance(stmt, tirx.IfThenElse):
            return count(stmt.then_case)
        return int(isinstance(stmt, tirx.BufferStore) and chosen(stmt))

    return count(func.body)


def is_update(store):
    """Whether the store is a step of a reduction: it reads what it writes."""
    loads = []
    tvm_ffi.structural_walk(store.value, (TensorLoad, lambda load: loads.append(load.source)))
    return any(source.same_as(store.buffer) for source in loads)
