"""LowerToFlatTIR: from blocks to the loops over flat buffers that are planned."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.ir import IRModule
from tvm.tirx.analysis import undefined_vars

from usmp.passes import ModulePass

TO_LOOPS = tvm.transform.Sequential(
    [
        s_tir.transform.CanonicalizeLoop(),
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
    ],
    name="usmp.OperatorsToLoops",
)
"""TVM's passes that leave blocks without variables of their own, and simplify nothing."""

FLATTEN_BUFFERS = tvm.transform.Sequential(
    [
        # Shrinks a buffer that is produced inside its consumer's loops to the part in use.
        s_tir.transform.CompactBufferAllocation(),
        s_tir.transform.LowerMatchBuffer(),
        s_tir.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
    ],
    name="usmp.FlattenOperators",
)
"""TVM's passes that leave loops over buffers of one dimension."""

NARROW_INDICES = tvm.transform.Sequential(
    [
        # Microcontrollers index with 32 bits.
        tirx.transform.NarrowDataType(32),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
        s_tir.transform.RewriteUnsafeSelect(),
    ],
    name="usmp.NarrowIndices",
)
"""TVM's passes that take it from there."""

FLATTEN = tvm.transform.Sequential([TO_LOOPS, FLATTEN_BUFFERS, NARROW_INDICES], name="usmp.Flatten")
"""All of them, in an order that works, for PrimFuncs that pass no whole buffer to a call."""


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerToFlatTIR")
class LowerToFlatTIR(ModulePass):
    """Lower each PrimFunc that has blocks (S-TIR: `T.sblock`, schedules) to flat TIR.

    Flat TIR is what `UnifiedStaticMemoryPlanner` plans: loops and accesses without blocks, and
    buffers of one dimension. Parameters keep their shapes. A PrimFunc without blocks, as
    `__tvm_main__` mostly is, stays as it is.

    Raises
    ------
    ValueError
        a PrimFunc with blocks passes a whole buffer of several dimensions to a call, which
        TVM cannot flatten.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Lower PrimFuncs with blocks, all at once."""
        with_blocks = {
            variable: func
            for variable, func in mod.functions.items()
            if isinstance(func, tirx.PrimFunc) and _has_blocks(func)
        }
        lowered = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in FLATTEN(IRModule(with_blocks)).functions.items():
            _check_no_buffer_is_lost(func, str(variable.name_hint))
            lowered.update_func(mod.get_global_var(variable.name_hint), func)
        return lowered


def _has_blocks(func: tirx.PrimFunc) -> bool:
    found: list[s_tir.SBlock] = []

    def on_block(block: s_tir.SBlock) -> None:
        found.append(block)

    tvm_ffi.structural_walk(func.body, (s_tir.SBlock, on_block))
    return bool(found)


def _check_no_buffer_is_lost(func: tirx.PrimFunc, name: str) -> None:
    lost = undefined_vars(func.body, list(func.params))
    if lost:
        raise ValueError(
            f"{name}: buffer {lost[0].name} is passed to a call as a whole, and TVM cannot flatten "
            "it there; give it one dimension, or let the call stand in a PrimFunc without blocks"
        )
