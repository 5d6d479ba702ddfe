"""Which variables is more done with than that elements are loaded and stored?"""

from __future__ import annotations

import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import Call, TensorLoad, Var

from usmp.analysis.memory.addresses import is_op


def addressed(body: tirx.Stmt) -> set[Var]:
    """Buffers whose address something takes, or of which there is another view; and all variables
    that are no buffers."""
    found: set[Var] = set()

    def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
        for index in load.indices:
            tvm_ffi.structural_walk(index, callbacks, order="pre")
        return tvm_ffi.WalkResult.SKIP

    def on_store(store: tirx.BufferStore) -> tvm_ffi.WalkResult:
        for expr in (store.value, *store.indices):
            tvm_ffi.structural_walk(expr, callbacks, order="pre")
        return tvm_ffi.WalkResult.SKIP

    def on_allocation(_: tirx.AllocBuffer) -> tvm_ffi.WalkResult:
        return tvm_ffi.WalkResult.SKIP

    def on_block(block: s_tir.SBlock) -> tvm_ffi.WalkResult:
        """What is listed of a block, its body does; but views of other buffers are declared."""
        for region in block.match_buffers:
            found.add(region.source.source)
        for part in (block.init, block.body):
            if part is not None:
                tvm_ffi.structural_walk(part, callbacks, order="pre")
        return tvm_ffi.WalkResult.SKIP

    def on_call(call: Call) -> None:
        if is_op(call, "tirx.address_of"):
            found.add(call.args[0].source)

    def on_variable(var: Var) -> None:
        found.add(var)

    callbacks = [
        (TensorLoad, on_load),
        (tirx.BufferStore, on_store),
        (tirx.AllocBuffer, on_allocation),
        (s_tir.SBlock, on_block),
        (Call, on_call),
        (Var, on_variable),
    ]
    tvm_ffi.structural_walk(body, callbacks, order="pre")
    return found
